//! In which order points are left out.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::hash::{DefaultHasher, Hash, Hasher};

use kernelgauge_data::{CacheState, Family, Point, Record};

use super::line::{Line, LinePoint};

/// One point left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Removal {
    /// Its records, by index.
    pub records: Vec<usize>,
}

/// How much the error at an axis value counts. Powers of two are what people ask for, and what
/// they compare with other machines.
fn weight(axis: u64) -> f64 {
    if axis.is_power_of_two() { 2.0 } else { 1.0 }
}

/// How much the error of a family counts; none if it is kept whole. A collective has few points
/// a curve and switches protocols between them.
fn family_weight(family: Family) -> Option<f64> {
    (family != Family::Collective).then_some(1.0)
}

/// Every point but the ends of the lines, in the order to leave them out.
pub(super) fn removals(records: &[&Record], seed: u64) -> Vec<Removal> {
    let mut lines: Vec<Line> = lines(records).into_values().map(Line::new).collect();
    let mut heap = BinaryHeap::new();
    for (line, points) in lines.iter().enumerate() {
        for index in 0..points.points().len() {
            heap.extend(candidate(&lines[line], line, index, seed));
        }
    }
    let mut removals = Vec::new();
    while let Some(Reverse(next)) = heap.pop() {
        let (line, index) = (next.line, next.index);
        // Costs change as neighbours go; only the present one counts.
        if candidate(&lines[line], line, index, seed) != Some(Reverse(next)) {
            continue;
        }
        let neighbours = lines[line].neighbours(index);
        lines[line].remove(index);
        removals.push(Removal { records: lines[line].points()[index].records.clone() });
        for beside in neighbours.into_iter().flat_map(|(before, after)| [before, after]) {
            heap.extend(candidate(&lines[line], line, beside, seed));
        }
    }
    removals
}

/// A point that may be left out, ordered by what that costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// Bits of a cost, which order as it does: it is never negative.
    cost: u64,
    /// Between equals the seed decides, not the place in the file.
    lot: u64,
    line: usize,
    index: usize,
}

fn candidate(points: &Line, line: usize, index: usize, seed: u64) -> Option<Reverse<Candidate>> {
    let cost = points.cost(index)?;
    let mut hasher = DefaultHasher::new();
    (seed, line, index).hash(&mut hasher);
    Some(Reverse(Candidate { cost: cost.to_bits(), lot: hasher.finish(), line, index }))
}

/// What the points of a line share.
type LineKey = (String, CacheState, Vec<u64>);

/// The lines of the families that are thinned, their points in ascending order.
fn lines(records: &[&Record]) -> BTreeMap<LineKey, Vec<LinePoint>> {
    let mut lines: BTreeMap<LineKey, BTreeMap<u64, Vec<usize>>> = BTreeMap::new();
    for (index, record) in records.iter().enumerate() {
        let thinned = family_weight(record.point.family()).is_some();
        if thinned && record.time().is_some() {
            let (key, axis) = place(record);
            lines.entry(key).or_default().entry(axis).or_default().push(index);
        }
    }
    let point = |(axis, indices): (u64, Vec<usize>)| {
        let records_here = indices.iter().map(|index| records[*index]);
        let logs = records_here.filter_map(|record| Some(record.time()?.as_f64().ln()));
        let family = indices.first().map(|index| records[*index].point.family());
        LinePoint {
            axis: (axis as f64).ln(),
            time: logs.sum::<f64>() / indices.len() as f64,
            weight: weight(axis) * family.and_then(family_weight).unwrap_or(1.0),
            records: indices,
        }
    };
    let ascending = |points: BTreeMap<u64, Vec<usize>>| points.into_iter().map(point).collect();
    lines.into_iter().map(|(key, points)| (key, ascending(points))).collect()
}

/// The line of a record and its place along it.
pub(super) fn place(record: &Record) -> (LineKey, u64) {
    let point: &Point = &record.point;
    let axis = point.axis();
    let parameters = point.parameters();
    let others = parameters.iter().enumerate().filter(|(at, _)| *at != axis);
    let others = others.map(|(_, value)| *value).collect();
    let variant = format!("{}/{}", point.family(), point.variant().as_str());
    let value = parameters.get(axis).copied().unwrap_or(1).max(1);
    ((variant, record.conditions.cache, others), value)
}
