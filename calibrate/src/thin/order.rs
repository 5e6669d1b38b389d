//! In which order points are left out.
//!
//! Every point gets a number between 0 and 1; the largest go first. The numbers form a lattice:
//! one step along any parameter adds an irrational step, modulo 1. So whatever share is kept,
//! it is spread evenly along every line, and what one line leaves out its neighbours keep. This
//! is the masking of ordered dither (M. Roberts, "The Unreasonable Effectiveness of
//! Quasirandom Sequences", 2018). Choosing the points that interpolation tells worst keeps
//! noise instead, and was twice as bad on the shipped tables.

use std::collections::{BTreeMap, BTreeSet};

use kernelgauge_data::{AttentionPhase, CacheState, Family, Point, Record};

/// The step along the sweep axis, the golden ratio: of all numbers it spreads best.
const AXIS_STEP: f64 = 0.618_033_988_749_894_8;

/// The steps along the other parameters, in their order: fractional parts of square roots of
/// primes, between which no small whole numbers make a relation.
const OTHER_STEPS: [f64; 7] = [
    0.414_213_562_373_095,
    0.732_050_807_568_877,
    0.236_067_977_499_789,
    0.645_751_311_064_590,
    0.316_624_790_355_399,
    0.605_551_275_463_989,
    0.123_105_625_617_660,
];

/// Lines of more points than this keep both ends: there the ends are cheap.
const LONG_LINE: usize = 16;

/// One point that may be left out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Removal {
    /// Its records, by index.
    pub records: Vec<usize>,
    number: f64,
}

/// Every point that may be left out, in the order to leave them out. Families whose curves have
/// few points are kept whole.
pub(super) fn removals(records: &[&Record], seed: u64) -> Vec<Removal> {
    let mut variants: BTreeMap<VariantKey, Vec<usize>> = BTreeMap::new();
    for (index, record) in records.iter().enumerate() {
        // A collective switches protocols between its few sizes.
        if record.point.family() != Family::Collective {
            variants.entry(variant(record)).or_default().push(index);
        }
    }
    let mut removals = Vec::new();
    for (number, indices) in variants.into_values().enumerate() {
        // Variants share their shapes: each begins elsewhere in the lattice.
        let offset = (seed as f64 + number as f64) * AXIS_STEP;
        removals.extend(of_variant(records, &indices, offset));
    }
    removals.sort_by(|a, b| b.number.total_cmp(&a.number));
    removals
}

/// What selects a model: family, categorical parameters, cache state.
type VariantKey = (Family, String, CacheState);

fn variant(record: &Record) -> VariantKey {
    let point = &record.point;
    (point.family(), point.variant().as_str().to_owned(), record.conditions.cache)
}

fn of_variant(records: &[&Record], indices: &[usize], offset: f64) -> Vec<Removal> {
    let mut places: BTreeMap<&Point, Vec<usize>> = BTreeMap::new();
    for index in indices {
        places.entry(&records[*index].point).or_default().push(*index);
    }
    let ranks = ranks(places.keys().copied());
    let kept = ends_of_long_lines(places.keys().copied());
    let mut candidates: Vec<(&Point, Removal)> = places
        .into_iter()
        .filter(|(point, _)| !kept.contains(point) && !is_landmark(point))
        .map(|(point, records)| (point, Removal { records, number: number(point, &ranks, offset) }))
        .collect();
    candidates.sort_by(|(_, a), (_, b)| a.number.total_cmp(&b.number));
    let extremes = extremes(candidates.iter().map(|(point, _)| *point), &ranks);
    candidates.retain(|(point, _)| !extremes.contains(point));
    candidates.into_iter().map(|(_, removal)| removal).collect()
}

/// A number between 0 and 1 for each point of a variant: those below any share are spread evenly.
pub fn lattice<'a>(points: impl Iterator<Item = &'a Point> + Clone, seed: u64) -> Vec<f64> {
    let ranks = ranks(points.clone());
    points.map(|point| number(point, &ranks, seed as f64 * AXIS_STEP).min(1.0)).collect()
}

/// The values of every parameter, in ascending order.
type Ranks = Vec<Vec<u64>>;

fn ranks<'a>(points: impl Iterator<Item = &'a Point>) -> Ranks {
    let mut values: Vec<BTreeSet<u64>> = Vec::new();
    for point in points {
        let parameters = point.parameters();
        values.resize(parameters.len().max(values.len()), BTreeSet::new());
        for (values, value) in values.iter_mut().zip(parameters.iter()) {
            values.insert(*value);
        }
    }
    values.into_iter().map(|values| values.into_iter().collect()).collect()
}

/// The lattice number of a point.
fn number(point: &Point, ranks: &Ranks, offset: f64) -> f64 {
    let axis = point.axis();
    let mut others = OTHER_STEPS.iter();
    let mut sum = offset;
    for (index, (value, values)) in point.parameters().iter().zip(ranks).enumerate() {
        let rank = values.binary_search(value).unwrap_or_default() as f64;
        let step = if index == axis { Some(&AXIS_STEP) } else { others.next() };
        sum += rank * step.copied().unwrap_or_default();
    }
    sum.fract() / share(point)
}

/// How many times the share of the rest is kept of points like this. The lines of attention are
/// short, and steps between batch sizes wide, most of all with prompts: `calibrate thin --check`
/// shows the shares at which all families lose alike.
fn share(point: &Point) -> f64 {
    match point {
        Point::Attention(attention) => match attention.phase {
            AttentionPhase::Context => 1.4,
            AttentionPhase::Generation => 1.15,
        },
        _ => 1.0,
    }
}

/// Square and other products of powers of two are what machines are compared by.
fn is_landmark(point: &Point) -> bool {
    match point {
        Point::Gemm(gemm) => [gemm.m, gemm.n, gemm.k].iter().all(|size| size.is_power_of_two()),
        _ => false,
    }
}

/// First and last point of every long line.
fn ends_of_long_lines<'a>(points: impl Iterator<Item = &'a Point>) -> BTreeSet<&'a Point> {
    let mut lines: BTreeMap<Vec<u64>, Vec<&Point>> = BTreeMap::new();
    for point in points {
        lines.entry(others(point)).or_default().push(point);
    }
    let mut ends = BTreeSet::new();
    for mut line in lines.into_values().filter(|line| line.len() > LONG_LINE) {
        line.sort_by_key(|point| axis_value(point));
        ends.extend(line.first().into_iter().chain(line.last()));
    }
    ends
}

/// For the smallest and the largest value of every parameter, the first of `points` that has
/// it: the domain stays.
fn extremes<'a>(points: impl Iterator<Item = &'a Point>, ranks: &Ranks) -> BTreeSet<&'a Point> {
    let mut wanted: BTreeSet<(usize, u64)> = BTreeSet::new();
    for (index, values) in ranks.iter().enumerate() {
        wanted.extend(values.first().into_iter().chain(values.last()).map(|value| (index, *value)));
    }
    let mut extremes = BTreeSet::new();
    for point in points {
        for (index, value) in point.parameters().iter().enumerate() {
            if wanted.remove(&(index, *value)) {
                extremes.insert(point);
            }
        }
    }
    extremes
}

/// All parameters but the axis.
fn others(point: &Point) -> Vec<u64> {
    let axis = point.axis();
    let parameters = point.parameters();
    parameters.iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, value)| *value).collect()
}

fn axis_value(point: &Point) -> u64 {
    point.parameters().get(point.axis()).copied().unwrap_or_default()
}

/// The name of the line a record lies on, and its place along it.
pub(super) fn place(record: &Record) -> (String, u64) {
    let line = (variant(record), others(&record.point));
    (format!("{line:?}"), axis_value(&record.point))
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{Dtype, GemmLayout, GemmPoint};

    use super::*;

    fn gemm(m: u64, n: u64) -> Point {
        Point::Gemm(GemmPoint {
            dtype: Dtype::F32,
            batch: 1,
            m,
            n,
            k: 1000,
            layout: GemmLayout::Unstated,
        })
    }

    #[test]
    fn any_share_is_spread_evenly_along_and_across_lines() {
        let sizes: Vec<u64> = (1..=60).map(|rank| rank * 100 + 1).collect();
        let points: Vec<Point> =
            sizes.iter().flat_map(|m| sizes.iter().map(|n| gemm(*m, *n))).collect();
        let ranks = ranks(points.iter());
        for share in [0.2, 0.35, 0.5] {
            let kept = |m: u64, n: u64| number(&gemm(m, n), &ranks, 0.0) < share;
            for window in sizes.windows(20) {
                let along = window.iter().filter(|m| kept(**m, 301)).count() as f64 / 20.0;
                let across = window.iter().filter(|n| kept(301, **n)).count() as f64 / 20.0;
                assert!((along - share).abs() <= 0.1, "{along} of {share} along");
                assert!((across - share).abs() <= 0.15, "{across} of {share} across");
            }
        }
    }

    #[test]
    fn landmarks_ends_and_extremes_are_no_candidates() {
        let points: Vec<Point> = (0..=40).map(|step| gemm(1 + step * 100, 4096)).collect();
        assert_eq!(ends_of_long_lines(points.iter()).len(), 2);
        assert!(ends_of_long_lines(points[..10].iter()).is_empty());
        assert!(!is_landmark(&points[0]));
        let square = GemmPoint {
            dtype: Dtype::F32,
            batch: 1,
            m: 64,
            n: 64,
            k: 64,
            layout: GemmLayout::Unstated,
        };
        assert!(is_landmark(&Point::Gemm(square)));
        let found = extremes(points.iter(), &ranks(points.iter()));
        assert_eq!(found, BTreeSet::from([&points[0], &points[40]]));
    }
}
