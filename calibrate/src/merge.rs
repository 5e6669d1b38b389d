//! Adds records to a data set that may have measured the same points already.
//!
//! What is the same to the nanosecond is folded; what disagrees is kept twice and flagged, for
//! which of the two is right is not known here.

use std::collections::BTreeMap;

use kernelgauge_data::{Conditions, Flag, Point, Record};

/// What became of the records that were added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Merged {
    /// New ones, repeats included.
    pub added: usize,
    /// Those that were there already, exactly.
    pub folded: usize,
    /// Those whose point was there with another time.
    pub conflicting: usize,
}

impl Merged {
    /// Lines for the account of an import; empty when everything was new.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if self.folded > 0 {
            text.push_str(&format!("  folded   {} were in the data set already\n", self.folded));
        }
        if self.conflicting > 0 {
            text.push_str(&format!(
                "  repeated {} were in the data set with another time: both are kept and flagged\n",
                self.conflicting
            ));
        }
        text
    }
}

/// Adds `new` to `records`.
pub fn into(records: &mut Vec<Record>, new: Vec<Record>) -> Merged {
    let mut known: BTreeMap<(Point, Conditions), Vec<usize>> = BTreeMap::new();
    for (index, record) in records.iter().enumerate() {
        known.entry(key(record)).or_default().push(index);
    }
    let mut merged = Merged::default();
    for mut record in new {
        let same = known.get(&key(&record)).map(Vec::as_slice).unwrap_or_default();
        if same.iter().any(|index| records[*index].outcome == record.outcome) {
            merged.folded += 1;
            continue;
        }
        let rivals: Vec<usize> =
            same.iter().copied().filter(|index| records[*index].time().is_some()).collect();
        if record.time().is_some() && !rivals.is_empty() {
            merged.conflicting += 1;
            record.flags.insert(Flag::ConflictingRepeats);
            rivals.iter().for_each(|i| records[*i].flags.insert(Flag::ConflictingRepeats));
        }
        merged.added += 1;
        records.push(record);
    }
    merged
}

fn key(record: &Record) -> (Point, Conditions) {
    (record.point.clone(), record.conditions.clone())
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{CopyDirection, CopyPoint, Failure, Flags, Measurement, Nanos, Outcome};

    use super::*;

    fn record(bytes: u64, outcome: Outcome) -> Record {
        let direction = CopyDirection::HostToHost;
        Record {
            point: Point::Copy(CopyPoint { direction, pinned: false, bytes }),
            conditions: Conditions::default(),
            outcome,
            flags: Flags::NONE,
        }
    }

    #[test]
    fn the_same_is_folded_and_what_disagrees_is_kept_twice() {
        let measured = |nanos| Outcome::Measured(Measurement::stated(Nanos::new(nanos)));
        let failed = || Outcome::Failed(Failure::BelowTimerResolution);
        let mut records =
            vec![record(1, measured(10)), record(2, measured(20)), record(3, failed())];
        let merged = into(
            &mut records,
            vec![
                record(1, measured(10)),
                record(2, measured(25)),
                record(3, measured(30)),
                record(4, measured(40)),
            ],
        );
        assert_eq!(merged, Merged { added: 3, folded: 1, conflicting: 1 });
        let flagged: Vec<bool> =
            records.iter().map(|r| r.flags.contains(Flag::ConflictingRepeats)).collect();
        assert_eq!(flagged, [false, true, false, true, false, false]);
    }
}
