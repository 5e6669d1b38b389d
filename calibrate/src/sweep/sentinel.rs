//! One point measured again and again: when it moves, the machine has moved.
//!
//! Points measured while the sentinel was off its usual value are flagged as drifted. They stay
//! in the data set and in the fit, for the gate's other findings say what is wrong with a point
//! itself; a run with many of them should be repeated on a quieter machine.

use kernelgauge_data::{Nanos, statistics};

use crate::journal::Entry;
use crate::plan::Plan;

/// Points between two readings.
pub const EVERY: usize = 25;
/// A reading this far from the median of all readings is drift.
const DRIFT: f64 = 0.1;
/// The sentinel shall take about this long: long against a timer, short against a run.
const IDEAL_NANOS: f64 = 2e5;

/// The index of the sentinel of a run that measures the points at `selected`: a short point of
/// the first pass, among the families that are measured, that `can` be measured on the device.
pub fn choose(plan: &Plan, selected: &[usize], can: &dyn Fn(usize) -> bool) -> Option<usize> {
    let distance = |index: usize| (plan.guessed_execution(index).as_f64() / IDEAL_NANOS).ln().abs();
    let first_pass = selected.iter().copied().filter(|index| plan.points[*index].level == 0);
    let mut nearest_first: Vec<usize> = first_pass.collect();
    nearest_first.sort_by(|a, b| distance(*a).total_cmp(&distance(*b)).then(a.cmp(b)));
    nearest_first.into_iter().find(|index| can(*index))
}

/// The indices of points measured while the sentinel was off: those next to a reading that
/// differs from the median of all readings of its point by more than a tenth.
pub fn drifted(entries: &[Entry]) -> Vec<usize> {
    let mut drifted = Vec::new();
    let mut since_last: Vec<usize> = Vec::new();
    let mut last_off = false;
    for entry in entries {
        match entry {
            Entry::Header(_) => {}
            Entry::Point { index, .. } => since_last.push(*index),
            Entry::Sentinel { index, time } => {
                let off = usual(entries, *index).is_some_and(|usual| is_off(*time, usual));
                if off || last_off {
                    drifted.append(&mut since_last);
                }
                since_last.clear();
                last_off = off;
            }
        }
    }
    if last_off {
        drifted.append(&mut since_last);
    }
    drifted
}

fn is_off(time: Nanos, usual: f64) -> bool {
    (time.as_f64() / usual - 1.0).abs() > DRIFT
}

/// Median of all readings of the sentinel at `index`.
fn usual(entries: &[Entry], index: usize) -> Option<f64> {
    let readings: Vec<f64> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Sentinel { index: other, time } if *other == index => Some(time.as_f64()),
            _ => None,
        })
        .collect();
    statistics::median(&readings)
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{
        Conditions, CopyDirection, CopyPoint, Failure, Flags, Outcome, Point, Record,
    };

    use super::*;
    use crate::plan::Selection;

    fn run(readings: &[u64]) -> Vec<usize> {
        let direction = CopyDirection::HostToHost;
        let record = Record {
            point: Point::Copy(CopyPoint { direction, pinned: false, bytes: 1 }),
            conditions: Conditions::default(),
            outcome: Outcome::Failed(Failure::BelowTimerResolution),
            flags: Flags::NONE,
        };
        let mut entries = Vec::new();
        for (index, time) in readings.iter().enumerate() {
            entries.push(Entry::Sentinel { index: 99, time: Nanos::new(*time) });
            entries.push(Entry::Point { index, record: record.clone() });
        }
        drifted(&entries)
    }

    #[test]
    fn points_next_to_an_odd_reading_have_drifted() {
        assert!(run(&[100, 101, 99, 104, 100]).is_empty());
        assert_eq!(run(&[100, 100, 130, 100, 100]), [1, 2]);
        assert_eq!(run(&[100, 100, 100, 100, 80]), [3, 4]);
        assert!(run(&[]).is_empty());
    }

    #[test]
    fn the_sentinel_is_a_short_point_of_the_families_measured() {
        let plan = Plan::new(1);
        for family in plan.catalogue.families().iter().copied() {
            let selected = plan.select(&Selection { families: vec![family], deepest: 2 });
            let index = choose(&plan, &selected, &|_| true).unwrap();
            assert_eq!(plan.points[index].point.family(), family);
            let execution = plan.guessed_execution(index).as_f64();
            assert!((2e4..2e6).contains(&execution), "{family}: {execution}");
        }
        assert_eq!(choose(&plan, &[], &|_| true), None);
    }
}
