//! The reference system's three-region curve: latency, a sigmoid of the logarithm of the
//! bandwidth, saturation. It serves for collectives and for device memory.
//!
//! With `x = log2(bytes)`: up to `linear_end` the time is constant; up to `saturated_from` the
//! bandwidth is `10^S(x)` GB/s, `S(x) = length / (1 + exp(-steepness (x - centre))) + base`; from
//! there it is the largest, plus the constant. The branches do not join, which is the published
//! model's own property.

use crate::least_squares::{Bounded, minimise};
use crate::math::{exp, ln, log2, median, pow};

/// Parameters of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sigmoid {
    /// Bytes that move per byte of size: the bus factor of the collective.
    pub factor: f64,
    /// Log2 of the size up to which the time is constant.
    pub linear_end: f64,
    /// Log2 of the size from which the bandwidth is the largest.
    pub saturated_from: f64,
    /// The largest bandwidth in decimal GB/s.
    pub max_gb_s: f64,
    /// The constant time in microseconds.
    pub overhead_us: f64,
    /// Height of the sigmoid, in decades of GB/s.
    pub length: f64,
    /// Log2 of the size at its middle.
    pub centre: f64,
    /// Its steepness per octave.
    pub steepness: f64,
    /// Its foot, in decades of GB/s.
    pub base: f64,
}

impl Sigmoid {
    /// Time for `bytes`, in microseconds.
    pub fn time_us(&self, bytes: f64) -> f64 {
        let x = log2(bytes.max(1.0));
        if x <= self.linear_end {
            return self.overhead_us;
        }
        if x <= self.saturated_from {
            return bytes * self.factor / pow(10.0, self.decades(x)) / 1e3;
        }
        bytes * self.factor / self.max_gb_s / 1e3 + self.overhead_us
    }

    fn decades(&self, x: f64) -> f64 {
        self.length / (1.0 + exp(-self.steepness * (x - self.centre))) + self.base
    }

    /// A curve of `points` (bytes, microseconds, ascending) by the published rule: the largest
    /// bandwidth; saturation two points after the last below 95 % of it; linearity one point
    /// before the first, from the sixth on, whose neighbours differ by more than a tenth; the
    /// sigmoid by least squares in between. None with fewer than eight points.
    pub fn fit(points: &[(f64, f64)], factor: f64) -> Option<Sigmoid> {
        /// Added to bandwidths, which logs print with few decimals.
        const PRINTED: f64 = 4e-4;
        let last = points.len().checked_sub(1).filter(|last| *last >= 7)?;
        let rate: Vec<f64> =
            points.iter().map(|(bytes, us)| bytes * factor / us / 1e3 + PRINTED).collect();
        let max_gb_s = rate.iter().copied().fold(f64::MIN, f64::max);
        let below = rate.iter().rposition(|rate| *rate < 0.95 * max_gb_s).unwrap_or(0);
        let saturated = (below + 2).min(last);
        let change = |i: usize| ((points[i + 1].1 - points[i - 1].1) / (2.0 * points[i].1)).abs();
        let bend = (5..last).find(|&i| change(i) > 0.1).unwrap_or(5);
        let linear = (bend - 1).min(saturated.saturating_sub(1));
        let overhead_us = points[linear.saturating_sub(1)].1;
        let x: Vec<f64> = points.iter().map(|(bytes, _)| log2(*bytes)).collect();
        let y: Vec<f64> = rate.iter().map(|rate| ln(*rate) / std::f64::consts::LN_10).collect();
        let mut curve = Sigmoid {
            factor,
            linear_end: x[linear],
            saturated_from: x[saturated],
            max_gb_s,
            overhead_us,
            length: 1.0,
            centre: 0.0,
            steepness: 1.0,
            base: 0.0,
        };
        curve.fit_sigmoid(&x[linear..=saturated], &y[linear..=saturated]);
        Some(curve)
    }

    fn fit_sigmoid(&mut self, x: &[f64], y: &[f64]) {
        let lowest = y.iter().copied().fold(f64::INFINITY, f64::min);
        let bounds = [
            Bounded { low: 0.01, start: 3.0, high: 40.0 },
            Bounded { low: 0.0, start: median(x.to_vec()), high: 60.0 },
            Bounded { low: 0.01, start: 0.5, high: 10.0 },
            Bounded { low: lowest - 20.0, start: lowest, high: lowest + 5.0 },
        ];
        let with = |p: &[f64]| Sigmoid {
            length: p[0],
            centre: p[1],
            steepness: p[2],
            base: p[3],
            ..*self
        };
        let steep: Vec<f64> = vec![3.0, median(x.to_vec()), 1.0, lowest];
        let gentle: Vec<f64> = vec![6.0, median(x.to_vec()) - 4.0, 0.25, lowest - 3.0];
        let solution = minimise(&bounds, &[steep, gentle], 200, |p| {
            let curve = with(p);
            x.iter().zip(y).map(|(x, y)| curve.decades(*x) - y).collect()
        });
        *self = with(&solution.parameters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::published;

    const SIZES: [u64; 5] = [1 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20];

    #[test]
    fn published_curves_give_the_published_values() {
        for (curve, expected) in [
            (published::V100_4_ALL_TO_ALL_V, [85.60, 67.41, 100.72, 410.91, 3635.49]),
            (published::V100_4_ALL_REDUCE, [84.20, 69.60, 119.73, 551.66, 5405.35]),
            (published::V100_8_ALL_TO_ALL_V, [68.00, 52.12, 97.51, 494.03, 5194.68]),
            (published::V100_8_ALL_REDUCE, [43.40, 47.33, 95.16, 434.60, 3646.60]),
        ] {
            for (bytes, expected) in SIZES.into_iter().zip(expected) {
                let time = curve.time_us(bytes as f64);
                assert!((time - expected).abs() < 0.005, "{bytes} bytes: {time}, not {expected}");
            }
        }
    }

    #[test]
    fn the_rule_finds_a_curve_again() {
        // Every power of two from 16 B to 1 GiB; the curve's dip after its first joint left out.
        let truth = Sigmoid { saturated_from: 40.0, ..published::V100_8_ALL_TO_ALL_V };
        let points: Vec<(f64, f64)> = (4..=30)
            .map(|log| f64::from(1 << log))
            .map(|bytes| (bytes, truth.time_us(bytes).max(truth.overhead_us)))
            .collect();
        let found = Sigmoid::fit(&points, truth.factor).unwrap();
        assert_eq!((found.overhead_us, found.time_us(64.0)), (68.0, 68.0));
        let middle = |bytes: f64| (found.linear_end..found.saturated_from).contains(&log2(bytes));
        assert!(points.iter().filter(|(bytes, _)| middle(*bytes)).count() > 5);
        for (bytes, us) in points.iter().filter(|(bytes, _)| middle(*bytes)) {
            let error = (found.time_us(*bytes) / us - 1.0).abs();
            assert!(error < 0.05, "{bytes} bytes: {} for {us}", found.time_us(*bytes));
        }
        assert!(Sigmoid::fit(&points[..7], 1.0).is_none());
    }
}
