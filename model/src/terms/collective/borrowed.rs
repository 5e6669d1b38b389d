//! The points of a curve, with those that other dtypes stand in for.
//!
//! What moves bytes takes as long for one dtype as for another of as many bytes; what reduces
//! them differs by a factor that hardly changes with the size. So a size measured in another
//! dtype alone becomes a point of this one: the factor is the weighted median of what the two
//! curves differ by around that size, taken at the points of either, which cancels what chords
//! cut off. Where other machines can guide the curve (`guide`), their sizes become points too; a curve
//! of few points gets what they say together (`prior`).

use std::collections::BTreeMap;

use kernelgauge_data::{CollectivePoint, Dtype, Point};

use super::guide::{Curves, guided};
use super::knots::Knot;
use super::prior::{self, FEW, Kind};
use super::samples::{Place, Sample, Samples, by_place, on_chord};
use crate::rows::Row;

/// Standard deviation, in logarithms of bytes (2.5 octaves), around which two curves are
/// compared. This and the next two: of 0.7 to 4 octaves, 0.5 to 1 and 0.03 to 0.4 the ones with
/// the least error on the sizes at even places of four published machines, odd ones given.
const AROUND: f64 = 2.5 * std::f64::consts::LN_2;

/// How much of a point of a reducing op comes from the other dtype, the rest from the chord.
const REDUCED: f64 = 0.8;

/// Where moved bytes and chord differ by more, one of them was disturbed: half of the excess is
/// not followed.
const ALIKE: f64 = 0.3;

/// What a dtype's curve exceeds ours by, with the size, where the two can be compared.
type Offsets = BTreeMap<(Place, Dtype), Vec<(f64, f64)>>;

/// The curves of a variant by place, each in order of its bytes: from `rows`, from `kin`, which
/// are rows of the same collective in other dtypes, and from `sources`, each the rows of all
/// collectives on another machine.
pub(super) fn curves(
    rows: &[Row<'_>],
    kin: &[Row<'_>],
    sources: &[&[Row<'_>]],
) -> BTreeMap<Place, Vec<Knot>> {
    let Some(Point::Collective(first)) = rows.first().map(|row| row.point) else {
        return BTreeMap::new();
    };
    let reduces = first.collective.reduces();
    let variant = |rows: &[Row<'_>]| -> Curves {
        let is_same = |row: &&Row<'_>| {
            matches!(row.point, Point::Collective(point)
                if (point.collective, point.dtype, point.imbalance)
                    == (first.collective, first.dtype, first.imbalance))
        };
        let same: Vec<Row<'_>> = rows.iter().filter(is_same).cloned().collect();
        by_place(&same).into_iter().map(|((place, _), samples)| (place, samples)).collect()
    };
    let own = variant(rows);
    let path = path(&own, first, sources, variant);
    let kin = by_place(kin);
    let ours = |of: &Curves, place: &Place| of.get(place).cloned().unwrap_or_default();
    let offsets: Offsets = if reduces {
        let compared =
            kin.iter().map(|(key, theirs)| (*key, differences(&ours(&own, &key.0), theirs)));
        compared.collect()
    } else {
        Offsets::new()
    };
    let mut places: Vec<Place> =
        own.keys().copied().chain(kin.keys().map(|(place, _)| *place)).collect();
    places.sort_unstable();
    places.dedup();
    let curve = |place: Place| {
        let path = ours(&path, &place);
        let here = kin.iter().filter(|((at, _), _)| *at == place);
        let moved = here.flat_map(|((_, dtype), theirs)| {
            let offsets = &offsets;
            theirs.iter().map(move |sample| {
                let more = difference(offsets, place, *dtype, sample.log_bytes);
                Sample { log_ns: sample.log_ns - more, ..*sample }
            })
        });
        (place, points(&ours(&own, &place), &path, moved, reduces))
    };
    places.into_iter().map(curve).collect()
}

/// What is to be expected between our own points: chords, or the course of other machines.
fn path(
    own: &Curves,
    of: &CollectivePoint,
    sources: &[&[Row<'_>]],
    variant: impl Fn(&[Row<'_>]) -> Curves,
) -> Curves {
    let mut path = guided(own, &sources.iter().map(|rows| variant(rows)).collect::<Vec<_>>());
    let is_few = |samples: &Samples| (2..=FEW).contains(&samples.len());
    if sources.is_empty() || !own.values().any(is_few) {
        return path;
    }
    let lent = prior::lent(sources);
    for (place, samples) in own.iter().filter(|(_, samples)| is_few(samples)) {
        let kind = Kind::of(of, *place);
        path.insert(*place, prior::completed(samples, &kind, &lent));
    }
    path
}

/// The points of one curve: our own, those of other dtypes, and those of the path between.
fn points(
    own: &[Sample],
    path: &[Sample],
    moved: impl Iterator<Item = Sample>,
    reduces: bool,
) -> Vec<Knot> {
    let mut estimates: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
    for sample in moved {
        let estimate = stand_in(&sample, path, reduces);
        estimates.entry(sample.bytes).or_default().push((estimate, sample.trust));
    }
    let knot = |sample: &Sample, borrowed| {
        (sample.bytes, Knot { bytes: sample.bytes, log_ns: sample.log_ns, borrowed })
    };
    let mut curve: BTreeMap<u64, Knot> = path.iter().map(|sample| knot(sample, true)).collect();
    curve.extend(estimates.into_iter().map(|(bytes, estimates)| {
        let weights: f64 = estimates.iter().map(|(_, trust)| trust).sum();
        let sum: f64 = estimates.iter().map(|(log_ns, trust)| trust * log_ns).sum();
        (bytes, Knot { bytes, log_ns: sum / weights, borrowed: true })
    }));
    curve.extend(own.iter().map(|sample| knot(sample, false)));
    curve.into_values().collect()
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
fn difference(offsets: &Offsets, place: Place, dtype: Dtype, log_bytes: f64) -> f64 {
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

/// Our log time where only the other dtype, its difference taken off, was measured, and `path`
/// says what is to be expected.
fn stand_in(theirs: &Sample, path: &[Sample], reduces: bool) -> f64 {
    let Some(expected) = on_chord(path, theirs.log_bytes) else { return theirs.log_ns };
    let apart = (theirs.log_ns - expected).abs();
    let share = match reduces {
        true => REDUCED,
        false if apart < ALIKE => 1.0,
        false => 0.5 + 0.5 * ALIKE / apart,
    } * theirs.trust;
    share * theirs.log_ns + (1.0 - share) * expected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{exp, ln};

    fn samples(points: &[(u64, f64)]) -> Samples {
        let sample = |(bytes, us): &(u64, f64)| Sample {
            bytes: *bytes,
            log_bytes: ln(*bytes as f64),
            log_ns: ln(us * 1000.0),
            trust: 1.0,
        };
        points.iter().map(sample).collect()
    }

    fn us(knots: &[Knot], bytes: u64) -> f64 {
        let knot = knots.iter().find(|knot| knot.bytes == bytes).unwrap();
        exp(knot.log_ns) / 1000.0
    }

    #[test]
    fn what_moves_bytes_takes_over_the_other_dtype() {
        let own = samples(&[(1 << 10, 10.0), (1 << 14, 12.0)]);
        // A protocol's switch that two points do not show.
        let theirs = samples(&[(1 << 12, 10.5)]);
        let knots = points(&own, &own, theirs.iter().copied(), false);
        assert!((us(&knots, 1 << 12) - 10.5).abs() < 1e-9 && knots[1].borrowed);
        assert!((us(&knots, 1 << 14) - 12.0).abs() < 1e-9 && !knots[2].borrowed);
        // Far off: one of the two was disturbed, and the answer lies between.
        let disturbed = samples(&[(1 << 12, 40.0)]);
        let knots = points(&own, &own, disturbed.iter().copied(), false);
        assert!((15.0..30.0).contains(&us(&knots, 1 << 12)));
    }

    #[test]
    fn what_reduces_takes_over_the_other_dtype_less_their_difference() {
        let truth = |bytes: u64| 10.0 + bytes as f64 / 1e5;
        let sizes = |from: u32| (from..26).step_by(2).map(|log| 1_u64 << log);
        let ours: Vec<(u64, f64)> = sizes(10).map(|bytes| (bytes, truth(bytes))).collect();
        let theirs: Vec<(u64, f64)> = sizes(11).map(|bytes| (bytes, 1.05 * truth(bytes))).collect();
        let (ours, theirs) = (samples(&ours), samples(&theirs));
        let place = (1, 8);
        let offsets: Offsets = [((place, Dtype::Int8), differences(&ours, &theirs))].into();
        let more = difference(&offsets, place, Dtype::Int8, ln(f64::from(1 << 20)));
        assert!((more - ln(1.05)).abs() < 0.01, "{more}");
        // Of a rank count measured in the other dtype alone, what the rest say.
        let elsewhere = difference(&offsets, (1, 4), Dtype::Int8, ln(f64::from(1 << 20)));
        assert!((elsewhere - more).abs() < 1e-12);
    }
}
