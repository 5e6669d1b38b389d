//! Why points have no time, in groups: what a person needs to know before the report.
//!
//! A missing library or a broken kernel costs hundreds of points for one reason. Points that need
//! more memory than there is are no surprise, and are left to the report.

use std::collections::BTreeMap;

use kernelgauge_data::{Failure, Outcome, Record, SkipReason};

use crate::commands::Surroundings;

/// Reasons that are named; the report has all.
const NAMED: usize = 4;

/// Says how many points of `records` were skipped or failed for which reason.
pub fn warn(records: &[Record], around: &mut Surroundings<'_>) {
    let groups = groups(records.iter().map(|record| &record.outcome));
    for (reason, count) in groups.iter().take(NAMED) {
        let points = if *count == 1 { "point" } else { "points" };
        around.warn(&format!("{count} {points} {reason}"), None);
    }
    if groups.len() > NAMED {
        around.warn(&format!("{} more reasons are in the report", groups.len() - NAMED), None);
    }
}

/// Reasons with their counts, the most frequent first.
fn groups<'r>(outcomes: impl Iterator<Item = &'r Outcome>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for outcome in outcomes {
        let reason = match outcome {
            Outcome::Measured(_) => continue,
            Outcome::Skipped(reason) => match skipped(reason) {
                Some(words) => format!("skipped: {words}"),
                None => continue,
            },
            Outcome::Failed(failure) => format!("failed: {}", failed(failure)),
        };
        *counts.entry(reason).or_default() += 1;
    }
    let mut groups: Vec<_> = counts.into_iter().collect();
    groups.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    groups
}

/// Why a device cannot take a point; nothing where it needs more memory than there is.
pub fn skipped(reason: &SkipReason) -> Option<String> {
    match reason {
        SkipReason::OutOfMemory { .. } => None,
        SkipReason::Unsupported(what) => Some(what.clone()),
        other => Some(other.to_string()),
    }
}

/// The failure without what differs from point to point.
fn failed(failure: &Failure) -> String {
    match failure {
        Failure::WrongResult(_) => "wrong result".to_owned(),
        Failure::TimedOut(_) => "timed out".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::Bytes;

    use super::*;

    #[test]
    fn reasons_are_counted_and_memory_is_left_out() {
        let unsupported = |what: &str| Outcome::Skipped(SkipReason::Unsupported(what.to_owned()));
        let wrong = |what: &str| Outcome::Failed(Failure::WrongResult(what.to_owned()));
        let outcomes = [
            wrong("element 1"),
            unsupported("no NCCL"),
            wrong("element 2"),
            Outcome::Skipped(SkipReason::OutOfMemory { needs: Bytes::new(2), free: Bytes::new(1) }),
            unsupported("no NCCL"),
            unsupported("no NCCL"),
            Outcome::Failed(Failure::BelowTimerResolution),
        ];
        let named = groups(outcomes.iter());
        let shown: Vec<String> =
            named.iter().map(|(what, count)| format!("{count} {what}")).collect();
        assert_eq!(
            shown,
            ["3 skipped: no NCCL", "2 failed: wrong result", "1 failed: below timer resolution"]
        );
    }
}
