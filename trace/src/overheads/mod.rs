//! What ops cost on the host, as five kinds of overhead (Lin et al., "Building a Performance
//! Model for Deep Learning Recommendation Model Training on GPUs", arXiv 2201.07821, section on
//! overheads).
//!
//! * T1: between two ops of the same level.
//! * T2: from the start of an op to its first launch.
//! * T3: from the end of its last launch to its end.
//! * T4: a runtime call itself, by function.
//! * T5: between two launches of an op; all of an op that launches nothing.
//!
//! The profiler itself costs time for every event it records; that is taken off. Launch costs
//! are measured from the trace, where the published method fixes them.
//!
//! Left to others: what the figures are used for (`kernelgauge-predict`).

mod distribution;
#[cfg(test)]
mod tests;
mod top_level;

use std::collections::{BTreeMap, HashSet};

use kernelgauge_data::Nanos;

pub use distribution::Distribution;

use crate::graph::{CallId, Graph};
use top_level::TopLevel;

/// What the profiler adds to the host for each event it records: the published method's figure
/// (2 µs; its history has 1 to 3.8, set by hand).
pub const EVENT_COST: Nanos = Nanos::new(2_000);

/// Gaps between ops that count as T1: longer than the profiler's own cost, shorter than what is
/// no overhead any more (the published method's bounds).
const T1_LONGEST: Nanos = Nanos::new(200_000);

/// Overheads of a host.
#[derive(Debug, Clone, Default)]
pub struct Overheads {
    /// T1, over all ops.
    pub between_ops: Distribution,
    /// T2, T3 and T5 by op, the most frequent first.
    pub ops: Vec<OpOverheads>,
    /// T4 by runtime function.
    pub calls: Vec<(String, Distribution)>,
}

/// Overheads of the ops of one name, or of one name and shapes.
#[derive(Debug, Clone)]
pub struct OpOverheads {
    /// The op.
    pub name: String,
    /// Its input shapes as written; empty where they are not told apart.
    pub shapes: String,
    /// How often it was called.
    pub calls: u64,
    /// The most launches it made in one call.
    pub launches: u64,
    /// T2.
    pub before: Distribution,
    /// T3.
    pub after: Distribution,
    /// T5.
    pub between: Distribution,
}

#[derive(Default)]
struct Samples {
    calls: u64,
    launches: u64,
    before: Vec<Nanos>,
    after: Vec<Nanos>,
    between: Vec<Nanos>,
}

/// The overheads of all ranks of a graph, pooled. `event_cost` is what the profiler adds for
/// each event; `by_shape` tells ops of different input shapes apart.
pub fn overheads(graph: &Graph, event_cost: Nanos, by_shape: bool) -> Overheads {
    let launches = launching(graph);
    let mut between_ops = Vec::new();
    let mut ops: BTreeMap<(String, String), Samples> = BTreeMap::new();
    for processor in &graph.processors {
        if !processor.kind.is_thread() {
            continue;
        }
        let mut before: Option<TopLevel> = None;
        for place in processor.calls.clone() {
            let Some(op) = TopLevel::at(graph, CallId(place)) else { continue };
            if let Some(gap) = before.as_ref().and_then(|before| op.gap_after(graph, before)) {
                let counts = gap > event_cost && gap < T1_LONGEST;
                between_ops.extend(counts.then(|| gap.saturating_sub(event_cost)));
            }
            let shapes = if by_shape { op.shapes(graph) } else { String::new() };
            let samples = ops.entry((op.name(graph), shapes)).or_default();
            sample(graph, &op, &launches, event_cost, samples);
            before = Some(op);
        }
    }
    let mut ops: Vec<OpOverheads> = ops.into_iter().map(summed).collect();
    ops.sort_by(|a, b| (b.calls, &a.name, &a.shapes).cmp(&(a.calls, &b.name, &b.shapes)));
    Overheads {
        between_ops: Distribution::of(between_ops),
        ops,
        calls: calls(graph, &launches, event_cost),
    }
}

fn summed(((name, shapes), samples): ((String, String), Samples)) -> OpOverheads {
    OpOverheads {
        name,
        shapes,
        calls: samples.calls,
        launches: samples.launches,
        before: Distribution::of(samples.before),
        after: Distribution::of(samples.after),
        between: Distribution::of(samples.between),
    }
}

/// Runtime calls that launched work, as places among the calls.
fn launching(graph: &Graph) -> HashSet<CallId> {
    let launches = graph.tasks.iter().filter_map(|task| task.launch);
    launches.filter_map(|launch| graph.task(launch).call).collect()
}

fn sample(
    graph: &Graph,
    op: &TopLevel,
    launches: &HashSet<CallId>,
    event_cost: Nanos,
    samples: &mut Samples,
) {
    samples.calls += 1;
    let made: Vec<CallId> = op.within().filter(|call| launches.contains(call)).collect();
    let cost = |events: u64| Nanos::new(event_cost.get().saturating_mul(events));
    let (Some(&first), Some(&last)) = (made.first(), made.last()) else {
        let all = op.within().count() as u64;
        samples.between.push(op.timing.duration.saturating_sub(cost(all)));
        return;
    };
    samples.launches = samples.launches.max(made.len() as u64);
    let events = |after: u32, before: u32| cost(u64::from(before.saturating_sub(after + 1)));
    let timing = |call: CallId| graph.call(call).timing;
    let (Some(start), Some(end)) = (timing(first), timing(last)) else { return };
    let before = start.start.since(op.timing.start);
    samples.before.push(before.saturating_sub(events(op.id.0, first.0)));
    let after = op.timing.end().since(end.end());
    samples.after.push(after.saturating_sub(events(last.0, op.end)));
    for pair in made.windows(2) {
        let (Some(left), Some(right)) = (timing(pair[0]), timing(pair[1])) else { continue };
        let gap = right.start.since(left.end());
        samples.between.push(gap.saturating_sub(events(pair[0].0, pair[1].0)));
    }
}

/// T4: the time of runtime calls that launched work, by function.
fn calls(
    graph: &Graph,
    launches: &HashSet<CallId>,
    event_cost: Nanos,
) -> Vec<(String, Distribution)> {
    let mut times: BTreeMap<&str, Vec<Nanos>> = BTreeMap::new();
    for &call in launches {
        let this = graph.call(call);
        if let Some(timing) = this.timing {
            let name = graph.names.text(this.name);
            times.entry(name).or_default().push(timing.duration.saturating_sub(event_cost));
        }
    }
    let mut calls: Vec<(String, Distribution)> =
        times.into_iter().map(|(name, times)| (name.to_owned(), Distribution::of(times))).collect();
    calls.sort_by(|a, b| (b.1.count, &a.0).cmp(&(a.1.count, &b.0)));
    calls
}
