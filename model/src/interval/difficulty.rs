//! How much harder some answers are than others: residuals by the time that is predicted.
//!
//! Short kernels are launch and noise, long ones arithmetic: one band for all would be too narrow
//! for some and too wide for most. Residuals are divided by what is usual at their time before
//! bands are made of them, and bands multiplied by it again (normalised conformal prediction,
//! Papadopoulos et al. 2002), so that coverage holds at every time and not only in all.

use serde::{Deserialize, Serialize};

use super::COVERAGE;
use super::residuals::Held;
use crate::math::{quantile, round9};

/// Most classes of times.
const MOST_CLASSES: usize = 8;

/// Fewest residuals of a class: six of them lie beyond its quantile.
const LEAST_IN_CLASS: usize = 60;

/// How far apart the hardest and the easiest times may be: whatever lies beyond is chance.
const RANGE: (f64, f64) = (0.2, 5.0);

/// Middle of a class in log nanoseconds, ascending, and its residuals over those of all.
/// Empty where there is one class only.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Difficulty(Vec<(f64, f64)>);

impl Difficulty {
    /// What `held` say, the sizes of which are compared at their 90 % quantile.
    pub(super) fn of(held: &[Held]) -> Difficulty {
        let classes = (held.len() / LEAST_IN_CLASS).min(MOST_CLASSES);
        if classes < 2 {
            return Difficulty::default();
        }
        let mut sorted: Vec<(f64, f64)> =
            held.iter().map(|held| (held.log_ns, held.residual.abs())).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let size = |class: &[(f64, f64)]| {
            let mut sizes: Vec<f64> = class.iter().map(|(_, size)| *size).collect();
            sizes.sort_by(f64::total_cmp);
            quantile(&sizes, COVERAGE)
        };
        let all = size(&sorted);
        if all <= 0.0 {
            return Difficulty::default();
        }
        let mut factors: Vec<(f64, f64)> = Vec::with_capacity(classes);
        for class in 0..classes {
            let span = |class: usize| class * sorted.len() / classes;
            let members = &sorted[span(class)..span(class + 1)];
            let middle = round9(members[members.len() / 2].0);
            let factor = round9((size(members) / all).clamp(RANGE.0, RANGE.1));
            if factors.last().is_none_or(|(last, _)| *last < middle) {
                factors.push((middle, factor));
            }
        }
        // One time for all tells nothing.
        if factors.len() < 2 { Difficulty::default() } else { Difficulty(factors) }
    }

    /// What residuals at a time are over those of all.
    pub(crate) fn at(&self, log_ns: f64) -> f64 {
        let after = self.0.partition_point(|(middle, _)| *middle <= log_ns);
        let below = after.checked_sub(1).and_then(|index| self.0.get(index));
        match (below, self.0.get(after)) {
            (Some((low, below)), Some((high, above))) => {
                below + (log_ns - low) / (high - low) * (above - below)
            }
            (Some((_, factor)), None) | (None, Some((_, factor))) => *factor,
            (None, None) => 1.0,
        }
    }

    /// Whether all times are the same.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether times ascend and factors can be.
    pub(super) fn is_sound(&self) -> bool {
        self.0
            .iter()
            .all(|(middle, factor)| middle.is_finite() && (RANGE.0..=RANGE.1).contains(factor))
            && self.0.windows(2).all(|pair| pair[0].0 < pair[1].0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Stream;

    fn held(count: usize) -> Vec<Held> {
        // Short times err five times as much as long ones.
        let mut stream = Stream::new(3);
        (0..count)
            .map(|index| {
                let drawn = (stream.next() >> 11) as f64 / (1_u64 << 53) as f64;
                let short = index % 2 == 0;
                let log_ns = if short { 8.0 } else { 12.0 } + index as f64 / count as f64;
                let size = if short { 0.25 } else { 0.05 };
                Held { gap: 0.0, log_ns, residual: size * (2.0 * drawn - 1.0) }
            })
            .collect()
    }

    #[test]
    fn short_times_are_told_from_long_ones() {
        let difficulty = Difficulty::of(&held(600));
        let ratio = difficulty.at(8.2) / difficulty.at(12.8);
        assert!((3.5..6.5).contains(&ratio), "{ratio}");
        assert!(difficulty.is_sound() && !difficulty.is_empty());
        assert_eq!(difficulty.at(-100.0), difficulty.at(8.0));
    }

    #[test]
    fn few_residuals_and_perfect_ones_tell_nothing() {
        assert!(Difficulty::of(&held(100)).is_empty());
        let perfect: Vec<Held> =
            held(600).into_iter().map(|held| Held { residual: 0.0, ..held }).collect();
        assert_eq!(Difficulty::of(&perfect).at(9.0), 1.0);
    }
}
