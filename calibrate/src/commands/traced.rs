//! `--from-trace`: the plan of a recorded workload, and what of it was measured in the end.
//!
//! Left to others: which point an op is (`kernelgauge_trace::ops`), which of them a device
//! measures (`plan::workload`).

use kernelgauge_cuda::Device;
use kernelgauge_data::{Nanos, Outcome};
use kernelgauge_trace::ops::{self, Distinct};
use kernelgauge_trace::{ReadOptions, input};

use super::Surroundings;
use crate::args::MeasureArguments;
use crate::error::{CommandError, UsageError};
use crate::journal::Contents;
use crate::plan::workload::Workload;
use crate::plan::{Catalogue, Plan};

/// Reasons that are named.
const NAMED: usize = 6;

/// The ops of the traces that were named; none where none was.
///
/// # Errors
/// Traces that cannot be read, or have no ops.
pub fn ops(
    arguments: &MeasureArguments,
    around: &mut Surroundings<'_>,
) -> Result<Option<Vec<Distinct>>, CommandError> {
    if arguments.from_trace.is_empty() {
        return Ok(None);
    }
    let options = ReadOptions {
        allow_truncated: arguments.allow_truncated,
        allow_unknown_schema: arguments.allow_unknown_schema,
        ..ReadOptions::default()
    };
    let loaded = input::load(&arguments.from_trace, &options)?;
    loaded.notes.iter().for_each(|note| around.say(&format!("note: {note}")));
    let graph = loaded.into_graph()?;
    let ops = ops::distinct(&graph);
    if ops.is_empty() {
        let what = "the traces hold no work on a device and no operators";
        let hint = "record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA] and \
                    record_shapes=True, or give the execution trace";
        return Err(UsageError::mistake(what, hint).into());
    }
    Ok(Some(ops))
}

/// What of the ops `device` measures; says what is left out.
///
/// # Errors
/// Nothing can be measured.
pub fn workload(
    ops: &[Distinct],
    catalogue: Catalogue,
    device: &dyn Device,
    around: &mut Surroundings<'_>,
) -> Result<Workload, UsageError> {
    let workload = Workload::of(ops, catalogue, device);
    if workload.points.is_empty() {
        let reasons = workload.left_out.iter().take(NAMED);
        let reasons: Vec<String> =
            reasons.map(|(why, share)| format!("{}: {why}", calls(share.calls))).collect();
        let name = device.machine().name;
        return Err(UsageError::mistake(
            format!("nothing of the workload can be measured on {name} ({})", reasons.join("; ")),
            "`predict ops` lists its ops with shapes and reasons; record with record_shapes=True, \
             and calibrate on the kind of device that ran it",
        ));
    }
    for (why, share) in workload.left_out.iter().take(NAMED) {
        let time = match share.device {
            time if time == Nanos::default() => String::new(),
            time => format!(", {time} on the device"),
        };
        around.say(&format!("left out: {}{time}: {why}", calls(share.calls)));
    }
    let more = workload.left_out.iter().skip(NAMED).map(|(_, share)| share.calls);
    let (reasons, more) = (workload.left_out.len().saturating_sub(NAMED), more.sum());
    if reasons > 0 {
        around
            .say(&format!("left out: {} for {reasons} more reasons (`predict ops`)", calls(more)));
    }
    Ok(workload)
}

fn calls(count: u64) -> String {
    format!("{count} call{}", if count == 1 { "" } else { "s" })
}

/// Families that the workload has none of leave nothing to measure.
///
/// # Errors
/// Nothing is selected of a workload.
pub fn refuse_nothing(
    plan: &Plan,
    selected: &[usize],
    arguments: &MeasureArguments,
) -> Result<(), UsageError> {
    let Some(workload) = &plan.workload else { return Ok(()) };
    if !selected.is_empty() {
        return Ok(());
    }
    let mut families: Vec<&str> = workload.points.keys().map(|p| p.family().name()).collect();
    families.dedup();
    Err(UsageError::mistake(
        format!("nothing of the workload is of family {}", arguments.ops.join(", ")),
        format!("what can be measured of it is {}", families.join(", ")),
    ))
}

/// How much of the workload has a time now.
pub fn say_what_is_covered(plan: &Plan, contents: &Contents, around: &mut Surroundings<'_>) {
    let Some(workload) = &plan.workload else { return };
    let records = contents.records();
    let measured = records.iter().filter(|(_, r)| matches!(r.outcome, Outcome::Measured(_)));
    let points = measured.filter_map(|(index, _)| plan.points.get(*index));
    let part = workload.share(points.map(|candidate| &candidate.point));
    around.say(&format!("of the workload, measured {}", workload.in_words(part)));
}
