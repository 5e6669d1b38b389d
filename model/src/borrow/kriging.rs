//! Kriging: Gaussian-process regression, which linfa lacks, behind linfa's traits.
//!
//! A Matérn kernel of smoothness 3/2 with one length per input, an amplitude and a noise, whose
//! logarithms climb the marginal likelihood (Rasmussen and Williams, "Gaussian processes for
//! machine learning", 2006, chapters 4 and 5) by resilient propagation (Riedmiller and Braun,
//! 1993) on at most 300 rows; the rows themselves all count, up to two thousand. An answer takes
//! one kernel per row, too slow to ship: what it teaches is left to `distil`.

use linfa::dataset::{AsSingleTargets, DatasetBase};
use linfa::traits::{Fit, PredictInplace};
use ndarray::{Array1, Array2, ArrayBase, ArrayView1, Axis, Data, Ix2};
use thiserror::Error;

use super::cholesky::Cholesky;
use crate::math::{Stream, exp, ln};

/// Rows that the likelihood is climbed on.
const TUNED_ON: usize = 300;

/// Most rows that answers are drawn from.
const MOST_ROWS: usize = 2000;

/// Steps of the climb.
const STEPS: usize = 20;

/// How the regression is fitted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Kriging;

/// A fitted regression.
#[derive(Debug, Clone)]
pub(super) struct Kriged {
    means: Array1<f64>,
    scales: Array1<f64>,
    kernel: Kernel,
    /// Inputs of the rows, over the lengths.
    rows: Array2<f64>,
    weights: Array1<f64>,
    mean: f64,
}

/// Why it cannot be fitted.
#[derive(Debug, Error)]
pub(super) enum KrigingError {
    /// No rows, numbers that differ, or something that is not finite.
    #[error("records and targets do not make a regression")]
    Shape,
    /// As linfa's traits ask.
    #[error(transparent)]
    Linfa(#[from] linfa::Error),
}

/// Logarithms of noise and amplitude (as deviations) and of one length per input.
#[derive(Debug, Clone, PartialEq)]
struct Kernel {
    noise: f64,
    amplitude: f64,
    lengths: Vec<f64>,
}

impl Kernel {
    /// Where the climb begins, and what it is pulled to: noise of 3 %, residuals of 8 %, and a
    /// length of one and a half deviations of each input.
    fn start(width: usize) -> Self {
        Kernel { noise: ln(0.03), amplitude: ln(0.08), lengths: vec![ln(1.5); width] }
    }

    fn to_vec(&self) -> Vec<f64> {
        [&[self.noise, self.amplitude][..], &self.lengths].concat()
    }

    fn of(values: &[f64]) -> Self {
        Kernel { noise: values[0], amplitude: values[1], lengths: values[2..].to_vec() }
    }

    /// `(1 + q) exp(-q)` with `q = sqrt(3) r`, times the variance.
    fn value(&self, distance_square: f64) -> f64 {
        let q = (3.0 * distance_square).sqrt();
        exp(2.0 * self.amplitude) * (1.0 + q) * exp(-q)
    }
}

/// A distance squared is summed in this order everywhere.
fn distance_square(a: ArrayView1<'_, f64>, b: ArrayView1<'_, f64>) -> f64 {
    a.iter().zip(b.iter()).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn over_lengths(inputs: &Array2<f64>, kernel: &Kernel) -> Array2<f64> {
    let mut scaled = inputs.clone();
    for (mut column, length) in scaled.axis_iter_mut(Axis(1)).zip(&kernel.lengths) {
        let inverse = exp(-length);
        column.iter_mut().for_each(|value| *value *= inverse);
    }
    scaled
}

/// The lower triangle of the covariance, row after row, without the noise.
fn covariance(scaled: &Array2<f64>, kernel: &Kernel) -> Array2<f64> {
    let count = scaled.nrows();
    let mut matrix = Array2::zeros((count, count));
    for row in 0..count {
        for column in 0..=row {
            let square = distance_square(scaled.row(row), scaled.row(column));
            matrix[[row, column]] = kernel.value(square);
        }
    }
    matrix
}

fn with_noise(mut matrix: Array2<f64>, kernel: &Kernel) -> Option<Cholesky> {
    let noise = exp(2.0 * kernel.noise) + 1e-8;
    matrix.diag_mut().iter_mut().for_each(|value| *value += noise);
    Cholesky::of(matrix)
}

/// The gradient of the negative log posterior by the logarithms of the kernel.
fn gradient(inputs: &Array2<f64>, targets: &Array1<f64>, kernel: &Kernel) -> Option<Vec<f64>> {
    let scaled = over_lengths(inputs, kernel);
    let plain = covariance(&scaled, kernel);
    let factor = with_noise(plain.clone(), kernel)?;
    let weights = factor.solve(targets);
    let inverse = factor.inverse();
    let mut of = vec![0.0; 2 + kernel.lengths.len()];
    let variance = exp(2.0 * kernel.amplitude);
    for row in 0..targets.len() {
        for column in 0..=row {
            // Off the diagonal each pair stands twice.
            let twice = if row == column { 0.5 } else { 1.0 };
            let weight = twice * (inverse[[row, column]] - weights[row] * weights[column]);
            if row == column {
                of[0] += weight * 2.0 * exp(2.0 * kernel.noise);
            }
            of[1] += weight * 2.0 * plain[[row, column]];
            let square = distance_square(scaled.row(row), scaled.row(column));
            let common = weight * 3.0 * variance * exp(-(3.0 * square).sqrt());
            for (slot, (a, b)) in
                of[2..].iter_mut().zip(scaled.row(row).iter().zip(scaled.row(column)))
            {
                *slot += common * (a - b) * (a - b);
            }
        }
    }
    // A deviation of e² around the start, or lengths of inputs that say nothing run away.
    let start = Kernel::start(kernel.lengths.len()).to_vec();
    for ((slot, value), start) in of.iter_mut().zip(kernel.to_vec()).zip(start) {
        *slot += (value - start) / 4.0;
    }
    Some(of)
}

/// Resilient propagation: a step per constant, longer while its gradient keeps its sign.
fn climbed(inputs: &Array2<f64>, targets: &Array1<f64>) -> Kernel {
    let mut values = Kernel::start(inputs.ncols()).to_vec();
    let mut steps = vec![0.2; values.len()];
    let mut before = vec![0.0_f64; values.len()];
    for _ in 0..STEPS {
        let Some(slope) = gradient(inputs, targets, &Kernel::of(&values)) else { break };
        for index in 0..values.len() {
            let turned = slope[index] * before[index];
            steps[index] *= if turned < 0.0 { 0.5 } else { 1.2 };
            steps[index] = f64::clamp(steps[index], 1e-3, 0.6);
            if slope[index] != 0.0 {
                values[index] -= steps[index] * slope[index].signum();
            }
            before[index] = slope[index];
        }
    }
    Kernel::of(&values)
}

fn picked(count: usize, most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    if count > most {
        Stream::new(0).shuffle(&mut order);
        order.truncate(most);
        order.sort_unstable();
    }
    order
}

impl<D: Data<Elem = f64>, T: AsSingleTargets<Elem = f64>> Fit<ArrayBase<D, Ix2>, T, KrigingError>
    for Kriging
{
    type Object = Kriged;

    fn fit(&self, dataset: &DatasetBase<ArrayBase<D, Ix2>, T>) -> Result<Kriged, KrigingError> {
        let targets = dataset.as_single_targets().to_owned();
        let records = dataset.records().to_owned();
        let finite = records.iter().chain(&targets).all(|value| value.is_finite());
        if records.is_empty() || records.nrows() != targets.len() || !finite {
            return Err(KrigingError::Shape);
        }
        let means = records.mean_axis(Axis(0)).ok_or(KrigingError::Shape)?;
        let scales = records.std_axis(Axis(0), 0.0).mapv(|scale| scale.max(1e-9));
        let inputs = (&records - &means) / &scales;
        let mean = targets.sum() / targets.len() as f64;
        let centred = targets - mean;
        let tuned = picked(inputs.nrows(), TUNED_ON);
        let kernel = climbed(&inputs.select(Axis(0), &tuned), &centred.select(Axis(0), &tuned));
        let kept = picked(inputs.nrows(), MOST_ROWS);
        let rows = over_lengths(&inputs.select(Axis(0), &kept), &kernel);
        let factor = with_noise(covariance(&rows, &kernel), &kernel).ok_or(KrigingError::Shape)?;
        let weights = factor.solve(&centred.select(Axis(0), &kept));
        Ok(Kriged { means, scales, kernel, rows, weights, mean })
    }
}

impl<D: Data<Elem = f64>> PredictInplace<ArrayBase<D, Ix2>, Array1<f64>> for Kriged {
    fn predict_inplace(&self, records: &ArrayBase<D, Ix2>, targets: &mut Array1<f64>) {
        let inputs = (records - &self.means) / &self.scales;
        let scaled = over_lengths(&inputs, &self.kernel);
        for (input, target) in scaled.axis_iter(Axis(0)).zip(targets.iter_mut()) {
            let rows = self.rows.axis_iter(Axis(0)).zip(&self.weights);
            let value = |row| self.kernel.value(distance_square(input, row));
            *target = self.mean + rows.map(|(row, weight)| weight * value(row)).sum::<f64>();
        }
    }

    fn default_target(&self, records: &ArrayBase<D, Ix2>) -> Array1<f64> {
        Array1::zeros(records.nrows())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linfa::prelude::Predict;

    fn wave(count: usize, from: f64) -> (Array2<f64>, Array1<f64>) {
        let inputs = Array2::from_shape_fn((count, 2), |(row, column)| {
            let place = from + row as f64;
            if column == 0 { place * 0.37 % 6.0 } else { place * 0.71 % 5.0 }
        });
        let targets = inputs.axis_iter(Axis(0)).map(|row| (row[0] * 1.3).sin() * 0.2).collect();
        (inputs, targets)
    }

    #[test]
    fn a_smooth_function_is_recovered_and_the_input_that_says_nothing_is_stretched() {
        let (inputs, targets) = wave(150, 0.0);
        let kriged = Kriging.fit(&DatasetBase::new(inputs, targets)).unwrap();
        let (unseen, expected) = wave(60, 0.5);
        let answers: Array1<f64> = kriged.predict(&unseen);
        let worst = answers.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 0.02, "{worst}");
        assert!(kriged.kernel.lengths[1] > kriged.kernel.lengths[0] + 0.5);
    }

    #[test]
    fn the_gradient_is_that_of_the_posterior() {
        let (inputs, targets) = wave(25, 0.0);
        let posterior = |kernel: &Kernel| {
            let plain = covariance(&over_lengths(&inputs, kernel), kernel);
            let factor = with_noise(plain, kernel).unwrap();
            let start = Kernel::start(2).to_vec();
            let pull: f64 =
                kernel.to_vec().iter().zip(&start).map(|(a, b)| (a - b) * (a - b) / 8.0).sum();
            0.5 * targets.dot(&factor.solve(&targets)) + factor.half_log_determinant() + pull
        };
        let kernel = Kernel { noise: -3.0, amplitude: -2.0, lengths: vec![0.3, 0.8] };
        let slope = gradient(&inputs, &targets, &kernel).unwrap();
        for (index, expected) in slope.iter().enumerate() {
            let moved = |by: f64| {
                let mut values = kernel.to_vec();
                values[index] += by;
                posterior(&Kernel::of(&values))
            };
            let found = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((found - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{index}");
        }
    }
}
