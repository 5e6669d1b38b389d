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

/// Curves of lenders that are tried for the interval.
const MOST_TRIED: usize = 60;

/// What those have to count at least, of the most like one: other collectives or other links, not
/// both.
const LIKE: f64 = 0.1;

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
    /// The place of its machine among the lenders.
    machine: usize,
    kind: Kind,
    samples: Samples,
    /// Log bytes at which latency and bandwidth cost alike.
    knee: f64,
}

/// The curves of `machines`, each the rows of all its collectives.
pub(super) fn lent(machines: &[&[Row<'_>]]) -> Vec<Lent> {
    let mut all = Vec::new();
    for (machine, rows) in machines.iter().enumerate() {
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
                machine,
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
    median(small.map(|s| s.log_ns).collect())
        - median(large.map(|s| s.log_ns - s.log_bytes).collect())
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

/// What lenders' times exceed by what the others would have said of them, had as many points of
/// their curves been known as of `own`, evenly spaced: of the curves like it, of every machine as
/// many, as those of one machine err together.
pub(super) fn tried(own: &[(Kind, usize)], lent: &[Lent]) -> Vec<f64> {
    let Some(points) = own.iter().map(|(_, points)| *points).max() else { return Vec::new() };
    let likeness =
        |lent: &Lent| own.iter().map(|(kind, _)| kind.likeness(&lent.kind)).fold(0.0, f64::max);
    let mut nearest: Vec<(f64, &Lent)> = lent.iter().map(|lent| (likeness(lent), lent)).collect();
    nearest.sort_by(|a, b| b.0.total_cmp(&a.0));
    let least = nearest.first().map_or(0.0, |(best, _)| best * LIKE);
    let mut turns: BTreeMap<usize, usize> = BTreeMap::new();
    let mut dealt: Vec<(usize, &Lent)> = nearest
        .into_iter()
        .filter(|(likeness, _)| *likeness >= least)
        .map(|(_, lent)| {
            let turn = turns.entry(lent.machine).or_default();
            *turn += 1;
            (*turn, lent)
        })
        .collect();
    dealt.sort_by_key(|(turn, _)| *turn);
    let mut residuals = Vec::new();
    for (_, asked) in dealt.into_iter().take(MOST_TRIED) {
        let kept = spaced(&asked.samples, points);
        let out: Vec<&Sample> = asked
            .samples
            .iter()
            .filter(|sample| kept.iter().all(|kept| kept.bytes != sample.bytes))
            .collect();
        let sizes: Vec<f64> = out.iter().map(|sample| sample.log_bytes).collect();
        let others = lent.iter().filter(|lent| lent.machine != asked.machine);
        let said = foretold(&kept, &asked.kind, others, &sizes);
        residuals.extend(out.iter().zip(said).map(|(sample, said)| sample.log_ns - said));
    }
    residuals
}

/// The ends of `samples` and those nearest to even steps between them.
fn spaced(samples: &[Sample], points: usize) -> Samples {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return Samples::new();
    };
    let steps = points.max(2) - 1;
    let nearest = |step: usize| {
        let share = step as f64 / steps as f64;
        let wanted = first.log_bytes + share * (last.log_bytes - first.log_bytes);
        let off = |sample: &Sample| (sample.log_bytes - wanted).abs();
        samples.iter().min_by(|a, b| off(a).total_cmp(&off(b))).copied()
    };
    let mut kept: Samples = (0..=steps).filter_map(nearest).collect();
    kept.dedup_by_key(|sample| sample.bytes);
    kept
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

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Place = (1, 8);

    fn kind(collective: Collective, links: Links, place: Place) -> Kind {
        Kind { collective, links, place }
    }

    fn samples(log_sizes: impl Iterator<Item = u32>, us: impl Fn(f64) -> f64) -> Samples {
        let sample = |log: u32| {
            let bytes = 1_u64 << log;
            let log_ns = ln(us(bytes as f64) * 1000.0);
            Sample { bytes, log_bytes: ln(bytes as f64), log_ns, trust: 1.0 }
        };
        log_sizes.map(sample).collect()
    }

    /// A protocol's switch at 256 KiB that no three points show.
    fn switching(latency_us: f64, bytes_per_us: f64) -> impl Fn(f64) -> f64 {
        move |bytes| {
            let slower = if bytes > 262_144.0 { 1.0 } else { 1.8 };
            latency_us + slower * bytes / bytes_per_us
        }
    }

    fn lender(machine: usize, kind: Kind, us: impl Fn(f64) -> f64) -> Lent {
        let samples = samples(10..=30, us);
        Lent { machine, kind, knee: knee(&samples), samples }
    }

    fn worst(curve: &[Sample], us: impl Fn(f64) -> f64) -> f64 {
        let off = |s: &Sample| (s.log_ns - ln(us(s.bytes as f64) * 1000.0)).abs();
        curve.iter().map(off).fold(0.0, f64::max)
    }

    #[test]
    fn three_points_take_over_what_machines_of_their_kind_do_between() {
        let of = kind(Collective::AllReduce, Links::Nvswitch, HERE);
        let truth = switching(12.0, 1.1e5);
        let own = samples([10, 20, 30].into_iter(), &truth);
        let alike = [
            lender(0, of, switching(11.0, 1e5)),
            lender(1, of, switching(13.0, 1.2e5)),
            lender(2, of, switching(12.5, 1.15e5)),
        ];
        let curve = completed(&own, &of, &alike);
        assert_eq!(curve.len(), 21);
        let chords = completed(&own, &of, &[]);
        let (with, without) = (worst(&curve, &truth), worst(&chords, &truth));
        assert!(with < 0.1 && without > 3.0 * with, "{with} {without}");
        for own in &own {
            let kept = curve.iter().find(|sample| sample.bytes == own.bytes).unwrap();
            assert_eq!(kept.log_ns, own.log_ns);
        }
    }

    #[test]
    fn a_curve_that_misses_the_middle_point_has_no_say() {
        let of = kind(Collective::AllReduce, Links::Pcie, HERE);
        let truth = |bytes: f64| 20.0 + bytes / 2e3;
        let own = samples([10, 20, 30].into_iter(), truth);
        // Ten times as far to the knee: nothing like ours, and yet of the same kind.
        let other = [lender(0, of, |bytes| 20.0 + bytes.powf(0.8) / 30.0)];
        assert_eq!(completed(&own, &of, &other), completed(&own, &of, &[]));
    }

    #[test]
    fn what_is_like_counts_most() {
        let of = kind(Collective::AllReduce, Links::Nvswitch, HERE);
        let likeness = |collective, links, place| of.likeness(&kind(collective, links, place));
        let same = likeness(Collective::AllReduce, Links::Nvswitch, HERE);
        assert_eq!(same, 1.0);
        let scatter = likeness(Collective::ReduceScatter, Links::Nvswitch, HERE);
        let gather = likeness(Collective::AllGather, Links::Nvswitch, HERE);
        assert!(same > scatter && scatter > gather);
        assert!(likeness(Collective::AllReduce, Links::Pcie, HERE) < same);
        assert!(likeness(Collective::AllReduce, Links::Nvswitch, (1, 2)) < same);
    }

    #[test]
    fn lenders_are_tried_on_each_other() {
        let of = kind(Collective::AllReduce, Links::Nvswitch, HERE);
        let alike = [
            lender(0, of, switching(11.0, 1e5)),
            lender(1, of, switching(13.0, 1.2e5)),
            lender(2, of, switching(12.5, 1.15e5)),
        ];
        let residuals = tried(&[(of, 3)], &alike);
        assert_eq!(residuals.len(), 3 * 18);
        // A machine's own curve would have left nothing.
        let largest = residuals.iter().map(|r| r.abs()).fold(0.0, f64::max);
        assert!((0.001..0.1).contains(&largest), "{largest}");
        assert!(tried(&[], &alike).is_empty());
    }
}
