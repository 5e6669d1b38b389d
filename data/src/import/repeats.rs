//! The same point more than once: identical rows are folded, differing ones are all kept.

use std::collections::HashMap;

use crate::conditions::Conditions;
use crate::import::ImportSummary;
use crate::measurement::Record;
use crate::point::Point;

/// Drops records that repeat an earlier one in every respect, and notes how many. Repeats with
/// another time stay: which of them is right is not known here.
pub(crate) fn fold_identical(records: Vec<Record>, summary: &mut ImportSummary) -> Vec<Record> {
    let mut kept: Vec<Record> = Vec::with_capacity(records.len());
    let mut seen: HashMap<(Point, Conditions), Vec<usize>> = HashMap::with_capacity(records.len());
    let mut folded = 0_usize;
    for record in records {
        let key = (record.point.clone(), record.conditions.clone());
        let earlier = seen.entry(key).or_default();
        if earlier.iter().any(|index| kept[*index] == record) {
            folded += 1;
            continue;
        }
        earlier.push(kept.len());
        kept.push(record);
    }
    if folded > 0 {
        let rows = if folded == 1 { "row that repeats" } else { "rows that repeat" };
        summary.note(format!("{folded} {rows} an earlier one exactly: folded"));
    }
    kept
}
