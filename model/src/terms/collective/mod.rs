//! Collectives: per rank count a curve through measured points, and a closed form beside it.
//!
//! The closed form is the minimum of two smooth knees (`knee`): what the analytical term alone
//! says, and the course below the smallest size. The curve runs through the measured points and
//! those that other dtypes and machines stand in for (`knots`, `borrowed`, `guide`, `prior`), saturates beyond the largest, and
//! is shifted to rank counts that were not measured (`ranks`). Which of the two an answer takes
//! is left to `variant`.

mod borrowed;
mod guide;
mod knee;
mod knots;
mod prior;
mod ranks;
mod samples;

use kernelgauge_data::{Bytes, CollectivePoint, Links, Machine, Point};
use serde::{Deserialize, Serialize};

use self::knee::{Knee, LogKnee};
use self::knots::{Ends, Knot, Knots};
use super::{Features, Part};
use crate::math::{exp, ln, log2};
use crate::rows::Row;

/// The gap, in octaves, that stands for a size where another dtype was measured: less than any
/// between two sizes.
const BESIDE: f64 = 0.1;

/// One curve per measured (nodes, ranks), in ascending order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CollectiveTerm {
    links: Links,
    curves: Vec<Curve>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Curve {
    nodes: u64,
    ranks: u64,
    knees: [Knee; 2],
    knots: Knots,
    #[serde(skip)]
    prepared: [LogKnee; 2],
}

/// What the points of curves say about a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Empirical {
    /// The log time.
    pub log_ns: f64,
    /// Octaves between the points around it, where it lies between points of one curve.
    pub gap: Option<f64>,
}

impl Curve {
    /// The closed form.
    fn closed(&self, log_bytes: f64) -> f64 {
        let [first, second] = &self.prepared;
        first.log_ns(log_bytes).min(second.log_ns(log_bytes))
    }

    /// The course of the points; below the smallest that of the closed form.
    fn course(&self, log_bytes: f64) -> f64 {
        self.knots.log_ns(log_bytes).unwrap_or_else(|| {
            let (bytes, log_ns) = self.knots.first();
            log_ns + self.closed(log_bytes) - self.closed(bytes)
        })
    }

    fn faster(&self, log_bytes: f64) -> &Knee {
        let [first, second] = &self.prepared;
        &self.knees[usize::from(second.log_ns(log_bytes) < first.log_ns(log_bytes))]
    }

    fn known(&self) -> ranks::Known {
        ranks::Known { ranks: self.ranks, ends: self.knots.ends() }
    }
}

/// The curves that speak for a question.
enum Reach<'term> {
    /// Its ranks were measured.
    On(&'term Curve),
    /// They lie between two curves', the upper one of this weight.
    Between(&'term Curve, &'term Curve, f64, Ends),
    /// They lie beyond all.
    Beyond(&'term Curve, Ends),
}

impl CollectiveTerm {
    fn reach(&self, point: &CollectivePoint) -> Reach<'_> {
        let nearest_nodes = self.curves.iter().map(|curve| curve.nodes);
        let nodes = nearest_nodes.min_by_key(|have| have.abs_diff(point.nodes)).unwrap_or(1);
        let of_nodes = || self.curves.iter().filter(|curve| curve.nodes == nodes);
        let mut below = of_nodes().rev().filter(|curve| curve.ranks <= point.ranks);
        let mut above = of_nodes().filter(|curve| curve.ranks >= point.ranks);
        let (collective, ranks) = (point.collective, point.ranks);
        match (below.next(), above.next()) {
            (Some(low), Some(high)) if low.ranks < high.ranks => {
                let ends = ranks::between(collective, low.known(), high.known(), ranks);
                Reach::Between(low, high, ranks::log_share(low.ranks, high.ranks, ranks), ends)
            }
            (Some(on), Some(_)) => Reach::On(on),
            (Some(near), None) => {
                let next = below.next().map(Curve::known);
                Reach::Beyond(near, ranks::beyond(collective, near.known(), next, ranks))
            }
            (None, Some(near)) => {
                let next = above.next().map(Curve::known);
                Reach::Beyond(near, ranks::beyond(collective, near.known(), next, ranks))
            }
            (None, None) => Reach::On(&self.curves[0]),
        }
    }

    /// The log time of whatever `curve` reads off one curve.
    fn read(reach: &Reach<'_>, log_bytes: f64, curve: fn(&Curve, f64) -> f64) -> f64 {
        let shifted = |of: &Curve, ends: &Ends| {
            ranks::shifted(of.knots.ends(), *ends, log_bytes, |x| curve(of, x))
        };
        match reach {
            Reach::On(on) => curve(on, log_bytes),
            Reach::Between(low, high, weight, ends) => {
                (1.0 - weight) * shifted(low, ends) + weight * shifted(high, ends)
            }
            Reach::Beyond(near, ends) => shifted(near, ends),
        }
    }

    fn log_ns_of(&self, point: &CollectivePoint) -> f64 {
        CollectiveTerm::read(&self.reach(point), ln(point.bytes as f64), Curve::closed)
    }

    /// What the points of the curves say.
    pub(crate) fn empirical(&self, point: &CollectivePoint) -> Empirical {
        let reach = self.reach(point);
        let gap = match reach {
            Reach::On(curve) => match curve.knots.around(point.bytes) {
                (Some(low), Some(high)) if low.bytes == high.bytes => Some(BESIDE),
                (Some(low), Some(high)) => Some(log2(high.bytes as f64 / low.bytes as f64)),
                _ => None,
            },
            _ => None,
        };
        let log_ns = CollectiveTerm::read(&reach, ln(point.bytes as f64), Curve::course);
        Empirical { log_ns, gap }
    }

    /// Which points the curve stands on at a question, in words.
    pub(crate) fn account(&self, point: &CollectivePoint) -> String {
        let size = |knot: Knot| {
            let of = if knot.borrowed { " (borrowed)" } else { "" };
            format!("{}{of}", Bytes::new(knot.bytes))
        };
        match self.reach(point) {
            Reach::On(curve) => match curve.knots.around(point.bytes) {
                (Some(at), Some(other)) if at.bytes == other.bytes => {
                    format!("point of {}", size(at))
                }
                (Some(low), Some(high)) => format!("points of {} and {}", size(low), size(high)),
                (Some(last), None) => format!("saturating beyond {}", size(last)),
                (None, Some(first)) => format!("latency below {}", size(first)),
                (None, None) => String::new(),
            },
            Reach::Between(low, high, ..) => {
                format!("curves of {} and {} ranks, their knees shifted", low.ranks, high.ranks)
            }
            Reach::Beyond(near, _) => {
                format!("curve of {} ranks at the same bus bandwidth", near.ranks)
            }
        }
    }

    /// Fills the derived constants.
    pub(super) fn prepare(&mut self) {
        for curve in &mut self.curves {
            curve.prepared = curve.knees.map(|knee| knee.logs());
            curve.knots.prepare(self.links, curve.nodes);
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
        let (curve, towards) = match self.reach(point) {
            Reach::On(curve) => (curve, None),
            Reach::Between(low, high, weight, _) if weight < 0.5 => (low, Some(high)),
            Reach::Between(low, high, ..) => (high, Some(low)),
            Reach::Beyond(near, _) => (near, None),
        };
        let bytes = point.bytes as f64;
        let knee = curve.faster(ln(bytes));
        let transfer_ns = bytes / knee.bytes_per_ns;
        let of_curve = exp(curve.closed(ln(bytes)));
        let fill = of_curve - knee.latency_ns - transfer_ns;
        let mut parts = vec![
            Part::new("latency", knee.latency_ns).with(format!("curve of {} ranks", curve.ranks)),
            Part::new("transfer", transfer_ns).with(format!("at {:.1} GB/s", knee.bytes_per_ns)),
            Part::new(if fill < 0.0 { "overlapped" } else { "pipeline fill" }, fill),
        ];
        let shift = exp(self.log_ns_of(point)) - of_curve;
        if shift != 0.0 {
            let (name, detail) = match towards {
                Some(other) => {
                    ("between rank counts", format!("towards the curve of {} ranks", other.ranks))
                }
                None => ("other ranks", format!("from {} to {}", curve.ranks, point.ranks)),
            };
            parts.push(Part::new(name, shift).with(detail));
        }
        parts
    }

    pub(super) fn floor_ns(&self) -> f64 {
        let latencies = self.curves.iter().flat_map(|curve| &curve.knees);
        latencies.map(|knee| knee.latency_ns).fold(f64::INFINITY, f64::min)
    }

    pub(super) fn is_sound(&self) -> bool {
        let order = |curve: &Curve| (curve.nodes, curve.ranks);
        !self.curves.is_empty()
            && self.curves.iter().all(|curve| {
                curve.ranks > 1 && curve.knees.iter().all(Knee::is_sound) && curve.knots.is_sound()
            })
            && self.curves.windows(2).all(|pair| order(&pair[0]) < order(&pair[1]))
    }
}

/// Where every curve of `rows` has few points: what the collectives of `machines`, a slice each,
/// exceed by what the others would have said of them from as few. Empty where a curve has more.
pub(crate) fn tried(rows: &[Row<'_>], machines: &[&[Row<'_>]]) -> Vec<f64> {
    let Some(Point::Collective(first)) = rows.first().map(|row| row.point) else {
        return Vec::new();
    };
    let own: Vec<(prior::Kind, usize)> = samples::by_place(rows)
        .into_iter()
        .map(|((place, _), samples)| (prior::Kind::of(first, place), samples.len()))
        .collect();
    if own.iter().any(|(_, points)| *points > prior::FEW) {
        return Vec::new();
    }
    prior::tried(&own, &prior::lent(machines))
}

/// Fits one curve per (nodes, ranks). `kin` are rows of the same collective in other dtypes;
/// `sources` rows of collectives on other machines, a slice each, which guide the curves between
/// the points where they prove to, or where there are few points.
pub(super) fn fit(
    rows: &[Row<'_>],
    kin: &[Row<'_>],
    sources: &[&[Row<'_>]],
    machine: &Machine,
) -> CollectiveTerm {
    let links = match rows.first().map(|row| row.point) {
        Some(Point::Collective(point)) if point.links != Links::Unstated => point.links,
        _ => machine.links,
    };
    let curve = |((nodes, ranks), points): ((u64, u64), Vec<Knot>)| {
        let logs: Vec<(f64, f64)> =
            points.iter().map(|knot| (ln(knot.bytes as f64), knot.log_ns)).collect();
        let knees = knee::fit(&logs);
        let knots = Knots::of(&points, links, nodes);
        Curve { nodes, ranks, prepared: knees.map(|knee| knee.logs()), knees, knots }
    };
    let curves = borrowed::curves(rows, kin, sources);
    CollectiveTerm { links, curves: curves.into_iter().map(curve).collect() }
}
