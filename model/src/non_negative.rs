//! Linear least squares with costs that are not negative, of times that spread over decades.
//!
//! Finds costs such that `counts x costs` is near each time by its logarithm: rows are divided
//! by their time and reweighted, so that a row twice too slow pulls as one twice too fast does,
//! and one far off (a machine that was busy) less than its share. Each reweighted problem is
//! solved by cyclic coordinate descent on the normal equations (Franc, Hlavac and Navara,
//! "Sequential coordinate-wise algorithm for the non-negative least squares problem", 2005).

use crate::math::ln;

/// Residuals beyond this (in log time) count less and less.
const SOFT: f64 = 0.1;

/// Reweighted problems.
const REWEIGHTINGS: usize = 10;

/// Passes over the coordinates of one problem, which starts from the last one's solution.
const SWEEPS: usize = 200;

/// Pull of a typical cost towards none, against a row's squared relative residual: what little
/// data speaks of may not cost many times what is typical.
const PULL: f64 = 0.03;

/// The costs, and the mean robust loss of the log times with them. `typical` costs (above zero)
/// are the unit in which a cost counts as large.
pub(crate) fn solve<const N: usize>(
    counts: &[[f64; N]],
    times: &[f64],
    typical: &[f64; N],
) -> ([f64; N], f64) {
    let relative: Vec<[f64; N]> = counts
        .iter()
        .zip(times)
        .map(|(row, time)| std::array::from_fn(|index| row[index] * typical[index] / time))
        .collect();
    let mut weights = vec![1.0; times.len()];
    let mut costs = [0.0; N];
    for _ in 0..REWEIGHTINGS {
        descend(&relative, &weights, &mut costs);
        for (row, weight) in relative.iter().zip(&mut weights) {
            let ratio = estimate(row, &costs);
            *weight = 1.0 / (ratio * (1.0 + squared(ln(ratio) / SOFT)).sqrt());
        }
    }
    let loss = relative
        .iter()
        .map(|row| (1.0 + squared(ln(estimate(row, &costs)) / SOFT)).sqrt() - 1.0)
        .sum::<f64>();
    (std::array::from_fn(|index| costs[index] * typical[index]), loss / times.len().max(1) as f64)
}

fn squared(value: f64) -> f64 {
    value * value
}

/// Estimated over measured time.
fn estimate<const N: usize>(row: &[f64; N], costs: &[f64; N]) -> f64 {
    row.iter().zip(costs).map(|(count, cost)| count * cost).sum::<f64>().max(1e-3)
}

/// Minimises the sum of `weight (row . costs - 1)^2` and of `PULL costs^2` from the costs given.
fn descend<const N: usize>(rows: &[[f64; N]], weights: &[f64], costs: &mut [f64; N]) {
    let mut normal = [[0.0; N]; N];
    let mut target = [0.0; N];
    for (row, weight) in rows.iter().zip(weights) {
        for (i, left) in row.iter().enumerate() {
            target[i] += weight * left;
            for (slot, right) in normal[i].iter_mut().zip(row) {
                *slot += weight * left * right;
            }
        }
    }
    for _ in 0..SWEEPS {
        for index in 0..N {
            let diagonal = normal[index][index] + PULL;
            let product: f64 = normal[index].iter().zip(&*costs).map(|(a, b)| a * b).sum();
            let others = product - normal[index][index] * costs[index];
            costs[index] = ((target[index] - others) / diagonal).max(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_come_back_and_none_is_negative() {
        let counts: Vec<[f64; 3]> =
            (1..60).map(|i| [1.0, f64::from(i * i), f64::from(i % 7)]).collect();
        let mut times: Vec<f64> = counts.iter().map(|row| 5.0 + 0.25 * row[1]).collect();
        // A machine that was busy once.
        times[20] *= 3.0;
        let (costs, _) = solve(&counts, &times, &[5.0, 0.2, 1.0]);
        assert!((costs[0] - 5.0).abs() < 0.5, "{costs:?}");
        assert!((costs[1] - 0.25).abs() < 0.02, "{costs:?}");
        assert!((0.0..0.5).contains(&costs[2]), "{costs:?}");
    }

    #[test]
    fn what_the_data_barely_shows_costs_little() {
        let counts: Vec<[f64; 2]> =
            (1..40).map(|i| [f64::from(i), f64::from(i % 2) * 1e-3]).collect();
        let times: Vec<f64> =
            counts.iter().map(|row| row[0] * if row[1] > 0.0 { 1.02 } else { 1.0 }).collect();
        let (costs, _) = solve(&counts, &times, &[1.0, 1.0]);
        assert!(costs[1] < 1.0, "{costs:?}");
    }
}
