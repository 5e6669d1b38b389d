//! The errors of a variant on points that were held out of its fit.

use serde::{Deserialize, Serialize};

use crate::interval::{Band, Held, Residuals};
use crate::math::{exp, median, quantile, round9};

/// Errors in one region, as shares: 0.03 is 3 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegionError {
    /// Held-out points.
    pub points: usize,
    /// Median of `|predicted - measured| / measured`.
    pub median: f64,
    /// Its 90th percentile.
    pub p90: f64,
    /// Its largest value.
    pub worst: f64,
    /// Its mean.
    pub mape: f64,
    /// Share of points within a 90 % interval that was set on other points.
    pub coverage: f64,
}

/// Errors by region; a region is absent where nothing could be held out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// Points between measured points of their line, at a value of the axis that other lines have.
    pub known: Option<RegionError>,
    /// The same at a value of the axis that no line has.
    pub fresh: Option<RegionError>,
    /// Points of lines held out whole.
    pub unseen: Option<RegionError>,
    /// Points up to two octaves beyond the rest.
    pub near: Option<RegionError>,
    /// The analytical term alone, on the points of the first two.
    pub analytical: Option<RegionError>,
}

impl RegionError {
    /// The errors of log residuals `ln(measured / predicted)`; none without any.
    pub(crate) fn of(residuals: &[f64]) -> Option<RegionError> {
        if residuals.is_empty() {
            return None;
        }
        // predicted / measured - 1, from its logarithm.
        let mut errors: Vec<f64> =
            residuals.iter().map(|residual| (exp(-residual) - 1.0).abs()).collect();
        errors.sort_by(f64::total_cmp);
        Some(RegionError {
            points: errors.len(),
            median: round9(quantile(&errors, 0.5)),
            p90: round9(quantile(&errors, 0.9)),
            worst: round9(quantile(&errors, 1.0)),
            mape: round9(errors.iter().sum::<f64>() / errors.len() as f64),
            coverage: round9(crossed_coverage(residuals)),
        })
    }

    /// Whether the numbers can be errors.
    pub(crate) fn is_sound(&self) -> bool {
        let shares = [self.median, self.p90, self.worst, self.mape];
        shares.iter().all(|share| share.is_finite() && *share >= 0.0)
            && (0.0..=1.0).contains(&self.coverage)
    }
}

/// Coverage of each half of the residuals by the band of the other.
fn crossed_coverage(residuals: &[f64]) -> f64 {
    let half =
        |parity: usize| residuals.iter().copied().skip(parity).step_by(2).collect::<Vec<_>>();
    let covered = |band: Option<Band>, of: &[f64]| {
        of.iter().filter(|residual| band.is_some_and(|band| band.contains(**residual))).count()
    };
    let (even, odd) = (half(0), half(1));
    let within = covered(Band::of(even.clone()), &odd) + covered(Band::of(odd), &even);
    within as f64 / residuals.len() as f64
}

impl HeldOut {
    /// The errors of `residuals`.
    pub(crate) fn of(residuals: &Residuals) -> HeldOut {
        let of = |held: &[Held]| held.iter().map(|held| held.residual).collect::<Vec<f64>>();
        let unseen = [of(&residuals.unseen), of(&residuals.strange)].concat();
        HeldOut {
            known: RegionError::of(&of(&residuals.known)),
            fresh: RegionError::of(&of(&residuals.fresh)),
            unseen: RegionError::of(&unseen),
            near: RegionError::of(&of(&residuals.near)),
            analytical: RegionError::of(&residuals.analytical),
        }
    }

    /// Whether the numbers can be errors.
    pub(crate) fn is_sound(&self) -> bool {
        [self.known, self.fresh, self.unseen, self.near, self.analytical]
            .iter()
            .flatten()
            .all(RegionError::is_sound)
    }
}

/// Median of the absolute values, for choosing between candidates.
pub(crate) fn mean_size(residuals: &[f64]) -> f64 {
    /// A throttled row must not decide.
    const MOST: f64 = 0.5;
    if residuals.is_empty() {
        return 0.0;
    }
    let sum: f64 = residuals.iter().map(|residual| residual.abs().min(MOST)).sum();
    let mean = sum / residuals.len() as f64;
    // Mean and median together: neither the tail nor the bulk alone.
    (mean + median(residuals.iter().map(|residual| residual.abs()).collect())) / 2.0
}
