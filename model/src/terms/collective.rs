//! Collectives: per rank count the minimum of two smooth knees.
//!
//! `t = min_k (a_k^p + (bytes / rate_k)^p)^(1/p)`: a protocol for small messages and one for
//! large ones. With p = 1/2 a knee is the pipelining optimum `(sqrt(a) + sqrt(b S))²`; measured
//! curves of one node have p between 0.55 and 0.7. Over 700 posted and measured curves this form
//! left half the error of latency plus bandwidth and extrapolated best of all forms tried.
//! Between rank counts the logarithm of the time is interpolated in the logarithm of the ranks.

use kernelgauge_data::{CollectivePoint, Point};
use serde::{Deserialize, Serialize};

use super::{Features, Part, possible};
use crate::least_squares::{Bounded, minimise};
use crate::math::{exp, ln, round9};
use crate::rows::Row;

/// One curve per measured (nodes, ranks), in ascending order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CollectiveTerm {
    curves: Vec<Curve>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Curve {
    nodes: u64,
    ranks: u64,
    knees: [Knee; 2],
    #[serde(skip)]
    prepared: [LogKnee; 2],
}

/// One protocol.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Knee {
    latency_ns: f64,
    bytes_per_ns: f64,
    sharpness: f64,
}

impl Knee {
    fn of(logs: &LogKnee) -> Self {
        Knee {
            latency_ns: round9(exp(logs.latency)),
            bytes_per_ns: round9(exp(logs.rate)),
            sharpness: round9(exp(logs.sharpness)),
        }
    }

    fn logs(&self) -> LogKnee {
        LogKnee {
            latency: ln(self.latency_ns),
            rate: ln(self.bytes_per_ns),
            sharpness: ln(self.sharpness),
        }
    }
}

/// A protocol by the logarithms of its constants, which is how it is evaluated.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct LogKnee {
    latency: f64,
    rate: f64,
    sharpness: f64,
}

impl LogKnee {
    fn of(parameters: &[f64]) -> Self {
        LogKnee { latency: parameters[0], rate: parameters[1], sharpness: parameters[2] }
    }

    /// `ln((latency^p + transfer^p)^(1/p))`, the larger taken out so that nothing overflows.
    fn log_ns(&self, log_bytes: f64) -> f64 {
        let transfer = log_bytes - self.rate;
        let p = exp(self.sharpness);
        let apart = (self.latency - transfer).abs();
        self.latency.max(transfer) + libm::log1p(exp(-p * apart)) / p
    }
}

impl Curve {
    fn log_ns(&self, log_bytes: f64) -> f64 {
        let [first, second] = &self.prepared;
        first.log_ns(log_bytes).min(second.log_ns(log_bytes))
    }

    fn faster(&self, log_bytes: f64) -> &Knee {
        let [first, second] = &self.prepared;
        &self.knees[usize::from(second.log_ns(log_bytes) < first.log_ns(log_bytes))]
    }
}

impl CollectiveTerm {
    /// The curves at or around (nodes, ranks), and the weight of the upper one.
    fn around(&self, nodes: u64, ranks: u64) -> (&Curve, &Curve, f64) {
        let nearest_nodes = self.curves.iter().map(|curve| curve.nodes);
        let nodes = nearest_nodes.min_by_key(|have| have.abs_diff(nodes)).unwrap_or(nodes);
        let of_nodes = || self.curves.iter().filter(|curve| curve.nodes == nodes);
        let below = of_nodes().rev().find(|curve| curve.ranks <= ranks);
        let above = of_nodes().find(|curve| curve.ranks >= ranks);
        match (below, above) {
            (Some(below), Some(above)) if below.ranks < above.ranks => {
                let [low, here, high] = [below.ranks, ranks, above.ranks].map(|v| ln(v as f64));
                (below, above, (here - low) / (high - low))
            }
            (Some(only), _) | (None, Some(only)) => (only, only, 0.0),
            (None, None) => (&self.curves[0], &self.curves[0], 0.0),
        }
    }

    fn log_ns_of(&self, point: &CollectivePoint) -> f64 {
        let log_bytes = ln(point.bytes as f64);
        let (below, above, weight) = self.around(point.nodes, point.ranks);
        if weight == 0.0 {
            return below.log_ns(log_bytes);
        }
        (1.0 - weight) * below.log_ns(log_bytes) + weight * above.log_ns(log_bytes)
    }

    /// Fills the derived constants.
    pub(super) fn prepare(&mut self) {
        for curve in &mut self.curves {
            curve.prepared = curve.knees.map(|knee| knee.logs());
        }
    }

    pub(super) fn log_ns(&self, point: &Point, features: &mut Features) -> f64 {
        let Point::Collective(point) = point else { return 0.0 };
        for value in [point.ranks, point.nodes, point.bytes] {
            features.push(value as f64);
        }
        self.log_ns_of(point)
    }

    pub(super) fn parts(&self, point: &Point) -> Vec<Part> {
        let Point::Collective(point) = point else { return Vec::new() };
        let (below, above, weight) = self.around(point.nodes, point.ranks);
        let (curve, other) = if weight < 0.5 { (below, above) } else { (above, below) };
        let bytes = point.bytes as f64;
        let knee = curve.faster(ln(bytes));
        let transfer_ns = bytes / knee.bytes_per_ns;
        let of_curve = exp(curve.log_ns(ln(bytes)));
        let fill = of_curve - knee.latency_ns - transfer_ns;
        let mut parts = vec![
            Part::new("latency", knee.latency_ns).with(format!("curve of {} ranks", curve.ranks)),
            Part::new("transfer", transfer_ns).with(format!("at {:.1} GB/s", knee.bytes_per_ns)),
            Part::new(if fill < 0.0 { "overlapped" } else { "pipeline fill" }, fill),
        ];
        if weight != 0.0 {
            let shift = exp(self.log_ns_of(point)) - of_curve;
            let detail = format!("towards the curve of {} ranks", other.ranks);
            parts.push(Part::new("between rank counts", shift).with(detail));
        }
        parts
    }

    pub(super) fn floor_ns(&self) -> f64 {
        let latencies = self.curves.iter().flat_map(|curve| &curve.knees);
        latencies.map(|knee| knee.latency_ns).fold(f64::INFINITY, f64::min)
    }

    pub(super) fn is_sound(&self) -> bool {
        let sound = |knee: &Knee| {
            possible(&[knee.latency_ns, knee.bytes_per_ns])
                && knee.latency_ns > 0.0
                && knee.bytes_per_ns > 0.0
                && (0.1..=10.0).contains(&knee.sharpness)
        };
        let order = |curve: &Curve| (curve.nodes, curve.ranks);
        !self.curves.is_empty()
            && self.curves.iter().all(|curve| curve.knees.iter().all(sound))
            && self.curves.windows(2).all(|pair| order(&pair[0]) < order(&pair[1]))
    }
}

/// Fits one curve per (nodes, ranks).
pub(super) fn fit(rows: &[Row<'_>]) -> CollectiveTerm {
    // Rows are in order of (ranks, nodes, bytes).
    let mut curves: Vec<Curve> = rows
        .chunk_by(|a, b| a.parameters[..2] == b.parameters[..2])
        .map(|rows| {
            let points: Vec<(f64, f64)> =
                rows.iter().map(|row| (ln(row.parameters[2] as f64), row.log_ns)).collect();
            let [ranks, nodes] = [rows[0].parameters[0], rows[0].parameters[1]];
            let knees = fit_curve(&points);
            Curve { nodes, ranks, prepared: knees.map(|knee| knee.logs()), knees }
        })
        .collect();
    curves.sort_by_key(|curve| (curve.nodes, curve.ranks));
    CollectiveTerm { curves }
}

/// Two knees through (log bytes, log time), or one twice where points are few.
fn fit_curve(points: &[(f64, f64)]) -> [Knee; 2] {
    let fastest = points.iter().map(|(_, log_ns)| *log_ns).fold(f64::INFINITY, f64::min);
    let rate = points.iter().map(|(bytes, log_ns)| bytes - log_ns).fold(f64::MIN, f64::max);
    let around = |at: f64, low: f64, start: f64, high: f64| {
        let [low, start, high] = [low, start, high].map(|factor| at + ln(factor));
        Bounded { low, start, high }
    };
    let latency = |start: f64| around(fastest, 0.125, start, 32.0);
    let bandwidth = |start: f64| around(rate, 1e-3, start, 2.0);
    let sharpness = match points.len() {
        // Hockney's line needs two points, a knee three.
        0..4 => Bounded::fixed(0.0),
        _ => Bounded::log(0.3, 0.65, 3.0),
    };
    let residuals = |knees: &[LogKnee]| -> Vec<f64> {
        let best =
            |bytes| knees.iter().map(|knee| knee.log_ns(bytes)).fold(f64::INFINITY, f64::min);
        points.iter().map(|(bytes, log_ns)| best(*bytes) - log_ns).collect()
    };
    let one = [latency(0.9), bandwidth(1.05), sharpness];
    let single = minimise(&one, &[], 30, |p| residuals(&[LogKnee::of(p)]));
    let knee = Knee::of(&LogKnee::of(&single.parameters));
    if points.len() < 9 {
        return [knee, knee];
    }
    // A protocol for small messages and one for large ones, crossing early, late or between.
    let pair = |small_rate: f64, large_latency: f64| {
        let large = [latency(large_latency), bandwidth(1.05), sharpness];
        [latency(0.9), bandwidth(small_rate), sharpness, large[0], large[1], large[2]]
    };
    let starts = [pair(0.02, 2.0), pair(0.3, 1.5)]
        .map(|bounds| bounds.iter().map(|bound| bound.start).collect::<Vec<f64>>());
    let double = minimise(&pair(0.1, 3.0), &starts, 30, |p| {
        residuals(&[LogKnee::of(&p[..3]), LogKnee::of(&p[3..])])
    });
    if double.loss < single.loss {
        let parameters = &double.parameters;
        [&parameters[..3], &parameters[3..]].map(|knee| Knee::of(&LogKnee::of(knee)))
    } else {
        [knee, knee]
    }
}
