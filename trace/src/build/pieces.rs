//! Cuts a thread into pieces during which one interval is the innermost.

use super::forest::{Interval, Nesting};
use crate::time::Moment;

/// A piece of a thread's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The innermost interval, as a place; none between intervals.
    pub inside: Option<u32>,
    /// When it begins.
    pub start: Moment,
    /// When it ends.
    pub end: Moment,
}

/// The pieces from the start of the first interval to the end of the last, without holes and
/// overlaps. Pieces without length are left out, but every interval of which `kept` says so has
/// at least one.
pub fn cut(intervals: &[Interval], nesting: &Nesting, kept: impl Fn(u32) -> bool) -> Vec<Piece> {
    let mut knife =
        Knife { pieces: Vec::new(), reached: None, shown: vec![false; intervals.len()] };
    let mut open: Vec<u32> = Vec::new();
    let end_of = |place: u32| nesting.ends[place as usize];
    for (place, interval) in (0_u32..).zip(intervals) {
        while let Some(&last) = open.last() {
            if nesting.parents[place as usize] == Some(last) {
                break;
            }
            knife.until(end_of(last), Some(last), kept(last));
            open.pop();
        }
        knife.until(interval.start, open.last().copied(), false);
        open.push(place);
    }
    while let Some(last) = open.pop() {
        knife.until(end_of(last), Some(last), kept(last));
    }
    knife.pieces
}

struct Knife {
    pieces: Vec<Piece>,
    /// Up to where the thread is cut.
    reached: Option<Moment>,
    /// Which intervals have a piece.
    shown: Vec<bool>,
}

impl Knife {
    fn until(&mut self, end: Moment, inside: Option<u32>, kept: bool) {
        let start = *self.reached.get_or_insert(end);
        let end = end.max(start);
        let shown = inside.is_some_and(|inside| self.shown[inside as usize]);
        if end > start || (kept && !shown) {
            self.pieces.push(Piece { inside, start, end });
            if let Some(inside) = inside {
                self.shown[inside as usize] = true;
            }
        }
        self.reached = Some(end);
    }
}

#[cfg(test)]
mod tests {
    use super::super::forest::nest;
    use super::*;

    fn check(intervals: &[(i64, i64)], kept: &[u32], expected: &[(Option<u32>, i64, i64)]) {
        let intervals: Vec<Interval> = intervals
            .iter()
            .map(|&(start, end)| Interval { start: Moment::new(start), end: Moment::new(end) })
            .collect();
        let pieces = cut(&intervals, &nest(&intervals), |place| kept.contains(&place));
        let pieces: Vec<_> =
            pieces.iter().map(|piece| (piece.inside, piece.start.get(), piece.end.get())).collect();
        assert_eq!(pieces, expected);
    }

    #[test]
    fn an_op_is_cut_around_its_children() {
        check(
            &[(0, 10), (2, 5), (5, 9), (12, 13)],
            &[],
            &[
                (Some(0), 0, 2),
                (Some(1), 2, 5),
                (Some(2), 5, 9),
                (Some(0), 9, 10),
                (None, 10, 12),
                (Some(3), 12, 13),
            ],
        );
    }

    #[test]
    fn a_launch_without_length_keeps_its_piece() {
        check(&[(0, 4), (2, 2)], &[1], &[(Some(0), 0, 2), (Some(1), 2, 2), (Some(0), 2, 4)]);
        check(&[(0, 4), (2, 2)], &[], &[(Some(0), 0, 2), (Some(0), 2, 4)]);
    }
}
