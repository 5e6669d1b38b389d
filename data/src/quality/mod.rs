//! The quality gate: what about a set of measurements cannot be, or should be known.
//!
//! Every finding is a flag on a record and a sentence for people. Nothing is removed, smoothed
//! or corrected; [`crate::Flag::leaves_fit`] says which flags keep a record out of fits. Points
//! are judged against published peaks of their device and against their neighbours: points of
//! the same variant and conditions that differ in one parameter only, a *line*.
//!
//! Left to others: flags that only the measuring code can raise (throttled, drift, failed
//! check), and what to print.

mod lines;
mod samples;
mod shape;
mod speed;
#[cfg(test)]
mod tests;

use crate::machine::Machine;
use crate::measurement::{Flag, Record};
use lines::Lines;

/// One record and what is odd about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Index of the record.
    pub record: usize,
    /// What was found.
    pub flag: Flag,
    /// The point and the numbers behind the finding, in one line.
    pub detail: String,
}

/// Flags `records` and says why, in record order. Running it again finds the same: flags it
/// has raised before are raised again and count once. Takes `n log n` time.
pub fn gate(records: &mut [Record], machine: &Machine) -> Vec<Finding> {
    let mut findings = samples::findings(records);
    let lines = Lines::of(records);
    findings.extend(speed::findings(records, &lines, machine));
    let impossible = marked(records.len(), &findings, Flag::BelowSpeedOfLight);
    findings.extend(shape::findings(records, &lines, &impossible));
    findings.sort_by_key(|finding| (finding.record, finding.flag));
    for finding in &findings {
        records[finding.record].flags.insert(finding.flag);
    }
    findings
}

fn marked(count: usize, findings: &[Finding], flag: Flag) -> Vec<bool> {
    let mut marked = vec![false; count];
    for finding in findings.iter().filter(|finding| finding.flag == flag) {
        marked[finding.record] = true;
    }
    marked
}
