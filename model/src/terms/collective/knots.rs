//! The points a curve runs through: measured ones, and ones that kin stand in for.
//!
//! Between two of them `t^0.8` is a straight line in `bytes^0.8`, over PCIe `t` in `bytes`: on
//! published curves of two octaves' gap that errs less than other powers or straight lines in
//! logarithmic axes, and unlike a spline it cannot overshoot at a protocol's switch. Beyond the
//! largest the curve saturates: `t^p` grows linearly in `bytes^p`, from a line through the last
//! points that begins at the very last. Where the points come from is left to `borrowed`.

use kernelgauge_data::Links;
use serde::{Deserialize, Serialize};

use crate::math::{exp, ln, median, round9};

/// The power in which chords are straight. Of 0.4, 0.6, 0.8, 1 and 1.3 the one with the least
/// error on the sizes at even places of four published machines, those at odd places given.
const CHORD: f64 = 0.8;

/// Points within so many octaves of an end tell what the curve does there.
const END_OCTAVES: f64 = 2.0;

/// A curve by its points.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Knots {
    bytes: Vec<u64>,
    times_ns: Vec<f64>,
    /// Places of those that kin stand in for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    borrowed: Vec<u32>,
    #[serde(skip)]
    logs: Vec<(f64, f64)>,
    #[serde(skip)]
    tail: Tail,
    /// The power in which chords are straight.
    #[serde(skip)]
    power: f64,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Knot {
    pub bytes: u64,
    pub log_ns: f64,
    pub borrowed: bool,
}

/// What the curve does at its ends, in logarithms.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Ends {
    /// The time of the smallest sizes.
    pub latency: f64,
    /// The time per byte of the largest.
    pub per_byte: f64,
}

/// `t^p` beyond the last point, as shares of `t^p` there: what stays, and what grows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Tail {
    power: f64,
    stays: f64,
    grows: f64,
}

/// The power in which a curve is straight beyond its largest size, by what it runs over: where
/// sizes up to a sixteenth of the largest predict the rest best. NVSwitch of 0.5 to 1: 0.6 on the
/// packaged tables (32 MiB to 512 MiB cut at their own sixteenth), 0.8 on posted ones that go on
/// to GiB; NVLink 0.7, PCIe 0.9 and networks 0.9 on posted tables.
fn tail_power(links: Links, nodes: u64) -> f64 {
    match links {
        _ if nodes > 1 => 0.9,
        Links::Network | Links::Pcie => 0.9,
        Links::Nvswitch => 0.65,
        Links::Nvlink | Links::Xgmi | Links::Unstated => 0.7,
    }
}

/// The power in which chords between points are straight, by what the curve runs over. Over PCIe
/// 1 errs less than 0.8 where every second size is held out of what the L40S is evaluated by
/// (9.06 against 9.55 %), and no more at every second size of posted curves of other PCIe machines
/// (4.64 against 4.66 %, 90th percentile 9.8 against 10.4 %); over NVSwitch 0.8 errs least.
fn chord_power(links: Links, nodes: u64) -> f64 {
    if links == Links::Pcie && nodes == 1 { 1.0 } else { CHORD }
}

impl Knots {
    /// The curve through `knots`, in order of their bytes, at least one.
    pub(super) fn of(knots: &[Knot], links: Links, nodes: u64) -> Self {
        let mut made = Knots {
            bytes: knots.iter().map(|knot| knot.bytes).collect(),
            times_ns: knots.iter().map(|knot| round9(exp(knot.log_ns))).collect(),
            borrowed: (0..)
                .zip(knots)
                .filter(|(_, knot)| knot.borrowed)
                .map(|(at, _)| at)
                .collect(),
            ..Knots::default()
        };
        made.prepare(links, nodes);
        made
    }

    /// Fills what is derived.
    pub(super) fn prepare(&mut self, links: Links, nodes: u64) {
        let points = self.bytes.iter().zip(&self.times_ns);
        self.logs = points.map(|(bytes, ns)| (ln(*bytes as f64), ln(*ns))).collect();
        self.tail = Tail::of(&self.logs, tail_power(links, nodes));
        self.power = chord_power(links, nodes);
    }

    /// Whether they can be points: sizes and times above zero, sizes in order.
    pub(super) fn is_sound(&self) -> bool {
        let count = self.bytes.len();
        let possible = |ns: &f64| ns.is_finite() && (1e-3..=1e18).contains(ns);
        count > 0
            && count == self.times_ns.len()
            && self.bytes[0] > 0
            && self.bytes.windows(2).all(|pair| pair[0] < pair[1])
            && self.times_ns.iter().all(possible)
            && self.borrowed.windows(2).all(|pair| pair[0] < pair[1])
            && self.borrowed.last().is_none_or(|last| (*last as usize) < count)
    }

    /// The log time at a size within or above the points; none below them.
    pub(super) fn log_ns(&self, log_bytes: f64) -> Option<f64> {
        let after = self.logs.partition_point(|(bytes, _)| *bytes <= log_bytes);
        let below = self.logs.get(after.checked_sub(1)?)?;
        let Some(above) = self.logs.get(after) else {
            return Some(below.1 + self.tail.log_growth(log_bytes - below.0));
        };
        Some(powered_chord(*below, *above, log_bytes, self.power))
    }

    /// The log time of the smallest size and its logarithm.
    pub(super) fn first(&self) -> (f64, f64) {
        self.logs.first().copied().unwrap_or_default()
    }

    /// What the curve does at its ends.
    pub(super) fn ends(&self) -> Ends {
        let within = END_OCTAVES * std::f64::consts::LN_2 + 1e-9;
        let (first, last) = (self.first().0, self.logs.last().map_or(0.0, |(bytes, _)| *bytes));
        // Of small sizes the latency, one more octave: they say the same.
        let small = self.logs.iter().filter(|(bytes, _)| bytes - first <= 1.5 * within);
        let large = self.logs.iter().filter(|(bytes, _)| last - bytes <= within);
        Ends {
            latency: median(small.map(|(_, ns)| *ns).collect()),
            per_byte: median(large.map(|(bytes, ns)| ns - bytes).collect()),
        }
    }

    /// The points a size lies between, or is, or comes after.
    pub(super) fn around(&self, bytes: u64) -> (Option<Knot>, Option<Knot>) {
        let from = self.bytes.partition_point(|have| *have < bytes);
        match self.at(from) {
            Some(exact) if exact.bytes == bytes => (Some(exact), Some(exact)),
            above => (from.checked_sub(1).and_then(|at| self.at(at)), above),
        }
    }

    fn at(&self, place: usize) -> Option<Knot> {
        let (bytes, log_ns) = (*self.bytes.get(place)?, self.logs.get(place)?.1);
        let borrowed = self.borrowed.binary_search(&(place as u32)).is_ok();
        Some(Knot { bytes, log_ns, borrowed })
    }
}

/// The log time on the chord between two points, by the logarithms of size and time.
pub(super) fn chord(low: (f64, f64), high: (f64, f64), log_bytes: f64) -> f64 {
    powered_chord(low, high, log_bytes, CHORD)
}

fn powered_chord(low: (f64, f64), high: (f64, f64), log_bytes: f64, power: f64) -> f64 {
    let grown = |by: f64| libm::expm1(power * by);
    let weight = grown(log_bytes - low.0) / grown(high.0 - low.0);
    low.1 + libm::log1p(weight * grown(high.1 - low.1)) / power
}

impl Tail {
    /// Least squares of the relative error of `t^p`, later points counting more.
    fn of(logs: &[(f64, f64)], power: f64) -> Tail {
        let Some(&(last_bytes, last_ns)) = logs.last() else { return Tail::default() };
        let mut sums = [0.0; 5];
        for (bytes, ns) in logs {
            // By its size: a point counts half as much for every octave it lies before the last.
            let weight = exp(bytes - last_bytes);
            let one = exp(power * (last_ns - ns));
            let size = one * exp(power * (bytes - last_bytes));
            let terms = [one * one, one * size, size * size, one, size];
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum += weight * term;
            }
        }
        let [ones, mixed, sizes, one, size] = sums;
        let determinant = ones * sizes - mixed * mixed;
        let (stays, grows) = if logs.len() > 1 && determinant > 1e-9 * ones * sizes {
            let solved = [one * sizes - size * mixed, size * ones - one * mixed];
            (solved[0] / determinant, solved[1] / determinant)
        } else {
            (0.0, 1.0)
        };
        // A time that falls towards the end says nothing about beyond it: bandwidth holds.
        if grows <= 0.0 || stays < 0.0 {
            return Tail { power, stays: 0.0, grows: 1.0 };
        }
        Tail { power, stays: stays / (stays + grows), grows: grows / (stays + grows) }
    }

    /// What the log time grows by, so far beyond the last point.
    fn log_growth(&self, beyond: f64) -> f64 {
        ln(self.stays + self.grows * exp(self.power * beyond)) / self.power
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knots(points: &[(u64, f64)], links: Links) -> Knots {
        let knot = |(bytes, us): &(u64, f64)| Knot {
            bytes: *bytes,
            log_ns: ln(us * 1000.0),
            borrowed: false,
        };
        Knots::of(&points.iter().map(knot).collect::<Vec<_>>(), links, 1)
    }

    fn us(knots: &Knots, bytes: f64) -> f64 {
        exp(knots.log_ns(ln(bytes)).unwrap()) / 1000.0
    }

    #[test]
    fn a_curve_runs_through_its_points_and_stays_between_them() {
        let curve = knots(&[(1024, 10.0), (4096, 10.5), (16384, 30.0)], Links::Nvswitch);
        assert!((us(&curve, 4096.0) - 10.5).abs() < 1e-9);
        let between = us(&curve, 8192.0);
        // Between the straight line (17 us) and the one in logarithms (17.7 us) or near it.
        assert!((15.5..18.0).contains(&between), "{between}");
        assert!(curve.log_ns(ln(512.0)).is_none());
    }

    #[test]
    fn over_pcie_a_curve_is_straight_between_its_points() {
        let curve = |links| knots(&[(1 << 20, 100.0), (1 << 22, 340.0)], links);
        let middle = 1.5 * f64::from(1 << 20);
        assert!((us(&curve(Links::Pcie), middle) - 140.0).abs() < 1e-6);
        assert!(us(&curve(Links::Nvswitch), middle) > 140.3);
    }

    #[test]
    fn beyond_the_largest_size_bandwidth_saturates() {
        // sqrt-like knee of 10 us and 100 B/ns: the truth the tail has to go on with.
        let truth = |bytes: f64| (10_f64.powf(0.65) + (bytes / 1e5).powf(0.65)).powf(1.0 / 0.65);
        let points: Vec<(u64, f64)> =
            (10..=22).map(|log| (1_u64 << log, truth((1_u64 << log) as f64))).collect();
        let curve = knots(&points, Links::Nvswitch);
        for factor in [2.0, 16.0] {
            let bytes = f64::from(1 << 22) * factor;
            assert!((us(&curve, bytes) / truth(bytes) - 1.0).abs() < 1e-6, "{factor}");
        }
        // What falls at the end goes on at the bandwidth it has there.
        let falling = knots(&[(1 << 20, 100.0), (1 << 21, 80.0)], Links::Pcie);
        assert!((us(&falling, f64::from(1 << 23)) - 320.0).abs() < 1e-6);
    }

    #[test]
    fn ends_are_told_by_the_points_near_them() {
        let curve = knots(&[(8, 9.0), (32, 10.0), (1 << 20, 50.0), (1 << 30, 4000.0)], Links::Pcie);
        let ends = curve.ends();
        assert!((exp(ends.latency) / 1000.0 - 9.5).abs() < 0.1);
        assert!((exp(-ends.per_byte) - f64::from(1 << 30) / 4e6).abs() < 1e-6);
    }
}
