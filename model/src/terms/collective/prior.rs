//! What many curves of other machines say between the few points of one.
//!
//! Two to five points leave gaps of ten octaves, in which a chord knows nothing of where protocols
//! switch. Every curve that another machine was measured at is laid through the points: as it is,
//! since libraries switch at absolute sizes, and moved along the sizes until its knee lies where
//! ours does, since faster links bend later. What is left of the ratio at the points is
//! interpolated. The weighted median of all of them and of the chord is the answer; a curve
//! counts by how like it is (collective, ranks, nodes, links) and by how little it had to be bent to
//! run through the points. Which points there are, and what is made of the sizes filled in, is left
//! to `borrowed`.
//!
//! The constants below are the ones with the least error (median and 90th percentile) of three
//! known points a curve over the packaged tables and half of the posted ones (by a hash of where
//! they were posted), each machine without itself. The other half of the posted tables had no say.

use std::collections::BTreeMap;

use kernelgauge_data::{Collective, CollectivePoint, Links, Point};

use super::samples::{Place, Sample, Samples, by_place, on_chord};
use crate::math::{exp, ln, log2, median};
use crate::rows::Row;

/// A curve of more points knows its own course.
pub(super) const FEW: usize = 5;

/// Weights of the chord, of curves moved along the sizes, and of what is unlike.
const CHORD: f64 = 0.3;
const MOVED: f64 = 0.2;
const OTHER_COLLECTIVE: f64 = 0.15;
const OTHER_KIND: f64 = 0.34;
const OTHER_LINKS: f64 = 0.21;
const OTHER_NODES: f64 = 0.86;

/// Octaves of ranks over which a weight falls to 1/e.
const RANKS: f64 = 0.69;

/// Standard deviations: of log time that inner points are missed by, of how the ratio differs at
/// the ends, and of the octaves that a curve is moved.
const MISSED: f64 = 0.07;
const TILTED: f64 = 0.16;
const SHIFTED: f64 = 5.4;

/// Octaves that a curve is moved at most.
const FARTHEST: f64 = 5.0;

/// Octaves that a curve may lack at the small end, where it is flat, and at the large one.
const LACKING: (f64, f64) = (4.0, 2.0);

/// Weights below this are none.
const NONE: f64 = 1e-5;

const OCTAVE: f64 = std::f64::consts::LN_2;

/// What a curve is of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    collective: Collective,
    links: Links,
    place: Place,
}

impl Kind {
    pub(super) fn of(point: &CollectivePoint, place: Place) -> Self {
        Kind { collective: point.collective, links: point.links, place }
    }

    /// What a curve of the `other` kind counts, before it is laid through any points.
    fn likeness(&self, other: &Kind) -> f64 {
        let unlike = |is: bool, weight: f64| if is { weight } else { 1.0 };
        let ((nodes, ranks), (other_nodes, other_ranks)) = (self.place, other.place);
        let apart = log2(ranks as f64 / other_ranks as f64).abs();
        unlike(self.collective != other.collective, OTHER_COLLECTIVE)
            * unlike(self.collective.reduces() != other.collective.reduces(), OTHER_KIND)
            * unlike(self.links != other.links, OTHER_LINKS)
            * unlike(nodes != other_nodes, OTHER_NODES)
            * exp(-apart / RANKS)
    }
}

/// A curve of another machine.
pub(super) struct Lent {
    kind: Kind,
    samples: Samples,
    /// Log bytes at which latency and bandwidth cost alike.
    knee: f64,
}

/// The curves of `machines`, each the rows of all its collectives.
pub(super) fn lent(machines: &[&[Row<'_>]]) -> Vec<Lent> {
    let mut all = Vec::new();
    for rows in machines {
        let mut collectives: BTreeMap<(Collective, u64), (CollectivePoint, Vec<Row<'_>>)> =
            BTreeMap::new();
        for row in *rows {
            let Point::Collective(point) = row.point else { continue };
            let key = (point.collective, point.imbalance);
            collectives.entry(key).or_insert((*point, Vec::new())).1.push(row.clone());
        }
        for (point, rows) in collectives.into_values() {
            let curves = by_place(&rows).into_iter().filter(|(_, samples)| samples.len() > FEW);
            all.extend(curves.map(|((place, _), samples)| Lent {
                kind: Kind::of(&point, place),
                knee: knee(&samples),
                samples,
            }));
        }
    }
    all
}

/// Log bytes at which the latency of the smallest sizes and the time per byte of the largest cost
/// alike.
fn knee(samples: &[Sample]) -> f64 {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return 0.0 };
    let small = samples.iter().filter(|s| s.log_bytes <= first.log_bytes + 3.0 * OCTAVE);
    let large = samples.iter().filter(|s| s.log_bytes >= last.log_bytes - 2.0 * OCTAVE);
    median(small.map(|s| s.log_ns).collect()) - median(large.map(|s| s.log_ns - s.log_bytes).collect())
}

impl Lent {
    /// The log time at a size; flat below what was measured, at the last bandwidth above.
    fn course(&self, log_bytes: f64) -> f64 {
        let (Some(first), Some(last)) = (self.samples.first(), self.samples.last()) else {
            return 0.0;
        };
        on_chord(&self.samples, log_bytes).unwrap_or(if log_bytes < first.log_bytes {
            first.log_ns
        } else {
            last.log_ns + log_bytes - last.log_bytes
        })
    }

    fn spans(&self, from: f64, to: f64) -> bool {
        let (Some(first), Some(last)) = (self.samples.first(), self.samples.last()) else {
            return false;
        };
        first.log_bytes <= from + LACKING.0 * OCTAVE && last.log_bytes >= to - LACKING.1 * OCTAVE
    }
}

/// A lender's curve laid through the points of one of ours.
struct Laid<'lent> {
    lent: &'lent Lent,
    moved: f64,
    /// Log ratio of our points to it, by log bytes.
    ratios: Vec<(f64, f64)>,
    weight: f64,
}

impl<'lent> Laid<'lent> {
    /// None where it says nothing about `own`.
    fn of(own: &[Sample], likeness: f64, lent: &'lent Lent, moved: f64) -> Option<Self> {
        let (first, last) = (own.first()?, own.last()?);
        if !lent.spans(first.log_bytes + moved, last.log_bytes + moved) {
            return None;
        }
        let ratio = |s: &Sample| (s.log_bytes, s.log_ns - lent.course(s.log_bytes + moved));
        let ratios: Vec<(f64, f64)> = own.iter().map(ratio).collect();
        let ends = [*ratios.first()?, *ratios.last()?];
        let inner = ratios.iter().skip(1).take(ratios.len() - 2);
        let missed = inner.map(|(at, ratio)| (ratio - straight(&ends, *at)) / MISSED);
        let squares = missed.map(|missed| missed * missed).sum::<f64>()
            + square((ends[1].1 - ends[0].1) / TILTED)
            + square(moved / OCTAVE / SHIFTED);
        let share = if moved == 0.0 { 1.0 } else { MOVED };
        let weight = share * likeness * exp(-0.5 * squares);
        (weight > NONE).then_some(Laid { lent, moved, ratios, weight })
    }

    fn log_ns(&self, log_bytes: f64) -> f64 {
        self.lent.course(log_bytes + self.moved) + straight(&self.ratios, log_bytes)
    }
}

fn square(value: f64) -> f64 {
    value * value
}

/// Straight lines between points, of which there are two at least; constant beyond them.
fn straight(points: &[(f64, f64)], at: f64) -> f64 {
    let after = points.partition_point(|(x, _)| *x <= at);
    match (after.checked_sub(1).and_then(|below| points.get(below)), points.get(after)) {
        (Some(below), Some(above)) => {
            below.1 + (at - below.0) / (above.0 - below.0) * (above.1 - below.1)
        }
        (Some(only), None) | (None, Some(only)) => only.1,
        (None, None) => 0.0,
    }
}

/// The log times of `own`, of two points at least, at `sizes` between its ends, by what `lent`
/// says. Curves of the machine itself are left out by the caller.
pub(super) fn foretold<'lent>(
    own: &[Sample],
    kind: &Kind,
    lent: impl Iterator<Item = &'lent Lent>,
    sizes: &[f64],
) -> Vec<f64> {
    let bend = knee(own);
    let mut laid: Vec<Laid<'_>> = Vec::new();
    for lent in lent {
        let likeness = kind.likeness(&lent.kind);
        if likeness <= NONE {
            continue;
        }
        laid.extend(Laid::of(own, likeness, lent, 0.0));
        let moved = lent.knee - bend;
        if moved != 0.0 && moved.abs() <= FARTHEST * OCTAVE {
            laid.extend(Laid::of(own, likeness, lent, moved));
        }
    }
    let at = |log_bytes: &f64| {
        let mut said: Vec<(f64, f64)> =
            laid.iter().map(|laid| (laid.log_ns(*log_bytes), laid.weight)).collect();
        said.extend(on_chord(own, *log_bytes).map(|chord| (chord, CHORD)));
        weighted_median(said)
    };
    sizes.iter().map(at).collect()
}

fn weighted_median(mut said: Vec<(f64, f64)>) -> f64 {
    said.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = said.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut passed = 0.0;
    for (log_ns, weight) in &said {
        passed += weight;
        if passed >= half {
            return *log_ns;
        }
    }
    said.last().map_or(0.0, |(log_ns, _)| *log_ns)
}

/// `own` with every power of two between its ends, by what `lent` says.
pub(super) fn completed(own: &[Sample], kind: &Kind, lent: &[Lent]) -> Samples {
    let (Some(first), Some(last)) = (own.first(), own.last()) else { return Samples::new() };
    let is_new = |bytes: &u64| own.binary_search_by_key(bytes, |own| own.bytes).is_err();
    let powers = (0..63).map(|log| 1_u64 << log);
    let bytes: Vec<u64> =
        powers.filter(|bytes| (first.bytes..last.bytes).contains(bytes)).filter(is_new).collect();
    let sizes: Vec<f64> = bytes.iter().map(|bytes| ln(*bytes as f64)).collect();
    let times = foretold(own, kind, lent.iter(), &sizes);
    let mut curve = own.to_vec();
    curve.extend(bytes.iter().zip(sizes).zip(times).map(|((bytes, log_bytes), log_ns)| Sample {
        bytes: *bytes,
        log_bytes,
        log_ns,
        trust: 1.0,
    }));
    curve.sort_by_key(|sample| sample.bytes);
    curve
}
