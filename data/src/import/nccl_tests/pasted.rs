//! Runs that stand in a log twice, because it was pasted twice.
//!
//! Two runs never agree in every digit of every row, so one that does is the same run again
//! and no repeat of its points.

use std::collections::HashMap;

use crate::measurement::Record;
use crate::point::Point;
use crate::units::Nanos;

/// The runs of one log so far.
#[derive(Debug, Default)]
pub(super) struct RunsSeen {
    runs: Vec<Vec<Record>>,
    /// The runs that hold a point with a time.
    holders: HashMap<(Point, Option<Nanos>), Vec<usize>>,
}

impl RunsSeen {
    /// Whether all of `run`, or all that is left of it where it was cut, stands in one earlier
    /// run; it counts as seen from now on.
    pub fn repeat(&mut self, run: &[Record]) -> bool {
        let Some(first) = run.first() else { return false };
        let holders = self.holders.get(&key(first)).map(Vec::as_slice).unwrap_or_default();
        let holds_all = |index: &usize| run.iter().all(|record| self.runs[*index].contains(record));
        if holders.iter().any(holds_all) {
            return true;
        }
        for record in run {
            self.holders.entry(key(record)).or_default().push(self.runs.len());
        }
        self.runs.push(run.to_vec());
        false
    }
}

fn key(record: &Record) -> (Point, Option<Nanos>) {
    (record.point.clone(), record.time())
}
