//! Tasks as nodes that run from start to end and wait at their start alone.
//!
//! In a graph an edge may leave a task at its start (a launch) or hold its end (a
//! synchronisation). A node of Chakra waits at its start and is waited for at its end. So what a
//! task waited for at its end is taken off its duration. A task with both (a copy that blocks
//! until it is done) becomes two nodes: one that launches, one that waits. So does a launch that
//! returns after its work has begun, as it does while the queue of the device is full.

use crate::graph::{Edge, Graph, TaskId, Timing};

/// A task as one node or two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// Nanoseconds of the first node.
    pub(super) first: u64,
    /// Nanoseconds of the second node, which waits or goes on, where there is one.
    pub(super) second: Option<u64>,
}

/// Splits the tasks `tasks` of a graph; `edges` are those that begin and end among them.
pub(super) fn split(graph: &Graph, tasks: &[TaskId], edges: &[(usize, usize, Edge)]) -> Vec<Parts> {
    let timing = |place: usize| tasks.get(place).and_then(|&task| graph.task(task).timing);
    // The latest end of what holds a task's end, and how long after its start the first work it
    // launched began.
    let mut held: Vec<Option<i64>> = vec![None; tasks.len()];
    let mut launches: Vec<Option<u64>> = vec![None; tasks.len()];
    for &(from, to, edge) in edges {
        if edge.kind.holds_end() {
            let end = timing(from).map_or(i64::MIN, |timing| timing.end().get());
            held[to] = held[to].max(Some(end));
        }
        if edge.kind.from_start() {
            let both = timing(from).zip(timing(to));
            let later = both.map_or(edge.lag, |(from, to)| to.start.since(from.start)).get();
            launches[from] = Some(launches[from].map_or(later, |least| least.min(later)));
        }
    }
    let parts = (0..tasks.len()).map(|place| match (timing(place), held[place], launches[place]) {
        (None, held, launches) => Parts { first: 0, second: held.and(launches).map(|_| 0) },
        (Some(timing), None, Some(later)) if later < timing.duration.get() => {
            let rest = timing.duration.get() - later;
            Parts { first: later, second: Some(rest) }
        }
        (Some(timing), None, _) => Parts { first: timing.duration.get(), second: None },
        (Some(timing), Some(until), None) => Parts { first: after(timing, 0, until), second: None },
        (Some(timing), Some(until), Some(later)) => {
            let first = later.min(timing.duration.get());
            Parts { first, second: Some(after(timing, first, until)) }
        }
    });
    parts.collect()
}

/// What of a task comes after its first `begun` nanoseconds and after the moment `until`.
fn after(timing: Timing, begun: u64, until: i64) -> u64 {
    let begun = timing.start.shifted(i64::try_from(begun).unwrap_or(i64::MAX)).get();
    let left = timing.end().get().saturating_sub(begun.max(until));
    u64::try_from(left).unwrap_or(0)
}
