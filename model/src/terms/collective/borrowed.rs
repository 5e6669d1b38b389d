//! The points of a curve, with those that other dtypes stand in for.
//!
//! What moves bytes takes as long for one dtype as for another of as many bytes; what reduces
//! them differs by a factor that hardly changes with the size. So a size measured in another
//! dtype alone becomes a point of this one: the factor is the weighted median of what the two
//! curves differ by around that size, taken at the points of either, which cancels what chords
//! cut off. A time whose repeats disagree is trusted less than the chord over it.

use std::collections::BTreeMap;

use kernelgauge_data::{Dtype, Point};

use super::knots::{Knot, chord};
use crate::rows::Row;

/// Half the log ratio of a point's repeats at which it counts half. Repeats of published tables
/// differ by 1 % in the median and 5 to 12 % at the 90th percentile.
const DISAGREEMENT: f64 = 0.05;

/// Standard deviation, in logarithms of bytes (2.5 octaves), around which two curves are
/// compared. This and the next two: of 0.7 to 4 octaves, 0.5 to 1 and 0.03 to 0.4 the ones with
/// the least error on the sizes at even places of four published machines, odd ones given.
const AROUND: f64 = 2.5 * std::f64::consts::LN_2;

/// How much of a point of a reducing op comes from the other dtype, the rest from the chord.
const REDUCED: f64 = 0.8;

/// Where moved bytes and chord differ by more, one of them was disturbed: half of the excess is
/// not followed.
const ALIKE: f64 = 0.1;

/// The times of one dtype at one rank count.
type Samples = Vec<Sample>;

#[derive(Debug, Clone, Copy)]
struct Sample {
    bytes: u64,
    log_bytes: f64,
    log_ns: f64,
    trust: f64,
}

/// (nodes, ranks), in the order curves are kept in.
pub(super) type Place = (u64, u64);

/// The curves of a variant by place, each in order of its bytes: from `rows`, and from `kin`,
/// which are rows of the same collective in other dtypes.
pub(super) fn curves(rows: &[Row<'_>], kin: &[Row<'_>]) -> BTreeMap<Place, Vec<Knot>> {
    let own = by_place(rows);
    let kin = by_place(kin);
    let reduces = rows.first().is_some_and(
        |row| matches!(row.point, Point::Collective(point) if point.collective.reduces()),
    );
    let own: BTreeMap<Place, Samples> =
        own.into_iter().map(|((place, _), samples)| (place, samples)).collect();
    let offsets = |(key, theirs): (&(Place, Dtype), &Samples)| {
        let ours = own.get(&key.0).map(Vec::as_slice).unwrap_or_default();
        (*key, differences(ours, theirs))
    };
    let offsets: BTreeMap<(Place, Dtype), Vec<(f64, f64)>> = if reduces {
        kin.iter().map(offsets).collect()
    } else {
        BTreeMap::new()
    };
    let mut places: Vec<Place> = own.keys().copied().collect();
    places.extend(kin.keys().map(|(place, _)| *place));
    places.sort_unstable();
    places.dedup();
    let mut found = BTreeMap::new();
    for place in places {
        let ours = own.get(&place).map(Vec::as_slice).unwrap_or_default();
        let mut knots: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
        for ((_, dtype), theirs) in kin.iter().filter(|((at, _), _)| *at == place) {
            let difference = |log_bytes: f64| difference(&offsets, place, *dtype, log_bytes);
            for sample in theirs {
                let moved = Sample { log_ns: sample.log_ns - difference(sample.log_bytes), ..*sample };
                let estimate = stand_in(&moved, ours, reduces);
                knots.entry(sample.bytes).or_default().push((estimate, sample.trust));
            }
        }
        let mut curve: BTreeMap<u64, Knot> = knots
            .into_iter()
            .map(|(bytes, estimates)| {
                let weights: f64 = estimates.iter().map(|(_, trust)| trust).sum();
                let sum: f64 = estimates.iter().map(|(log_ns, trust)| trust * log_ns).sum();
                (bytes, Knot { bytes, log_ns: sum / weights, borrowed: true })
            })
            .collect();
        for sample in ours {
            let knot = Knot { bytes: sample.bytes, log_ns: sample.log_ns, borrowed: false };
            curve.insert(sample.bytes, knot);
        }
        found.insert(place, curve.into_values().collect());
    }
    found
}

/// Rows by place and dtype, in order of bytes, what repeats disagree about drawn to the chord.
fn by_place(rows: &[Row<'_>]) -> BTreeMap<(Place, Dtype), Samples> {
    let mut found: BTreeMap<(Place, Dtype), Samples> = BTreeMap::new();
    for row in rows {
        let Point::Collective(point) = row.point else { continue };
        let spread = row.unsettled / DISAGREEMENT;
        found.entry(((point.nodes, point.ranks), point.dtype)).or_default().push(Sample {
            bytes: point.bytes,
            log_bytes: crate::math::ln(point.bytes as f64),
            log_ns: row.log_ns,
            trust: 1.0 / (1.0 + spread * spread),
        });
    }
    for samples in found.values_mut() {
        samples.sort_by_key(|sample| sample.bytes);
        *samples = settled(samples);
    }
    found
}

fn settled(samples: &[Sample]) -> Samples {
    let mut settled = samples.to_vec();
    for (sample, around) in settled[1..].iter_mut().zip(samples.windows(3)) {
        let [below, at, above] = [0, 1, 2].map(|place| (around[place].log_bytes, around[place].log_ns));
        let expected = chord(below, above, at.0);
        sample.log_ns = sample.trust * at.1 + (1.0 - sample.trust) * expected;
    }
    settled
}

/// The log time on the chord of `samples`; none outside them.
fn on_chord(samples: &[Sample], log_bytes: f64) -> Option<f64> {
    let after = samples.partition_point(|sample| sample.log_bytes <= log_bytes);
    let below = samples.get(after.checked_sub(1)?)?;
    if below.log_bytes == log_bytes {
        return Some(below.log_ns);
    }
    let above = samples.get(after)?;
    let [below, above] = [below, above].map(|sample| (sample.log_bytes, sample.log_ns));
    Some(chord(below, above, log_bytes))
}

/// What their log times exceed ours by, with the size, at the points of either within the other.
fn differences(ours: &[Sample], theirs: &[Sample]) -> Vec<(f64, f64)> {
    let at_theirs = theirs.iter().filter_map(|sample| {
        Some((sample.log_bytes, sample.log_ns - on_chord(ours, sample.log_bytes)?))
    });
    let at_ours = ours.iter().filter_map(|sample| {
        Some((sample.log_bytes, on_chord(theirs, sample.log_bytes)? - sample.log_ns))
    });
    at_theirs.chain(at_ours).collect()
}

/// What a dtype's log time exceeds ours by around a size: of this rank count, else of all.
fn difference(
    offsets: &BTreeMap<(Place, Dtype), Vec<(f64, f64)>>,
    place: Place,
    dtype: Dtype,
    log_bytes: f64,
) -> f64 {
    let here = offsets.get(&(place, dtype)).filter(|found| !found.is_empty());
    let elsewhere = || {
        let same = offsets.iter().filter(|((_, of), _)| *of == dtype);
        same.flat_map(|(_, found)| found.iter().copied()).collect()
    };
    weighted_median(here.map_or_else(elsewhere, Clone::clone), log_bytes)
}

/// The median of values weighted by how near their sizes are; 0 of none.
fn weighted_median(mut values: Vec<(f64, f64)>, log_bytes: f64) -> f64 {
    values.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.total_cmp(&b.0)));
    let weight = |at: f64| {
        let away = (at - log_bytes) / AROUND;
        crate::math::exp(-0.5 * away * away)
    };
    let half = values.iter().map(|(at, _)| weight(*at)).sum::<f64>() / 2.0;
    let mut passed = 0.0;
    for (at, value) in &values {
        passed += weight(*at);
        if passed >= half {
            return *value;
        }
    }
    values.last().map_or(0.0, |(_, value)| *value)
}

/// Our log time where only the other dtype, its difference taken off, was measured.
fn stand_in(theirs: &Sample, ours: &[Sample], reduces: bool) -> f64 {
    let Some(expected) = on_chord(ours, theirs.log_bytes) else { return theirs.log_ns };
    let apart = (theirs.log_ns - expected).abs();
    let share = match reduces {
        true => REDUCED,
        false if apart < ALIKE => 1.0,
        false => 0.5 + 0.5 * ALIKE / apart,
    } * theirs.trust;
    share * theirs.log_ns + (1.0 - share) * expected
}
