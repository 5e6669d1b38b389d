//! The 90 % interval of an answer, from residuals of points that were held out of the fit.
//!
//! A residual is `ln(measured / predicted)`. Its 5 % and 95 % quantiles, with the finite-sample
//! correction of split conformal prediction (Vovk et al. 2005; Lei et al. 2018), are the band
//! around an answer of the same region: between measured points of a line (by how far apart
//! these are), on a line never measured, near the domain. Outside it widens with every octave.
//! Which points are held out is decided in `fit`.

use serde::{Deserialize, Serialize};

use crate::math::{log2, pow, quantile, round9};

/// Share of points that an interval is meant to cover.
pub(crate) const COVERAGE: f64 = 0.9;

/// Lower and upper end of `ln(measured / predicted)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Band(pub f64, pub f64);

/// Where an answer comes from, as far as its interval is concerned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Region {
    /// Between two measured points of a line.
    Known {
        /// Octaves between the two.
        gap: f64,
        /// Whether no line at all was measured at this value of the axis.
        fresh: bool,
    },
    /// Within the domain, but not between measured points of a line.
    Unseen,
    /// Within the domain, where other machines speak.
    Borrowed,
    /// Near the domain.
    Near,
    /// Outside, this many octaves in all.
    Outside {
        /// Octaves beyond the domain.
        octaves: f64,
    },
}

/// The bands of one variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Intervals {
    /// A measured point against a repeat of its measurement.
    pub exact: Band,
    /// Between measured points where the axis has a value that other lines were measured at, by
    /// the gap in octaves, ascending.
    pub known: Vec<(f64, Band)>,
    /// The same where no line was; empty where that was not tried.
    pub fresh: Vec<(f64, Band)>,
    /// On a line never measured.
    pub unseen: Band,
    /// Near the domain.
    pub near: Band,
    /// The analytical term alone, within the domain.
    pub analytical: Band,
    /// The learned regression alone, within the domain.
    pub learned: Band,
}

/// Repeats of one measurement differ by about this much on published tables (median of two runs
/// about 1 %, mean 3 to 4 %): the band of measured points whose samples are not known.
pub(crate) const REPEAT_NOISE: Band = Band(-0.03, 0.03);

/// The band of lines never measured where none could be held out: between rank counts of
/// published machines nine tenths of interpolations lie within 15 % (NVSwitch) to 31 % (PCIe).
const UNTRIED: Band = Band(-0.3, 0.3);

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

    /// A band that contains the answer itself and is neither empty nor endless.
    fn sane(self) -> Band {
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

    fn width(self) -> f64 {
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

/// Residuals by region, of held-out points.
#[derive(Debug, Clone, Default)]
pub(crate) struct Residuals {
    /// Gap in octaves and residual of points between measured ones.
    pub known: Vec<(f64, f64)>,
    /// The same where whole values of the axis were held out.
    pub fresh: Vec<(f64, f64)>,
    /// Residuals of points on lines that were held out whole.
    pub unseen: Vec<f64>,
    /// Residuals of points beyond what was left in.
    pub near: Vec<f64>,
    /// The analytical term's.
    pub analytical: Vec<f64>,
    /// The learned regression's.
    pub learned: Vec<f64>,
    /// Half the log ratio of the slowest and the fastest repeat of a point.
    pub repeats: Vec<f64>,
}

impl Residuals {
    /// Adds those of another set of held-out points.
    pub(crate) fn extend(&mut self, other: Residuals) {
        self.known.extend(other.known);
        self.fresh.extend(other.fresh);
        self.unseen.extend(other.unseen);
        self.near.extend(other.near);
        self.analytical.extend(other.analytical);
        self.learned.extend(other.learned);
        self.repeats.extend(other.repeats);
    }
}

impl Intervals {
    /// Bands of `residuals`. A region without any takes the next wider one's, doubled.
    pub(crate) fn of(residuals: &Residuals) -> Intervals {
        let analytical = Band::of(residuals.analytical.clone()).unwrap_or(Band(-1.0, 1.0));
        let known = by_gap(&residuals.known);
        let fresh = by_gap(&residuals.fresh);
        let widest = known.iter().chain(&fresh).map(|(_, band)| *band).reduce(Band::joined);
        let unseen = Band::of(residuals.unseen.clone())
            .or(widest.map(|band| band.scaled(2.0).joined(UNTRIED)))
            .unwrap_or(analytical.scaled(2.0));
        let near =
            Band::of(residuals.near.clone()).map_or(unseen.scaled(2.0), |near| near.joined(unseen));
        let mut repeats = residuals.repeats.clone();
        repeats.sort_by(f64::total_cmp);
        let exact = if repeats.len() < 20 {
            REPEAT_NOISE
        } else {
            let half = quantile(&repeats, COVERAGE);
            Band(-half, half).sane()
        };
        Intervals {
            exact,
            known,
            fresh,
            unseen,
            near,
            analytical,
            learned: Band::of(residuals.learned.clone()).unwrap_or(analytical.scaled(2.0)),
        }
    }

    /// The band of an answer in `region`.
    pub(crate) fn band(&self, region: Region) -> Band {
        match region {
            Region::Known { gap, fresh } if fresh && !self.fresh.is_empty() => {
                by_gap_at(&self.fresh, gap, self.exact)
            }
            Region::Known { gap, .. } if !self.known.is_empty() => {
                by_gap_at(&self.known, gap, self.exact)
            }
            Region::Known { .. } => self.unseen,
            Region::Unseen | Region::Borrowed => self.unseen,
            Region::Near => self.near,
            Region::Outside { octaves } => self.near.scaled(1.0 + octaves / 2.0),
        }
    }

    /// Whether all bands are where bands can be.
    pub(crate) fn is_sound(&self) -> bool {
        let bands = [self.exact, self.unseen, self.near, self.analytical, self.learned];
        let tables = [&self.known, &self.fresh];
        let by_gap = || tables.into_iter().flatten();
        bands.into_iter().chain(by_gap().map(|(_, band)| *band)).all(Band::is_sound)
            && by_gap().all(|(gap, _)| gap.is_finite() && *gap > 0.0)
            && tables.iter().all(|table| table.windows(2).all(|pair| pair[0].0 < pair[1].0))
    }
}

/// The band at a gap: between those of the nearest gaps known, or scaled by their power law, but
/// no narrower than `repeat`: between two measured points nothing is known better than at them.
fn by_gap_at(table: &[(f64, Band)], gap: f64, repeat: Band) -> Band {
    let after = table.partition_point(|(have, _)| *have <= gap);
    let below = after.checked_sub(1).and_then(|index| table.get(index));
    match (below, table.get(after)) {
        (Some((low, below)), Some((high, above))) => {
            let weight = (log2(gap) - log2(*low)) / (log2(*high) - log2(*low));
            let mix = |a: f64, b: f64| a + weight * (b - a);
            Band(mix(below.0, above.0), mix(below.1, above.1))
        }
        (Some((edge, band)), None) => band.scaled(pow(gap / edge, growth(table))),
        (None, Some((edge, band))) => band.scaled(pow(gap / edge, growth(table))).joined(repeat),
        (None, None) => UNTRIED,
    }
}

/// The power of the gap that bands grow with. Straight lines through a smooth curve err with its
/// square, through noise not at all; where only one gap is known, with its square root.
fn growth(table: &[(f64, Band)]) -> f64 {
    match (table.first(), table.last()) {
        (Some((low, narrow)), Some((high, wide))) if high > low => {
            (log2(wide.width() / narrow.width()) / log2(high / low)).clamp(0.0, 2.0)
        }
        _ => 0.5,
    }
}

/// A class of gaps has at least this many residuals.
const LEAST_IN_CLASS: usize = 30;

/// Upper ends of the classes, in octaves.
const CLASSES: [f64; 7] = [0.3, 0.75, 1.5, 2.5, 4.5, 8.5, f64::INFINITY];

/// Bands by gap, from pairs of gap and residual.
fn by_gap(known: &[(f64, f64)]) -> Vec<(f64, Band)> {
    let mut sorted: Vec<(f64, f64)> = known.iter().copied().filter(|(gap, _)| *gap > 0.0).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let class = |gap: f64| CLASSES.partition_point(|end| *end < gap);
    let mut groups: Vec<Vec<(f64, f64)>> = Vec::new();
    for run in sorted.chunk_by(|a, b| class(a.0) == class(b.0)) {
        match groups.last_mut() {
            Some(last) if last.len() < LEAST_IN_CLASS => last.extend(run),
            _ => groups.push(run.to_vec()),
        }
    }
    if groups.len() > 1 && groups[groups.len() - 1].len() < LEAST_IN_CLASS {
        let last = groups.pop().unwrap_or_default();
        if let Some(before) = groups.last_mut() {
            before.extend(last);
        }
    }
    groups
        .into_iter()
        .filter_map(|group| {
            let gap = group.iter().map(|(gap, _)| gap).sum::<f64>() / group.len() as f64;
            Band::of(group.into_iter().map(|(_, residual)| residual).collect())
                .map(|band| (round9(gap), band))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_band_covers_ninety_of_a_hundred() {
        let residuals: Vec<f64> = (1..100).map(|i| f64::from(i) / 100.0 - 0.5).collect();
        let Band(low, high) = Band::of(residuals).unwrap();
        assert!((low + 0.45).abs() < 1e-9 && (high - 0.45).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn few_residuals_make_a_band_beyond_them_that_still_contains_the_answer() {
        let Band(low, high) = Band::of(vec![0.1, 0.2]).unwrap();
        assert!(low < 0.0 && high > 0.2);
        assert!(Band::of(Vec::new()).is_none());
    }

    #[test]
    fn bands_grow_with_the_gap() {
        let class =
            |gap: f64, half: f64| (0..50).map(move |i| (gap, half * f64::from(i - 25) / 25.0));
        let known: Vec<(f64, f64)> = class(2.0, 0.1).chain(class(4.0, 0.2)).collect();
        let intervals = Intervals::of(&Residuals { known, ..Residuals::default() });
        let width = |gap| intervals.band(Region::Known { gap, fresh: true }).width();
        assert!((width(1.0) / width(2.0) - 0.5).abs() < 0.05);
        assert!((width(8.0) / width(4.0) - 2.0).abs() < 0.1);
        assert!(width(3.0) > width(2.0) && width(3.0) < width(4.0));
    }
}
