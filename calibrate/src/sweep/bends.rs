//! Which size of a collective is next in the last pass: the one where its curve bends most.
//!
//! The plan is made before anything is measured and cannot know where that is. So the places of
//! the last pass stay as planned, curve by curve, and what is measured of a curve decides which
//! of its sizes that are left takes the place. All of it follows from the journal: a run that is
//! continued goes on in the same order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use kernelgauge_data::{CollectivePoint, Manner, Point, Record};

use crate::plan::{Candidate, DEEPEST, Plan};

/// Points that differ only in their size: the point of no bytes, and the manner.
type Curve = (CollectivePoint, Manner);

/// The logarithms of sizes and times of every curve.
#[derive(Debug, Default)]
pub struct Bends {
    curves: BTreeMap<Curve, BTreeMap<u64, f64>>,
}

fn curve(candidate: &Candidate) -> Option<(Curve, u64)> {
    let Point::Collective(point) = &candidate.point else { return None };
    Some(((CollectivePoint { bytes: 0, ..*point }, candidate.manner), point.bytes))
}

/// The curve and size of what may take another place: of the last pass, and a collective.
fn movable(plan: &Plan, index: usize) -> Option<(Curve, u64)> {
    let candidate = plan.points.get(index)?;
    (candidate.level == DEEPEST).then(|| curve(candidate)).flatten()
}

impl Bends {
    /// Notes what became of the point at `index`.
    pub fn note(&mut self, plan: &Plan, index: usize, record: &Record) {
        let known = plan.points.get(index).and_then(curve).zip(record.time());
        if let Some(((curve, bytes), time)) = known {
            self.curves.entry(curve).or_default().insert(bytes, time.as_f64().max(1.0).ln());
        }
    }

    /// The place in `todo` of the point that shall be first: of the first one's curve where it
    /// may take another place, else the first.
    pub fn first(&self, plan: &Plan, todo: &VecDeque<usize>) -> usize {
        let own = todo.front().and_then(|index| movable(plan, *index));
        let Some((known, (own, _))) = own.and_then(|own| Some((self.curves.get(&own.0)?, own)))
        else {
            return 0;
        };
        let mut best = (f64::NEG_INFINITY, usize::MAX, 0);
        for (place, index) in todo.iter().enumerate() {
            let Some((curve, bytes)) = movable(plan, *index) else { continue };
            let bend = if curve == own { bend(known, bytes) } else { continue };
            if bend > best.0 || (bend == best.0 && *index < best.1) {
                best = (bend, *index, place);
            }
        }
        best.2
    }
}

/// `todo` with the points of each curve in the places that are left to it, where some of
/// `selected` were measured in another order than planned.
pub fn in_their_places(plan: &Plan, selected: &[usize], todo: Vec<usize>) -> Vec<usize> {
    let left: BTreeSet<usize> = todo.iter().copied().collect();
    let mut waiting: BTreeMap<Curve, VecDeque<usize>> = BTreeMap::new();
    let mut measured: BTreeMap<Curve, usize> = BTreeMap::new();
    for index in selected {
        let Some((curve, _)) = movable(plan, *index) else { continue };
        if left.contains(index) {
            waiting.entry(curve).or_default().push_back(*index);
        } else {
            *measured.entry(curve).or_default() += 1;
        }
    }
    let mut placed = Vec::with_capacity(todo.len());
    for index in selected {
        let Some((curve, _)) = movable(plan, *index) else {
            placed.extend(left.contains(index).then_some(*index));
            continue;
        };
        match measured.get_mut(&curve) {
            Some(passed) if *passed > 0 => *passed -= 1,
            _ => placed.extend(waiting.get_mut(&curve).and_then(VecDeque::pop_front)),
        }
    }
    placed
}

/// How far the middle of the gap that `bytes` lies in may be from the straight line between its
/// ends, in log time: a quarter of the turn from a neighbouring slope, over the gap; where time
/// falls as the size grows, at least as much as it falls.
fn bend(known: &BTreeMap<u64, f64>, bytes: u64) -> f64 {
    let point = |(bytes, log_ns): (&u64, &f64)| ((*bytes as f64).max(1.0).ln(), *log_ns);
    let mut below = known.range(..bytes).rev().map(point);
    let mut above = known.range(bytes..).map(point);
    let (Some(low), Some(high)) = (below.next(), above.next()) else { return 0.0 };
    let slope = |a: (f64, f64), b: (f64, f64)| (b.1 - a.1) / (b.0 - a.0).max(f64::MIN_POSITIVE);
    let (gap, here) = (high.0 - low.0, slope(low, high));
    let before = below.next().map(|point| (here - slope(point, low)).abs());
    let after = above.next().map(|point| (slope(high, point) - here).abs());
    let turn = before.unwrap_or(0.0).max(after.unwrap_or(0.0));
    (turn * gap / 4.0).max(-here * gap)
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{Conditions, Family, Flags, Links, Measurement, Nanos, Outcome};

    use super::*;
    use crate::plan::{Catalogue, Routes, Selection};

    fn plan() -> Plan {
        let (links, routes) = (Links::Nvswitch, Routes::default());
        Plan::of(Catalogue::Gpu { count: 2, links, nodes: 1, routes }, 0)
    }

    fn record(plan: &Plan, index: usize) -> Record {
        let point = plan.points[index].point.clone();
        // A step at 6 KiB; else as flat as any latency.
        let bytes = curve(&plan.points[index]).map_or(0, |(_, bytes)| bytes);
        let time = if bytes > 6 << 10 { 90_000 } else { 20_000 };
        Record {
            point,
            conditions: Conditions::default(),
            outcome: Outcome::Measured(Measurement::stated(Nanos::new(time))),
            flags: Flags::NONE,
        }
    }

    /// Measures all that is selected but stops after `most`; goes on from `done`.
    fn measured(plan: &Plan, selected: &[usize], done: &[usize], most: usize) -> Vec<usize> {
        let mut bends = Bends::default();
        done.iter().for_each(|index| bends.note(plan, *index, &record(plan, *index)));
        let left = selected.iter().copied().filter(|index| !done.contains(index)).collect();
        let mut todo: VecDeque<usize> = in_their_places(plan, selected, left).into();
        let mut order = done.to_vec();
        while order.len() < most && !todo.is_empty() {
            let first = bends.first(plan, &todo);
            todo.swap(0, first);
            let Some(index) = todo.pop_front() else { break };
            bends.note(plan, index, &record(plan, index));
            order.push(index);
        }
        order
    }

    #[test]
    fn the_bend_comes_first_and_nothing_else_moves() {
        let plan = plan();
        let families = vec![Family::Collective, Family::Custom];
        let selected = plan.select(&Selection { families, deepest: DEEPEST });
        let order = measured(&plan, &selected, &[], usize::MAX);
        let (mut sorted, mut planned) = (order.clone(), selected.clone());
        sorted.sort_unstable();
        planned.sort_unstable();
        assert_eq!(sorted, planned);
        let mut first: BTreeMap<Curve, u64> = BTreeMap::new();
        for (planned, index) in selected.iter().zip(&order) {
            let of = |index: usize| movable(&plan, index).map(|(curve, _)| curve);
            assert_eq!(of(*planned), of(*index));
            assert!(of(*index).is_some() || planned == index);
            if let Some((curve, bytes)) = movable(&plan, *index) {
                first.entry(curve).or_insert(bytes);
            }
        }
        assert!(first.len() >= 10);
        // The only size that is left between those on either side of the step; other curves
        // have in the last pass only what takes long.
        let has_it = |of: &Curve| {
            let is_it = |(curve, bytes): (Curve, u64)| curve == *of && bytes.ilog2() == 13;
            selected.iter().filter_map(|index| movable(&plan, *index)).any(is_it)
        };
        first.retain(|curve, _| has_it(curve));
        assert!(first.len() >= 5);
        for ((point, _), bytes) in first {
            assert_eq!(bytes.ilog2(), 13, "{point:?}");
        }
    }

    #[test]
    fn a_run_that_is_continued_goes_on_in_the_same_order() {
        let plan = plan();
        let families = vec![Family::Collective, Family::Custom];
        let selected = plan.select(&Selection { families, deepest: DEEPEST });
        let whole = measured(&plan, &selected, &[], usize::MAX);
        for cut in [10, whole.len() / 2, whole.len() - 40, whole.len() - 7] {
            assert!(measured(&plan, &selected, &whole[..cut], usize::MAX) == whole, "cut at {cut}");
        }
    }

    #[test]
    fn a_turn_and_a_fall_are_bends_and_a_straight_line_is_none() {
        let known = |times: [f64; 4]| -> BTreeMap<u64, f64> {
            [16, 64, 256, 1024].into_iter().zip(times.map(f64::ln)).collect()
        };
        assert!(bend(&known([1.0, 4.0, 16.0, 64.0]), 128) < 1e-9);
        assert!((bend(&known([1.0, 1.0, 4.0, 16.0]), 128) - 4_f64.ln() / 4.0).abs() < 1e-9);
        assert!((bend(&known([9.0, 9.0, 4.5, 4.5]), 128) - 2_f64.ln()).abs() < 1e-9);
        assert_eq!(bend(&known([1.0, 1.0, 4.0, 16.0]), 2048), 0.0);
    }
}
