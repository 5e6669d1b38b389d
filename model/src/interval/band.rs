//! A band: how far above and below an answer the measured time may lie, in log time.
//!
//! Left to others: which residuals belong together (`mod`).

use serde::{Deserialize, Serialize};

use super::COVERAGE;
use crate::math::{quantile, round9};

/// Lower and upper end of `ln(measured / predicted)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Band(pub f64, pub f64);

/// The widest band that is stored: a factor of twenty thousand.
const WIDEST: f64 = 10.0;

impl Band {
    /// The band of `residuals`, in any order; none if there are none.
    pub(crate) fn of(mut residuals: Vec<f64>) -> Option<Band> {
        if residuals.is_empty() {
            return None;
        }
        residuals.sort_by(f64::total_cmp);
        // The k-th of n residuals covers k / (n + 1) of what comes.
        let n = residuals.len() as f64;
        let tail = (1.0 - COVERAGE) / 2.0;
        let position = ((n + 1.0) * tail - 1.0) / (n - 1.0).max(1.0);
        let (low, high) = (quantile(&residuals, position), quantile(&residuals, 1.0 - position));
        // Too few to know the tails: the extremes, and something beyond them.
        let beyond = if position < 0.0 { 1.0 + 4.0 / n } else { 1.0 };
        Some(Band(low * beyond, high * beyond).sane())
    }

    /// The band of `residuals` and of their mirror images: as wide above as below. Where whole
    /// values of the axis are held out, all of a fold may err to one side, and those that are
    /// asked for later to the other.
    pub(crate) fn mirrored(residuals: &[f64], coverage: f64) -> Option<Band> {
        let mut sizes: Vec<f64> = residuals.iter().map(|residual| residual.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let n = sizes.len() as f64;
        let position = ((n + 1.0) * coverage - 1.0) / (n - 1.0).max(1.0);
        let beyond = if position > 1.0 { 1.0 + 4.0 / n } else { 1.0 };
        let half = (!sizes.is_empty()).then(|| quantile(&sizes, position.min(1.0)) * beyond)?;
        Some(Band(-half, half).sane())
    }

    /// A band that contains the answer itself and is neither empty nor endless.
    pub(super) fn sane(self) -> Band {
        let Band(low, high) = self;
        Band(round9(low.clamp(-WIDEST, -1e-3)), round9(high.clamp(1e-3, WIDEST)))
    }

    /// The band scaled by `factor`.
    pub(crate) fn scaled(self, factor: f64) -> Band {
        Band((self.0 * factor).max(-WIDEST), (self.1 * factor).min(WIDEST))
    }

    /// The smallest band that contains both.
    pub(crate) fn joined(self, other: Band) -> Band {
        Band(self.0.min(other.0), self.1.max(other.1))
    }

    pub(super) fn width(self) -> f64 {
        self.1 - self.0
    }

    /// Whether a residual lies within.
    pub(crate) fn contains(self, residual: f64) -> bool {
        (self.0..=self.1).contains(&residual)
    }

    /// Whether the ends are where ends can be.
    pub(crate) fn is_sound(self) -> bool {
        let Band(low, high) = self;
        (-WIDEST..=0.0).contains(&low) && (0.0..=WIDEST).contains(&high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_band_covers_ninety_of_a_hundred() {
        let residuals: Vec<f64> = (1..100).map(|i| f64::from(i) / 100.0 - 0.5).collect();
        let Band(low, high) = Band::of(residuals.clone()).unwrap();
        assert!((low + 0.45).abs() < 1e-9 && (high - 0.45).abs() < 1e-9, "{low} {high}");
        let Band(low, high) = Band::mirrored(&residuals, COVERAGE).unwrap();
        assert!((high - 0.45).abs() < 0.006 && low == -high, "{low} {high}");
    }

    #[test]
    fn few_residuals_make_a_band_beyond_them_that_still_contains_the_answer() {
        let Band(low, high) = Band::of(vec![0.1, 0.2]).unwrap();
        assert!(low < 0.0 && high > 0.2);
        let Band(low, high) = Band::mirrored(&[0.1, 0.2], COVERAGE).unwrap();
        assert!(low < -0.2 && high > 0.2);
        assert!(Band::of(Vec::new()).is_none() && Band::mirrored(&[], COVERAGE).is_none());
    }
}
