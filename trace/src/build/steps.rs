//! Training steps of a rank, from the profiler's marks.

use crate::graph::{Call, CallKind, Graph, Step, Timing};
use crate::time::Moment;

/// What the profiler calls a step: `ProfilerStep#5`, or `ProfilerStep*` in some tools' exports.
const MARK: &str = "ProfilerStep#";

/// The number of a step, if this name marks one.
pub fn number(name: &str) -> Option<u64> {
    name.strip_prefix(MARK)?.parse().ok()
}

/// The steps that were marked on a rank's threads, in order of time.
pub fn marked(graph: &Graph, calls: &[Call]) -> Vec<Step> {
    let step = |call: &Call| {
        let number = number(graph.names.text(call.name))?;
        Some(Step { number, timing: call.timing? })
    };
    let annotations = calls.iter().filter(|call| call.kind != CallKind::Runtime);
    let mut steps: Vec<Step> = annotations.filter_map(step).collect();
    steps.sort_by_key(|step| (step.timing.start, step.number));
    // Every thread of a data loader may repeat the mark of its program.
    steps.dedup_by_key(|step| step.number);
    steps
}

/// The one step that spans everything, where none was marked.
pub fn whole(span: Timing) -> Vec<Step> {
    vec![Step { number: 0, timing: span }]
}

/// The step a moment lies in, as a place.
pub fn at(steps: &[Step], moment: Moment) -> Option<u32> {
    let after = steps.partition_point(|step| step.timing.start <= moment);
    let place = after.checked_sub(1)?;
    let step = steps.get(place)?;
    // The last step includes its end, so that work without length there is not lost.
    let within = moment < step.timing.end() || (moment == step.timing.end());
    within.then_some(place as u32)
}
