//! The 90 % interval of an answer, from residuals of points that were held out of the fit.
//!
//! A residual is `ln(measured / predicted)`. Its 5 % and 95 % quantiles, with the finite-sample
//! correction of split conformal prediction (Vovk et al. 2005; Lei et al. 2018), are the [`band`]
//! around an answer of the same region: between measured points of a line (by how far apart
//! these are: [`gaps`]), on a line never measured, near the domain. Inside, residuals are first
//! divided by what is usual at their time ([`difficulty`]). Outside the band widens with every
//! octave. Which points are held out is decided in `fit`.

mod band;
mod difficulty;
mod gaps;
mod residuals;

pub(crate) use band::Band;
pub(crate) use difficulty::Difficulty;
pub(crate) use residuals::{Held, Residuals};

use serde::{Deserialize, Serialize};

use crate::math::{pow, quantile};
use gaps::{Gaps, MOST_SHRINKING, UNTRIED, by_gap, by_gap_at};

/// Share of points that an interval is meant to cover.
pub(crate) const COVERAGE: f64 = 0.9;

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
    Unseen {
        /// Whether no line at all was measured at this value of the axis.
        fresh: bool,
    },
    /// Within the domain, where other machines speak.
    Borrowed,
    /// Near the domain.
    Near {
        /// Octaves beyond the domain.
        octaves: f64,
    },
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
    pub known: Gaps,
    /// The same where no line was; empty where that was not tried.
    pub fresh: Gaps,
    /// On a line never measured.
    pub unseen: Band,
    /// The same at a value of the axis that no line was measured at, where that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strange: Option<Band>,
    /// What the bands above are multiplied by, by the time predicted.
    #[serde(default, skip_serializing_if = "Difficulty::is_empty")]
    pub difficulty: Difficulty,
    /// Near the domain, all that was tried together.
    pub near: Band,
    /// The same by octaves beyond the domain, ascending; empty where that was not tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beyond: Gaps,
    /// The analytical term alone, within the domain.
    pub analytical: Band,
    /// The learned regression alone, within the domain.
    pub learned: Band,
}

/// Repeats of one measurement differ by about this much on published tables (median of two runs
/// about 1 %, mean 3 to 4 %): the band of measured points whose samples are not known.
pub(crate) const REPEAT_NOISE: Band = Band(-0.03, 0.03);

/// What products of 8-bit types, and of 16-bit ones, may differ by where all that was measured has
/// rows in sixteens and the question has not, or the other way round: which of the two costs more
/// is not in the measurements. On published tables of three GPUs nine tenths of such neighbours
/// (m and m + 1) differ by at most 16 to 35 % and 13 to 20 %, the step of one row included, of
/// which a model knows a part; widths that cover were chosen on the odd-seeded halves of
/// `every_second` of H200 and L40S.
pub(crate) const OTHER_ALIGNMENT: [Band; 2] = [Band(-0.15, 0.15), Band(-0.1, 0.1)];

/// Fewest residuals for a band of their own.
const LEAST_FOR_OWN: usize = 30;

impl Intervals {
    /// Bands of `residuals`. A region without any takes the next wider one's.
    pub(crate) fn of(residuals: &Residuals) -> Intervals {
        let analytical = Band::of(residuals.analytical.clone()).unwrap_or(Band(-1.0, 1.0));
        let inside = [&residuals.known, &residuals.fresh, &residuals.unseen, &residuals.strange];
        let pooled: Vec<Held> = inside.into_iter().flatten().copied().collect();
        let difficulty = Difficulty::of(&pooled);
        let eased = |held: &[Held]| -> Vec<Held> {
            let ease = |held: &Held| held.residual / difficulty.at(held.log_ns);
            held.iter().map(|held| Held { residual: ease(held), ..*held }).collect()
        };
        let sizes = |held: &[Held]| -> Vec<f64> { held.iter().map(|held| held.residual).collect() };
        let known = by_gap(&eased(&residuals.known), Band::of);
        let fresh = by_gap(&eased(&residuals.fresh), |sizes| Band::mirrored(&sizes, COVERAGE));
        let widest = known.iter().chain(&fresh).map(|(_, band)| *band).reduce(Band::joined);
        let unseen = Band::of(sizes(&eased(&residuals.unseen)))
            .or(widest.map(|band| band.joined(UNTRIED)))
            .unwrap_or(analytical.scaled(2.0));
        let strange = (residuals.strange.len() >= LEAST_FOR_OWN)
            .then(|| Band::mirrored(&sizes(&eased(&residuals.strange)), COVERAGE))
            .flatten()
            // Holding every second value out made the steps between them twice as long.
            .map(|band| band.scaled(pow(0.5, MOST_SHRINKING)));
        let beyond = by_gap(&residuals.near, |sizes| Band::mirrored(&sizes, COVERAGE));
        let near = sizes(&residuals.near);
        let near = match (Band::of(near.clone()), Band::mirrored(&near, COVERAGE)) {
            (Some(near), Some(mirrored)) => near.joined(mirrored).joined(unseen),
            _ => unseen.scaled(2.0),
        };
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
            strange,
            difficulty,
            near,
            beyond,
            analytical,
            learned: Band::of(residuals.learned.clone()).unwrap_or(analytical.scaled(2.0)),
        }
    }

    /// The same with `band` between measured points, whatever lies between them: what other
    /// machines fill gaps in with errs by no rule of the gap.
    pub(crate) fn with_between(self, band: Band) -> Intervals {
        const GAPS: [f64; 2] = [0.1, 1.0];
        let between: Gaps = GAPS.map(|gap| (gap, band)).to_vec();
        Intervals {
            known: between.clone(),
            fresh: between,
            unseen: self.unseen.joined(band),
            difficulty: Difficulty::default(),
            ..self
        }
    }

    /// The band of an answer of `log_ns` in `region`.
    pub(crate) fn band(&self, region: Region, log_ns: f64) -> Band {
        let at_this_time = |band: Band| band.scaled(self.difficulty.at(log_ns));
        match region {
            Region::Known { gap, fresh } if fresh && !self.fresh.is_empty() => {
                at_this_time(by_gap_at(&self.fresh, gap)).joined(self.exact)
            }
            Region::Known { gap, .. } if !self.known.is_empty() => {
                at_this_time(by_gap_at(&self.known, gap)).joined(self.exact)
            }
            Region::Unseen { fresh: true } => {
                at_this_time(self.strange.map_or(self.unseen, |band| band.joined(self.unseen)))
            }
            Region::Known { .. } | Region::Unseen { .. } | Region::Borrowed => {
                at_this_time(self.unseen)
            }
            Region::Near { .. } if self.beyond.is_empty() => self.near,
            // They come from one frontier and err together: the wider of the two stands for
            // the next.
            Region::Near { octaves } => by_gap_at(&self.beyond, octaves).joined(self.near),
            Region::Outside { octaves } => self.near.scaled(1.0 + octaves / 2.0),
        }
    }

    /// Whether all bands are where bands can be.
    pub(crate) fn is_sound(&self) -> bool {
        let bands = [self.exact, self.unseen, self.near, self.analytical, self.learned];
        bands.into_iter().chain(self.strange).all(Band::is_sound)
            && [&self.known, &self.fresh, &self.beyond]
                .into_iter()
                .all(|table| gaps::is_sound(table))
            && self.difficulty.is_sound()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(log_ns: f64, half: f64) -> impl Iterator<Item = Held> {
        (0..200).map(move |i| Held {
            gap: 0.0,
            log_ns: log_ns + f64::from(i) / 1e3,
            residual: half * f64::from(i * 37 % 200 - 100) / 100.0,
        })
    }

    #[test]
    fn bands_are_as_wide_as_answers_of_their_time_are_wrong() {
        let unseen: Vec<Held> = held(8.0, 0.3).chain(held(14.0, 0.1)).collect();
        let intervals =
            Intervals::of(&Residuals { unseen: unseen.clone(), ..Residuals::default() });
        let band = |log_ns| intervals.band(Region::Unseen { fresh: false }, log_ns);
        assert!(band(8.1).width() > 2.5 * band(14.1).width());
        let covered = unseen.iter().filter(|held| band(held.log_ns).contains(held.residual));
        let covered = covered.count() as f64 / unseen.len() as f64;
        assert!((0.88..0.93).contains(&covered), "{covered}");
        assert!(intervals.is_sound());
    }

    #[test]
    fn what_lies_at_values_never_measured_has_bands_of_its_own() {
        let residuals = Residuals {
            unseen: held(9.0, 0.05).collect(),
            strange: held(9.0, 0.4).filter(|held| held.residual > 0.0).collect(),
            ..Residuals::default()
        };
        let intervals = Intervals::of(&residuals);
        let width = |fresh| intervals.band(Region::Unseen { fresh }, 9.0).width();
        assert!(width(true) > 4.0 * width(false));
        // The next fold may err to the other side.
        assert!(intervals.band(Region::Unseen { fresh: true }, 9.0).0 < -0.1);
    }
}
