//! Sets of time: unions of intervals, what they share, how long they are.

use kernelgauge_data::Nanos;

use crate::graph::Timing;
use crate::time::Moment;

/// A set of time as intervals that neither touch nor overlap, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intervals(Vec<(Moment, Moment)>);

impl Intervals {
    /// The union of what ran, inside a window.
    pub fn within(window: Timing, timings: impl Iterator<Item = Timing>) -> Self {
        let clipped = timings.filter_map(|timing| {
            let start = timing.start.max(window.start);
            let end = timing.end().min(window.end());
            (start < end).then_some((start, end))
        });
        let mut pieces: Vec<(Moment, Moment)> = clipped.collect();
        pieces.sort_unstable();
        Intervals(merged(pieces))
    }

    /// What is in this set or in another.
    pub fn or(&self, other: &Intervals) -> Intervals {
        let mut pieces = [self.0.as_slice(), other.0.as_slice()].concat();
        pieces.sort_unstable();
        Intervals(merged(pieces))
    }

    /// How much time both sets share.
    pub fn shared(&self, other: &Intervals) -> Nanos {
        let (mut i, mut j, mut sum) = (0, 0, Nanos::default());
        while let (Some(left), Some(right)) = (self.0.get(i), other.0.get(j)) {
            sum = sum + left.1.min(right.1).since(left.0.max(right.0));
            if left.1 < right.1 {
                i += 1;
            } else {
                j += 1;
            }
        }
        sum
    }

    /// How long all of it is.
    pub fn length(&self) -> Nanos {
        self.0.iter().fold(Nanos::default(), |sum, (start, end)| sum + end.since(*start))
    }

    /// What of a window is not in this set.
    pub fn holes(&self, window: Timing) -> Vec<(Moment, Moment)> {
        let mut holes = Vec::new();
        let mut reached = window.start;
        for &(start, end) in &self.0 {
            if reached < start {
                holes.push((reached, start));
            }
            reached = reached.max(end);
        }
        if reached < window.end() {
            holes.push((reached, window.end()));
        }
        holes
    }
}

fn merged(pieces: Vec<(Moment, Moment)>) -> Vec<(Moment, Moment)> {
    let mut merged: Vec<(Moment, Moment)> = Vec::with_capacity(pieces.len());
    for (start, end) in pieces {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(start: i64, end: i64) -> Timing {
        let start = Moment::new(start);
        Timing { start, duration: Moment::new(end).since(start) }
    }

    #[test]
    fn sets_of_time_add_up() {
        let window = timing(0, 100);
        let set = |pieces: &[(i64, i64)]| {
            Intervals::within(window, pieces.iter().map(|&(start, end)| timing(start, end)))
        };
        let left = set(&[(50, 60), (-10, 10), (5, 20), (20, 25), (90, 200)]);
        assert_eq!(left.length(), Nanos::new(45));
        let right = set(&[(15, 55)]);
        assert_eq!(left.shared(&right), Nanos::new(15));
        assert_eq!(right.shared(&left), Nanos::new(15));
        assert_eq!(left.or(&right).length(), Nanos::new(70));
        let holes: i64 = left.holes(window).iter().map(|(start, end)| end.minus(*start)).sum();
        assert_eq!(holes, 55);
    }
}
