//! What an import kept, flagged and dropped, and why.

use std::collections::BTreeMap;

use crate::measurement::{Flag, Outcome, Record};
use crate::units::Nanos;

/// Lines listed per reason; beyond that they are only counted.
const LISTED_LINES: usize = 20;

/// Rows left out for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// Why.
    pub reason: String,
    /// The first lines (from 1) it happened on, at most twenty.
    pub lines: Vec<usize>,
    /// On how many lines it happened.
    pub count: usize,
}

/// The account of one import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportSummary {
    /// Records kept, whatever became of their points.
    pub kept: usize,
    /// Of those, points without a time because they were skipped.
    pub skipped: usize,
    /// Of those, points without a time because they failed.
    pub failed: usize,
    /// Records per flag.
    pub flagged: BTreeMap<Flag, usize>,
    /// Times that whole nanoseconds change by more than 1 %.
    pub rounded: usize,
    /// Rows left out, by reason, in order of first occurrence.
    pub dropped: Vec<Dropped>,
    /// What a reader should know: assumptions made, repeats folded.
    pub notes: Vec<String>,
}

impl ImportSummary {
    /// Accounts for a row that was left out.
    pub fn drop_line(&mut self, reason: impl Into<String>, line: usize) {
        let reason = reason.into();
        let known = self.dropped.iter_mut().find(|dropped| dropped.reason == reason);
        match known {
            Some(dropped) => {
                dropped.count += 1;
                if dropped.lines.len() < LISTED_LINES {
                    dropped.lines.push(line);
                }
            }
            None => self.dropped.push(Dropped { reason, lines: vec![line], count: 1 }),
        }
    }

    /// Counts a time of `stated` nanoseconds that became `kept` if that changed it noticeably.
    pub(crate) fn see_rounding(&mut self, stated: f64, kept: Nanos) {
        /// Less than what repeats of a measurement differ by.
        const NOTICEABLE: f64 = 0.01;
        if (kept.as_f64() / stated - 1.0).abs() > NOTICEABLE {
            self.rounded += 1;
        }
    }

    /// Adds a note, once.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Rows left out in all.
    pub fn dropped_rows(&self) -> usize {
        self.dropped.iter().map(|dropped| dropped.count).sum()
    }

    /// Counts `records`, replacing earlier counts of kept, skipped, failed and flagged.
    pub fn count(&mut self, records: &[Record]) {
        let of = |wanted: fn(&Outcome) -> bool| {
            records.iter().filter(|record| wanted(&record.outcome)).count()
        };
        self.kept = records.len();
        self.skipped = of(|outcome| matches!(outcome, Outcome::Skipped(_)));
        self.failed = of(|outcome| matches!(outcome, Outcome::Failed(_)));
        self.flagged.clear();
        for flag in records.iter().flat_map(|record| record.flags.iter()) {
            *self.flagged.entry(flag).or_default() += 1;
        }
    }

    /// Joins the account of another file.
    pub fn merge(&mut self, other: ImportSummary) {
        self.kept += other.kept;
        self.skipped += other.skipped;
        self.failed += other.failed;
        self.rounded += other.rounded;
        for (flag, count) in other.flagged {
            *self.flagged.entry(flag).or_default() += count;
        }
        self.dropped.extend(other.dropped);
        for note in other.notes {
            self.note(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_twenty_are_counted_only() {
        let mut summary = ImportSummary::default();
        for line in 1..=30 {
            summary.drop_line("not a row", line);
        }
        summary.drop_line("too short", 7);
        assert_eq!(summary.dropped.len(), 2);
        assert_eq!((summary.dropped[0].lines.len(), summary.dropped[0].count), (20, 30));
        assert_eq!(summary.dropped_rows(), 31);
    }
}
