//! Linear regression on standardised quadratic log features, by linfa's elastic net.
//!
//! Guards what linfa accepts silently: columns that are constant or collinear are dropped
//! (an ordinary fit answers a constant one with a coefficient of 1e14), shapes and finiteness
//! are checked before, coefficients after, and with fewer than three rows per column there is
//! no fit at all.

use kernelgauge_data::point::{MAX_PARAMETERS, Parameters};
use linfa::DatasetBase;
use linfa::prelude::*;
use linfa_elasticnet::ElasticNet;
use ndarray::{Array1, Array2, Axis, ShapeBuilder};
use serde::{Deserialize, Serialize};

use crate::math::{Stream, log2, round9};

/// A fitted regression: `intercept + sum weight * x_i * x_j` with `x = log2(parameter)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quadratic {
    intercept: f64,
    /// First factor, second factor (or [`LINEAR`]), weight.
    terms: Vec<(u8, u8, f64)>,
}

/// Stands in the place of a second factor: the term is linear.
const LINEAR: u8 = u8::MAX;

/// Rows that are enough for at most forty-four coefficients.
const MOST_ROWS: usize = 2000;

/// How the regression is fitted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QuadraticParams {
    /// 0 is ridge, 1 is lasso.
    pub l1_ratio: f64,
    /// Weight of the penalty.
    pub penalty: f64,
}

impl Default for QuadraticParams {
    fn default() -> Self {
        QuadraticParams { l1_ratio: 0.0, penalty: 1e-4 }
    }
}

impl QuadraticParams {
    /// Fits `targets` on the logarithms of `parameters`; none where that is not sound.
    pub(crate) fn fit(self, parameters: &[Parameters], targets: &[f64]) -> Option<Quadratic> {
        if parameters.len() != targets.len() || targets.iter().any(|target| !target.is_finite()) {
            return None;
        }
        let rows = sampled(parameters.len());
        let width = parameters.first()?.len();
        let columns = usable_columns(parameters, &rows, width);
        if columns.is_empty() || rows.len() < 3 * columns.len() {
            return None;
        }
        // Column after column: coordinate descent runs down columns.
        let mut records = Array2::<f64>::zeros((rows.len(), columns.len()).f());
        for (mut record, &row) in records.axis_iter_mut(Axis(0)).zip(&rows) {
            let logs = logs_of(&parameters[row]);
            for (slot, &(first, second)) in record.iter_mut().zip(&columns) {
                *slot = value_of(&logs, first, second);
            }
        }
        let (means, scales) = standardise(&mut records);
        let picked: Array1<f64> = rows.iter().map(|&row| targets[row]).collect();
        let net = ElasticNet::params()
            .l1_ratio(self.l1_ratio)
            .penalty(self.penalty)
            .tolerance(1e-5)
            .max_iterations(300)
            .fit(&DatasetBase::new(records, picked))
            .ok()?;
        fold_scales(&columns, net.hyperplane(), net.intercept(), &means, &scales)
    }
}

/// Coefficients for the columns as they are, not standardised; none if any is not finite.
fn fold_scales(
    columns: &[(u8, u8)],
    hyperplane: &Array1<f64>,
    intercept: f64,
    means: &[f64],
    scales: &[f64],
) -> Option<Quadratic> {
    let mut fitted = Quadratic { intercept, terms: Vec::new() };
    for (index, &(first, second)) in columns.iter().enumerate() {
        let weight = round9(hyperplane[index] / scales[index]);
        if weight != 0.0 {
            fitted.intercept -= weight * means[index];
            fitted.terms.push((first, second, weight));
        }
    }
    fitted.intercept = round9(fitted.intercept);
    fitted.is_sound().then_some(fitted)
}

impl Quadratic {
    /// The prediction for a point. Never allocates.
    pub(crate) fn predict(&self, parameters: &Parameters) -> f64 {
        let logs = logs_of(parameters);
        let terms = self.terms.iter();
        self.intercept
            + terms
                .map(|&(first, second, weight)| weight * value_of(&logs, first, second))
                .sum::<f64>()
    }

    /// Number of terms.
    pub(crate) fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether all coefficients are finite and of a size that a log time can need.
    pub(crate) fn is_sound(&self) -> bool {
        let possible = |value: f64| value.is_finite() && value.abs() < 1e6;
        possible(self.intercept)
            && self.terms.iter().all(|&(first, second, weight)| {
                let factor = |index: u8| usize::from(index) < MAX_PARAMETERS;
                possible(weight) && factor(first) && (second == LINEAR || factor(second))
            })
    }
}

fn logs_of(parameters: &Parameters) -> [f64; MAX_PARAMETERS] {
    let mut logs = [0.0; MAX_PARAMETERS];
    for (slot, value) in logs.iter_mut().zip(parameters.iter()) {
        *slot = log2((*value).max(1) as f64);
    }
    logs
}

fn value_of(logs: &[f64; MAX_PARAMETERS], first: u8, second: u8) -> f64 {
    let first = logs[usize::from(first)];
    if second == LINEAR { first } else { first * logs[usize::from(second)] }
}

/// At most [`MOST_ROWS`] row indices, drawn by a fixed seed.
fn sampled(rows: usize) -> Vec<usize> {
    Stream::new(rows as u64).drawn(rows, MOST_ROWS)
}

/// Linear and quadratic terms of parameters that vary, without those that another explains.
fn usable_columns(parameters: &[Parameters], rows: &[usize], width: usize) -> Vec<(u8, u8)> {
    let mut wanted: Vec<(u8, u8)> = (0..width as u8).map(|index| (index, LINEAR)).collect();
    for first in 0..width as u8 {
        wanted.extend((first..width as u8).map(|second| (first, second)));
    }
    let mut kept: Vec<((u8, u8), Vec<f64>)> = Vec::new();
    for (first, second) in wanted {
        let mut column: Vec<f64> =
            rows.iter().map(|&row| value_of(&logs_of(&parameters[row]), first, second)).collect();
        let Some(_) = centre_and_scale(&mut column) else { continue };
        // What is left of the column once those kept are taken out (Gram-Schmidt).
        let mut rest = column;
        for (_, basis) in &kept {
            let dot: f64 = basis.iter().zip(&rest).map(|(a, b)| a * b).sum();
            for (value, basis) in rest.iter_mut().zip(basis) {
                *value -= dot * basis;
            }
        }
        let norm = rest.iter().map(|value| value * value).sum::<f64>().sqrt();
        if norm > 1e-3 {
            rest.iter_mut().for_each(|value| *value /= norm);
            kept.push(((first, second), rest));
        }
    }
    kept.into_iter().map(|(column, _)| column).collect()
}

/// Makes a column's mean 0 and its norm 1; none if it is constant.
fn centre_and_scale(column: &mut [f64]) -> Option<()> {
    let mean = column.iter().sum::<f64>() / column.len().max(1) as f64;
    column.iter_mut().for_each(|value| *value -= mean);
    let norm = column.iter().map(|value| value * value).sum::<f64>().sqrt();
    if norm <= 1e-9 * (1.0 + mean.abs()) {
        return None;
    }
    column.iter_mut().for_each(|value| *value /= norm);
    Some(())
}

/// Makes every column's mean 0 and deviation 1; returns both as they were.
fn standardise(records: &mut Array2<f64>) -> (Vec<f64>, Vec<f64>) {
    let rows = records.nrows() as f64;
    let (mut means, mut scales) = (Vec::new(), Vec::new());
    for mut column in records.axis_iter_mut(Axis(1)) {
        let mean = column.iter().sum::<f64>() / rows;
        let square: f64 = column.iter().map(|value| (value - mean) * (value - mean)).sum();
        let scale = (square / rows).sqrt().max(1e-12);
        column.iter_mut().for_each(|value| *value = (*value - mean) / scale);
        means.push(mean);
        scales.push(scale);
    }
    (means, scales)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Vec<Parameters> {
        let sizes = [1, 4, 16, 64, 256];
        sizes
            .iter()
            .flat_map(|m| sizes.iter().map(move |n| Parameters::new(&[1024, *m, *n, *n])))
            .collect()
    }

    #[test]
    fn a_quadratic_law_is_recovered_despite_constant_and_collinear_columns() {
        let parameters = grid();
        let law = |p: &Parameters| 1.0 + 0.5 * log2(p[1] as f64) + 0.1 * log2(p[2] as f64);
        let targets: Vec<f64> = parameters.iter().map(law).collect();
        let params = QuadraticParams { l1_ratio: 0.0, penalty: 1e-8 };
        let fitted = params.fit(&parameters, &targets).unwrap();
        for (point, target) in parameters.iter().zip(&targets) {
            assert!((fitted.predict(point) - target).abs() < 1e-3);
        }
        assert!(fitted.terms.iter().all(|(_, _, weight)| weight.abs() < 10.0));
        assert!(fitted.terms.iter().all(|&(first, second, _)| first != 0 && second != 0));
    }

    #[test]
    fn what_linfa_would_fit_anyway_is_refused() {
        let parameters = grid();
        let mut targets = vec![1.0; parameters.len()];
        assert!(QuadraticParams::default().fit(&parameters[..3], &targets[..3]).is_none());
        assert!(QuadraticParams::default().fit(&parameters, &targets[1..]).is_none());
        targets[3] = f64::NAN;
        assert!(QuadraticParams::default().fit(&parameters, &targets).is_none());
        assert!(QuadraticParams::default().fit(&[], &[]).is_none());
    }
}
