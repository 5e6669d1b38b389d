//! Which interval of a thread lies in which.

use crate::time::Moment;

/// An interval on a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// When it begins.
    pub start: Moment,
    /// When it ends.
    pub end: Moment,
}

/// The interval around each, and how far each may reach.
#[derive(Debug, Default)]
pub struct Nesting {
    /// The innermost interval around each.
    pub parents: Vec<Option<u32>>,
    /// The end of each, cut where it would reach out of the interval around it.
    pub ends: Vec<Moment>,
    /// Intervals that were cut by more than [`ROUNDING`] nanoseconds.
    pub crossings: u64,
}

/// Integer microseconds round start and duration down apart, so that a child may seem to end
/// this much after its parent.
const ROUNDING: i64 = 1_000;

/// Nests intervals that come in order of their start, the longer first.
///
/// An interval that reaches out of the one it begins in counts as within it: recorders round,
/// and a range that was ended on another thread is no reason to lose what it contains.
pub fn nest(intervals: &[Interval]) -> Nesting {
    let mut nesting = Nesting::default();
    let mut open: Vec<u32> = Vec::new();
    for (place, interval) in (0_u32..).zip(intervals) {
        while let Some(&last) = open.last() {
            let (start, end) = (intervals[last as usize].start, nesting.ends[last as usize]);
            // An interval without length may hold others without length at the same time.
            let holds = interval.start < end || (start == end && interval.start == start);
            if holds && (start != end || interval.end == end) {
                break;
            }
            open.pop();
        }
        let around = open.last().copied();
        let limit = around.map(|around| nesting.ends[around as usize]);
        let end = limit.map_or(interval.end, |limit| interval.end.min(limit));
        if interval.end.minus(end) > ROUNDING {
            nesting.crossings += 1;
        }
        nesting.parents.push(around);
        nesting.ends.push(end);
        open.push(place);
    }
    nesting
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(intervals: &[(i64, i64)], parents: &[Option<u32>]) -> Nesting {
        let intervals: Vec<Interval> = intervals
            .iter()
            .map(|&(start, end)| Interval { start: Moment::new(start), end: Moment::new(end) })
            .collect();
        let nesting = nest(&intervals);
        assert_eq!(nesting.parents, parents);
        nesting
    }

    #[test]
    fn neighbours_do_not_nest_and_children_do() {
        check(&[(0, 10), (2, 5), (5, 9), (10, 12)], &[None, Some(0), Some(0), None]);
    }

    #[test]
    fn equal_intervals_nest_in_their_order() {
        check(&[(0, 10), (0, 10), (0, 4)], &[None, Some(0), Some(1)]);
    }

    #[test]
    fn an_interval_without_length_holds_its_equals_only() {
        check(&[(5, 5), (5, 5), (5, 5)], &[None, Some(0), Some(1)]);
        check(&[(0, 9), (5, 5), (5, 6)], &[None, Some(0), Some(0)]);
    }

    #[test]
    fn what_reaches_out_is_cut() {
        let nesting = check(&[(0, 10_000), (8_000, 19_000)], &[None, Some(0)]);
        assert_eq!(nesting.ends[1], Moment::new(10_000));
        assert_eq!(nesting.crossings, 1);
        assert_eq!(check(&[(0, 10), (8, 11)], &[None, Some(0)]).crossings, 0);
    }
}
