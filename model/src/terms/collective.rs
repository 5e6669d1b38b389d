//! Collectives: per rank count the minimum of two smooth knees.
//!
//! `t = min_k (a_k^p + (bytes / rate_k)^p)^(1/p)`: a protocol for small messages and one for
//! large ones. With p = 1/2 a knee is the pipelining optimum `(sqrt(a) + sqrt(b S))²`; measured
//! curves of one node have p between 0.55 and 0.7. Over 700 posted and measured curves this form
//! left half the error of latency plus bandwidth and extrapolated best of all forms tried.
//! Between rank counts the logarithm of the time is interpolated in the logarithm of the ranks.

use kernelgauge_data::{CollectivePoint, Point};
use serde::{Deserialize, Serialize};

use super::{ExplainedTerm, Features, possible};
use crate::least_squares::{Bounded, minimise};
use crate::math::{exp, ln, pow, round9};
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
    fn of(parameters: &[f64]) -> Self {
        Knee {
            latency_ns: round9(exp(parameters[0])),
            bytes_per_ns: round9(exp(parameters[1])),
            sharpness: round9(exp(parameters[2])),
        }
    }

    fn log_ns(&self, bytes: f64) -> f64 {
        let latency = pow(self.latency_ns, self.sharpness);
        let transfer = pow(bytes / self.bytes_per_ns, self.sharpness);
        ln(latency + transfer) / self.sharpness
    }
}

impl Curve {
    fn log_ns(&self, bytes: f64) -> f64 {
        self.knees[0].log_ns(bytes).min(self.knees[1].log_ns(bytes))
    }

    fn faster(&self, bytes: f64) -> &Knee {
        let [first, second] = &self.knees;
        if first.log_ns(bytes) <= second.log_ns(bytes) { first } else { second }
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
        let bytes = point.bytes as f64;
        let (below, above, weight) = self.around(point.nodes, point.ranks);
        if weight == 0.0 {
            return below.log_ns(bytes);
        }
        (1.0 - weight) * below.log_ns(bytes) + weight * above.log_ns(bytes)
    }

    pub(super) fn log_ns(&self, point: &Point, features: &mut Features) -> f64 {
        let Point::Collective(point) = point else { return 0.0 };
        for value in [point.ranks, point.nodes, point.bytes] {
            features.push(value as f64);
        }
        self.log_ns_of(point)
    }

    pub(super) fn parts(&self, point: &Point) -> Vec<ExplainedTerm> {
        let Point::Collective(point) = point else { return Vec::new() };
        let (below, above, weight) = self.around(point.nodes, point.ranks);
        let curve = if weight < 0.5 { below } else { above };
        let bytes = point.bytes as f64;
        let knee = curve.faster(bytes);
        vec![
            ExplainedTerm::new("latency", knee.latency_ns)
                .with(format!("curve of {} ranks", curve.ranks)),
            ExplainedTerm::new("transfer", bytes / knee.bytes_per_ns)
                .with(format!("at {:.1} GB/s", knee.bytes_per_ns)),
        ]
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
                rows.iter().map(|row| (row.parameters[2] as f64, row.log_ns)).collect();
            let [ranks, nodes] = [rows[0].parameters[0], rows[0].parameters[1]];
            Curve { nodes, ranks, knees: fit_curve(&points) }
        })
        .collect();
    curves.sort_by_key(|curve| (curve.nodes, curve.ranks));
    CollectiveTerm { curves }
}

/// Two knees through (bytes, log time), or one twice where points are few.
fn fit_curve(points: &[(f64, f64)]) -> [Knee; 2] {
    let fastest = exp(points.iter().map(|(_, log_ns)| *log_ns).fold(f64::INFINITY, f64::min));
    let rate = points.iter().map(|(bytes, log_ns)| bytes / exp(*log_ns)).fold(1e-9, f64::max);
    let latency = |start: f64| Bounded::log(fastest / 8.0, fastest * start, fastest * 32.0);
    let bandwidth = |start: f64| Bounded::log(rate / 1e3, rate * start, rate * 2.0);
    let sharpness = match points.len() {
        // Hockney's line needs two points, a knee three.
        0..4 => Bounded::fixed(0.0),
        _ => Bounded::log(0.3, 0.65, 3.0),
    };
    let residuals = |knees: &[Knee]| -> Vec<f64> {
        let best =
            |bytes| knees.iter().map(|knee| knee.log_ns(bytes)).fold(f64::INFINITY, f64::min);
        points.iter().map(|(bytes, log_ns)| best(*bytes) - log_ns).collect()
    };
    let one = [latency(0.9), bandwidth(1.05), sharpness];
    let single = minimise(&one, &[], 60, |p| residuals(&[Knee::of(p)]));
    let knee = Knee::of(&single.parameters);
    if points.len() < 9 {
        return [knee, knee];
    }
    let two = [latency(0.9), bandwidth(0.1), sharpness, latency(3.0), bandwidth(1.05), sharpness];
    let start = |small_rate: f64, large_latency: f64| {
        let bounds = [latency(0.9), bandwidth(small_rate), sharpness];
        let large = [latency(large_latency), bandwidth(1.05), sharpness];
        bounds.iter().chain(&large).map(|bound| bound.start).collect::<Vec<f64>>()
    };
    let starts = [start(0.02, 2.0), start(0.3, 1.5), start(0.05, 8.0), start(0.5, 4.0)];
    let double =
        minimise(&two, &starts, 60, |p| residuals(&[Knee::of(&p[..3]), Knee::of(&p[3..])]));
    if double.loss < single.loss {
        [Knee::of(&double.parameters[..3]), Knee::of(&double.parameters[3..])]
    } else {
        [knee, knee]
    }
}
