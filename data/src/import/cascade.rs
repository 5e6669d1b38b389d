//! Chains of failures: when one bad point broke the device, all later ones "failed" at once.
//!
//! The points after the first were never attempted in earnest; recorded as failures of their
//! own they would hide the one that matters.

use crate::import::ImportSummary;
use crate::measurement::{Failure, Outcome, Record};

/// A shorter run of equal failures at the end of a file may be what it seems.
const SHORTEST: usize = 3;

/// Turns all but the first of a run of equal failures that lasts to the end into
/// [`Failure::AfterDeviceLost`], and notes the first.
pub(crate) fn fold(records: &mut [Record], summary: &mut ImportSummary) {
    let Some(Outcome::Failed(last)) = records.last().map(|record| record.outcome.clone()) else {
        return;
    };
    if matches!(last, Failure::BelowTimerResolution | Failure::NoValidSamples(_)) {
        return;
    }
    let same = |record: &&Record| record.outcome == Outcome::Failed(last.clone());
    let length = records.iter().rev().take_while(same).count();
    if length < SHORTEST {
        return;
    }
    // The failure before the run may be told in other words: the device broke there, and
    // everything after it reports only that it is broken.
    let run = records.len() - length;
    let first = match run.checked_sub(1) {
        Some(before)
            if matches!(records[before].outcome, Outcome::Failed(Failure::Stated(_)))
                && matches!(last, Failure::Stated(_)) =>
        {
            before
        }
        _ => run,
    };
    let culprit = match &records[first].outcome {
        Outcome::Failed(failure) => format!("{}: {failure}", records[first].point),
        _ => return,
    };
    for record in &mut records[first + 1..] {
        record.outcome = Outcome::Failed(Failure::AfterDeviceLost(culprit.clone()));
    }
    summary.note(format!(
        "{} points after `{culprit}` failed alike to the end of the file: they count as not \
         attempted, and only the first as failed",
        records.len() - first - 1
    ));
}
