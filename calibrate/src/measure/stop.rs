//! When enough samples of a point were taken.
//!
//! Sampling ends when the median is known (its 95 % interval from order statistics is within
//! 1 %), when more samples no longer change the noise (nvbench's lesson: a suite that insists
//! on convergence takes thirty hours), or when time or samples run out. Outliers are neither
//! dropped nor smoothed: the median and the quartiles do not mind them.

use kernelgauge_data::{Nanos, StopReason, statistics};

/// Half-width of the 95 % interval of the median, relative to the median.
const CONVERGED: f64 = 0.01;
/// No decision from fewer samples, unless time runs out.
const FEWEST: usize = 10;
/// Samples taken whatever the time limit says; a single one says nothing about its noise.
const ALWAYS: usize = 3;
/// Most samples when their number is not asked for.
const MOST: usize = 1_000;
/// Noise is looked at from this many samples on,
const NOISE_FROM: usize = 32;
/// over this many looks,
const LOOKS: usize = 6;
/// and is stable when the looks differ by less than this share of their mean.
const NOISE_STABLE: f64 = 0.05;

/// The rule of one point, with what it has seen so far.
#[derive(Debug, Clone)]
pub struct StopRule {
    limit: Nanos,
    exact: Option<usize>,
    next_look: usize,
    noise: Vec<f64>,
}

impl StopRule {
    /// Stops at `limit` at the latest, and at exactly `exact` samples where given.
    pub fn new(limit: Nanos, exact: Option<u32>) -> Self {
        StopRule {
            limit,
            exact: exact.map(|count| count as usize),
            next_look: FEWEST,
            noise: Vec::new(),
        }
    }

    /// Whether `samples`, which took `spent` together, are enough, and why.
    pub fn decide(&mut self, samples: &[Nanos], spent: Nanos) -> Option<StopReason> {
        let count = samples.len();
        if let Some(exact) = self.exact {
            return (count >= exact).then_some(StopReason::SampleLimit);
        }
        if count >= self.next_look {
            self.next_look = count + (count / 8).max(2);
            if let Some(reason) = self.look(samples) {
                return Some(reason);
            }
        }
        if count >= MOST {
            return Some(StopReason::SampleLimit);
        }
        (count >= ALWAYS && spent >= self.limit).then_some(StopReason::TimeLimit)
    }

    fn look(&mut self, samples: &[Nanos]) -> Option<StopReason> {
        let mut sorted: Vec<f64> = samples.iter().map(|sample| sample.as_f64()).collect();
        sorted.sort_by(f64::total_cmp);
        if median_half_width(&sorted) <= CONVERGED {
            return Some(StopReason::Converged);
        }
        if sorted.len() < NOISE_FROM {
            return None;
        }
        self.noise.push(relative_quartile_range(&sorted)?);
        let recent = self.noise.last_chunk::<LOOKS>()?;
        let (low, high) = recent
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |(low, high), look| (low.min(*look), high.max(*look)));
        let mean = recent.iter().sum::<f64>() / LOOKS as f64;
        (high - low <= NOISE_STABLE * mean).then_some(StopReason::NoiseStable)
    }
}

/// Half-width of the 95 % interval of the median relative to the median, from the order
/// statistics of ranks `n/2 -+ 0.98 sqrt(n)` (Conover, "Practical Nonparametric Statistics",
/// 3.2); infinite when there are too few samples for it.
pub fn median_half_width(sorted: &[f64]) -> f64 {
    let count = sorted.len() as f64;
    let reach = 0.98 * count.sqrt();
    let low = (count / 2.0 - reach).round() as usize;
    let high = (1.0 + count / 2.0 + reach).round() as usize;
    let Some(median) = statistics::quantile(sorted, 0.5) else { return f64::INFINITY };
    if low < 1 || high > sorted.len() || median <= 0.0 {
        return f64::INFINITY;
    }
    (sorted[high - 1] - sorted[low - 1]) / 2.0 / median
}

fn relative_quartile_range(sorted: &[f64]) -> Option<f64> {
    let [q1, median, q3] = [0.25, 0.5, 0.75].map(|share| statistics::quantile(sorted, share));
    Some((q3? - q1?) / median?)
}

#[cfg(test)]
mod tests {
    use kernelgauge_cuda::random::Random;

    use super::*;

    /// Feeds samples of mean 1 ms and relative noise `noise`, each 1 ms long.
    fn run(rule: &mut StopRule, noise: f64) -> (StopReason, usize) {
        let mut random = Random::new(11);
        let mut samples = Vec::new();
        loop {
            samples.push(Nanos::saturating(1e6 * (1.0 + noise * random.normal())));
            let spent = Nanos::new(1_000_000 * samples.len() as u64);
            if let Some(reason) = rule.decide(&samples, spent) {
                return (reason, samples.len());
            }
        }
    }

    #[test]
    fn quiet_points_stop_at_once_and_noisy_ones_when_their_noise_is_known() {
        let second = Nanos::new(1_000_000_000);
        assert_eq!(run(&mut StopRule::new(second, None), 0.001), (StopReason::Converged, 10));
        let (reason, count) = run(&mut StopRule::new(second, None), 0.04);
        assert_eq!(reason, StopReason::Converged);
        assert!((20..200).contains(&count), "{count}");
        let (reason, count) = run(&mut StopRule::new(second, None), 0.3);
        assert_eq!(reason, StopReason::NoiseStable);
        assert!(count < 500, "{count}");
    }

    #[test]
    fn limits_hold_but_never_below_three_samples() {
        let rule = |limit, exact| StopRule::new(Nanos::new(limit), exact);
        assert_eq!(run(&mut rule(5_000_000, None), 0.3), (StopReason::TimeLimit, 5));
        assert_eq!(run(&mut rule(1, None), 0.3), (StopReason::TimeLimit, 3));
        assert_eq!(run(&mut rule(1, Some(7)), 0.0), (StopReason::SampleLimit, 7));
        assert_eq!(run(&mut rule(1, Some(1)), 0.0), (StopReason::SampleLimit, 1));
    }

    #[test]
    fn the_interval_of_the_median_is_that_of_the_tables() {
        // Of ten samples the second and the ninth; of six the first and the last (96.9 %).
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert!((median_half_width(&ten) - (9.0 - 2.0) / 2.0 / 5.5).abs() < 1e-12);
        let six: Vec<f64> = (1..=6).map(f64::from).collect();
        assert!((median_half_width(&six) - (6.0 - 1.0) / 2.0 / 3.5).abs() < 1e-12);
        assert_eq!(median_half_width(&six[..3]), f64::INFINITY);
    }
}
