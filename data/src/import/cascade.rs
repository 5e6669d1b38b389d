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
    let first = records.len() - length;
    let culprit = format!("{}: {last}", records[first].point);
    for record in &mut records[first + 1..] {
        record.outcome = Outcome::Failed(Failure::AfterDeviceLost(culprit.clone()));
    }
    summary.note(format!(
        "{} points after `{culprit}` failed alike to the end of the file: they count as not \
         attempted, and only the first as failed",
        length - 1
    ));
}
