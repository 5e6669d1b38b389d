//! Bounded, robust non-linear least squares: how the constants of every analytical term are
//! fitted.
//!
//! Levenberg-Marquardt with a forward-difference Jacobian, bounds kept by projection, and the
//! soft-L1 loss `2 s² (sqrt(1 + (r/s)²) - 1)` by reweighting, so that a throttled row cannot
//! bend a curve. Parameters are logarithms, which keeps constants positive and makes one step
//! size fit all of them. What is minimised, and from which starts, is left to the terms.

/// A parameter's bounds and where the search begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounded {
    /// Lower bound.
    pub low: f64,
    /// First guess.
    pub start: f64,
    /// Upper bound.
    pub high: f64,
}

impl Bounded {
    /// Bounds and start of the logarithm of a constant that lies within `low..=high`.
    pub(crate) fn log(low: f64, start: f64, high: f64) -> Self {
        let [low, start, high] = [low, start, high].map(crate::math::ln);
        Bounded { low, start: start.clamp(low, high), high }
    }

    /// A parameter that is not fitted.
    pub(crate) fn fixed(value: f64) -> Self {
        Bounded { low: value, start: value, high: value }
    }
}

/// Where the search ended.
#[derive(Debug, Clone)]
pub(crate) struct Solution {
    /// The parameters.
    pub parameters: Vec<f64>,
    /// Mean robust loss there.
    pub loss: f64,
}

/// Residuals beyond this (in log time: 5 %) count linearly, not squared.
const SOFT: f64 = 0.05;

/// Minimises the mean robust loss of `residuals(parameters)`, which always has one value per row.
///
/// `starts` are other first guesses: each gets a quarter of the iterations, and the search goes
/// on from the best. At most `iterations` Jacobians are taken from there. Deterministic: the
/// sums run in row order.
pub(crate) fn minimise(
    bounds: &[Bounded],
    starts: &[Vec<f64>],
    iterations: usize,
    residuals: impl Fn(&[f64]) -> Vec<f64>,
) -> Solution {
    let first: Vec<f64> = bounds.iter().map(|bound| bound.start).collect();
    let mut best = Solution { parameters: first.clone(), loss: f64::INFINITY };
    let trial = if starts.is_empty() { 0 } else { iterations / 4 };
    for start in std::iter::once(&first).chain(starts) {
        let solution = descend(bounds, project(bounds, start.clone()), trial, &residuals);
        if solution.loss < best.loss {
            best = solution;
        }
    }
    descend(bounds, best.parameters, iterations, &residuals)
}

fn project(bounds: &[Bounded], mut parameters: Vec<f64>) -> Vec<f64> {
    for (value, bound) in parameters.iter_mut().zip(bounds) {
        *value = value.clamp(bound.low, bound.high);
    }
    parameters
}

fn soft_l1(residual: f64) -> f64 {
    let scaled = residual / SOFT;
    2.0 * SOFT * SOFT * ((1.0 + scaled * scaled).sqrt() - 1.0)
}

/// The residuals with whatever is not finite made very large, and their mean loss.
fn evaluate(parameters: &[f64], residuals: &impl Fn(&[f64]) -> Vec<f64>) -> (Vec<f64>, f64) {
    let mut values = residuals(parameters);
    for value in &mut values {
        *value = if value.is_finite() { value.clamp(-50.0, 50.0) } else { 50.0 };
    }
    let loss = values.iter().map(|value| soft_l1(*value)).sum::<f64>() / values.len().max(1) as f64;
    (values, loss)
}

fn descend(
    bounds: &[Bounded],
    start: Vec<f64>,
    iterations: usize,
    residuals: &impl Fn(&[f64]) -> Vec<f64>,
) -> Solution {
    let mut parameters = start;
    let (mut values, mut loss) = evaluate(&parameters, residuals);
    let mut damping = 1e-2;
    for _ in 0..iterations {
        let (free, normal) = linearise(bounds, &parameters, &values, residuals);
        let mut improved = false;
        for _ in 0..8 {
            let Some(step) = normal.solve(damping) else {
                damping *= 10.0;
                continue;
            };
            let mut trial = parameters.clone();
            for (&index, step) in free.iter().zip(&step) {
                // No constant changes by more than a factor e² in one step.
                trial[index] -= step.clamp(-2.0, 2.0);
            }
            let trial = project(bounds, trial);
            let (trial_values, trial_loss) = evaluate(&trial, residuals);
            if trial_loss < loss {
                improved = loss - trial_loss > 1e-5 * loss;
                (parameters, values, loss) = (trial, trial_values, trial_loss);
                damping = (damping * 0.3).max(1e-9);
                break;
            }
            damping *= 5.0;
        }
        if !improved {
            break;
        }
    }
    Solution { parameters, loss }
}

/// The free parameters and the weighted normal equations around `parameters`.
fn linearise(
    bounds: &[Bounded],
    parameters: &[f64],
    values: &[f64],
    residuals: &impl Fn(&[f64]) -> Vec<f64>,
) -> (Vec<usize>, Normal) {
    const STEP: f64 = 1e-5;
    let free: Vec<usize> =
        (0..bounds.len()).filter(|&index| bounds[index].high > bounds[index].low).collect();
    let mut moved = parameters.to_vec();
    let mut columns = Vec::new();
    for &index in &free {
        // Differences point inwards at the upper bound.
        let step = if parameters[index] + STEP > bounds[index].high { -STEP } else { STEP };
        moved[index] = parameters[index] + step;
        let column = evaluate(&moved, residuals).0;
        columns.push(
            column.iter().zip(values).map(|(after, before)| (after - before) / step).collect(),
        );
        moved[index] = parameters[index];
    }
    (free, Normal::of(&columns, values))
}

/// The normal equations of one linearised step.
struct Normal {
    size: usize,
    matrix: Vec<f64>,
    gradient: Vec<f64>,
}

impl Normal {
    /// `J'WJ` and `J'Wr` with the weights of the soft-L1 loss.
    fn of(columns: &[Vec<f64>], residuals: &[f64]) -> Self {
        let size = columns.len();
        let mut normal = Normal { size, matrix: vec![0.0; size * size], gradient: vec![0.0; size] };
        for (row, residual) in residuals.iter().enumerate() {
            let scaled = residual / SOFT;
            let weight = 1.0 / (1.0 + scaled * scaled).sqrt();
            for (i, column) in columns.iter().enumerate() {
                let weighted = weight * column[row];
                normal.gradient[i] += weighted * residual;
                for (j, other) in columns[..=i].iter().enumerate() {
                    normal.matrix[i * size + j] += weighted * other[row];
                }
            }
        }
        normal
    }

    /// Solves `(J'WJ + damping * diag) x = J'Wr` by Cholesky; none if it is singular.
    fn solve(&self, damping: f64) -> Option<Vec<f64>> {
        let n = self.size;
        let mut lower = self.matrix.clone();
        for i in 0..n {
            lower[i * n + i] += damping * self.matrix[i * n + i] + 1e-12;
        }
        for i in 0..n {
            for j in 0..=i {
                let dot: f64 = (0..j).map(|k| lower[i * n + k] * lower[j * n + k]).sum();
                let rest = lower[i * n + j] - dot;
                if i != j {
                    lower[i * n + j] = rest / lower[j * n + j];
                } else if rest > 0.0 {
                    lower[i * n + i] = rest.sqrt();
                } else {
                    return None;
                }
            }
        }
        let mut x = self.gradient.clone();
        for i in 0..n {
            let dot: f64 = (0..i).map(|k| lower[i * n + k] * x[k]).sum();
            x[i] = (x[i] - dot) / lower[i * n + i];
        }
        for i in (0..n).rev() {
            let dot: f64 = (i + 1..n).map(|k| lower[k * n + i] * x[k]).sum();
            x[i] = (x[i] - dot) / lower[i * n + i];
        }
        Some(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{exp, ln};

    /// `t = a + x / b` over six octaves.
    fn latency_bandwidth(parameters: &[f64], x: f64) -> f64 {
        ln(exp(parameters[0]) + x / exp(parameters[1]))
    }

    #[test]
    fn constants_are_recovered_from_a_start_1000_times_off_despite_an_outlier() {
        let xs: Vec<f64> = (0..24).map(|i| f64::from(1 << i)).collect();
        let truth = [ln(5000.0), ln(200.0)];
        let mut times: Vec<f64> = xs.iter().map(|&x| latency_bandwidth(&truth, x)).collect();
        times[20] += ln(20.0);
        let bounds = [Bounded::log(1.0, 100.0, 1e9), Bounded::log(1e-3, 0.2, 1e6)];
        let found = minimise(&bounds, &[], 60, |p| {
            xs.iter().zip(&times).map(|(&x, time)| latency_bandwidth(p, x) - time).collect()
        });
        for (found, truth) in found.parameters.iter().zip(truth) {
            assert!((found - truth).abs() < 0.02, "{found} for {truth}");
        }
    }

    #[test]
    fn bounds_hold_and_fixed_parameters_stay() {
        let bounds = [Bounded { low: 0.0, start: 0.5, high: 1.0 }, Bounded::fixed(2.0)];
        let found = minimise(&bounds, &[], 20, |p| vec![p[0] + p[1] - 10.0; 3]);
        assert_eq!(found.parameters, vec![1.0, 2.0]);
    }
}
