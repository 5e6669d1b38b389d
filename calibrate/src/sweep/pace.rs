//! How long the rest of a run will take: the plan's guess, corrected per family by what points
//! really took.

use std::collections::BTreeMap;
use std::time::Duration;

use kernelgauge_data::Family;

/// Points' worth of trust in the plan's guess before the first correction counts in full.
const PRIOR: f64 = 0.5;

/// Guessed and real time of the points of each family so far, in seconds.
#[derive(Debug, Clone, Default)]
pub struct Pace(BTreeMap<Family, (f64, f64)>);

impl Pace {
    /// Notes that a point of `family`, guessed at `guess`, took `real`.
    pub fn observe(&mut self, family: Family, guess: Duration, real: Duration) {
        let (guessed, took) = self.0.entry(family).or_default();
        *guessed += guess.as_secs_f64();
        *took += real.as_secs_f64();
    }

    /// `guess` as a point of `family` will really take it.
    pub fn corrected(&self, family: Family, guess: Duration) -> Duration {
        let (guessed, took) = self.0.get(&family).copied().unwrap_or_default();
        guess.mul_f64(((took + PRIOR) / (guessed + PRIOR)).clamp(0.01, 100.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_follow_what_their_family_really_took() {
        let second = Duration::from_secs(1);
        let mut pace = Pace::default();
        assert_eq!(pace.corrected(Family::Gemm, second), second);
        for _ in 0..50 {
            pace.observe(Family::Gemm, second, second / 4);
        }
        let corrected = pace.corrected(Family::Gemm, second).as_secs_f64();
        assert!((corrected - 0.25).abs() < 0.02, "{corrected}");
        assert_eq!(pace.corrected(Family::Copy, second), second);
    }
}
