//! Errors of a set of answers.

use serde::Serialize;

use crate::math::{exp, ln, quantile};

/// Relative errors `|predicted - measured| / measured`, as shares: 0.03 is 3 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Errors {
    /// Answers.
    pub points: usize,
    /// Mean.
    pub mape: f64,
    /// Geometric mean of error plus 4e-4, the reference system's measure.
    pub gmae: f64,
    /// Median.
    pub median: f64,
    /// 90th percentile.
    pub p90: f64,
    /// Largest.
    pub worst: f64,
}

/// What the geometric mean adds, so that a perfect answer does not make it zero.
const GMAE_FLOOR: f64 = 4e-4;

impl Errors {
    /// The errors of `ln(measured / predicted)`; none without any.
    pub(super) fn of(residuals: &[f64]) -> Option<Errors> {
        if residuals.is_empty() {
            return None;
        }
        let mut errors: Vec<f64> =
            residuals.iter().map(|residual| (exp(-residual) - 1.0).abs()).collect();
        errors.sort_by(f64::total_cmp);
        let count = errors.len() as f64;
        Some(Errors {
            points: errors.len(),
            mape: errors.iter().sum::<f64>() / count,
            gmae: exp(errors.iter().map(|error| ln(error + GMAE_FLOOR)).sum::<f64>() / count),
            median: quantile(&errors, 0.5),
            p90: quantile(&errors, 0.9),
            worst: quantile(&errors, 1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_to_what_was_measured() {
        // Measured 100, predicted 110 and 90.
        let residuals = [ln(100.0 / 110.0), ln(100.0 / 90.0)];
        let errors = Errors::of(&residuals).unwrap();
        assert!((errors.mape - 0.1).abs() < 1e-12 && (errors.worst - 0.1).abs() < 1e-12);
        assert!((errors.gmae - 0.1004).abs() < 1e-9);
        assert!(Errors::of(&[]).is_none());
    }
}
