//! From recordings and execution traces to one graph.
//!
//! Order of work for a rank: intervals of a thread are nested (`forest`) and cut into exclusive
//! pieces (`pieces`); work on devices is laid on streams and tied to its launch (`device`); ops
//! find their nodes in the execution trace (`nodes`), collectives their kind and bytes
//! (`collectives`). Then come the edges, the ranks meet (`meet`), and what contradicts itself goes
//! (`untangle`).
//!
//! Left to others: reading (`kineto`, `execution`), checking (`graph::check`).

mod alone;
mod collectives;
mod device;
mod edges;
pub(crate) mod elements;
mod forest;
mod host;
mod links;
mod meet;
mod nodes;
mod pieces;
mod rank;
mod steps;
#[cfg(test)]
mod tests;
mod translate;
mod untangle;

pub use links::{Links, check};

use crate::execution::ExecutionTrace;
use crate::graph::Graph;
use crate::recording::Recording;

/// Links recordings, and the execution traces of the same ranks, into one graph.
///
/// Ranks come out by number; what has none keeps its place. An execution trace whose rank was
/// not recorded otherwise gives tasks without times.
pub fn graph(recordings: Vec<Recording>, executions: Vec<ExecutionTrace>) -> Graph {
    let mut graph = Graph::default();
    for oddities in executions.iter().map(|execution| &execution.node_oddities) {
        graph.links.orphan_nodes += oddities.orphans;
        graph.links.repeated_nodes += oddities.repeated;
    }
    let mut executions: Vec<Option<ExecutionTrace>> = executions.into_iter().map(Some).collect();
    let lone = recordings.len() == 1 && executions.len() == 1;
    for (place, recording) in by_rank(recordings) {
        let number = recording.rank.map_or(place, |stated| stated.rank);
        let execution = executions.iter_mut().find(|execution| {
            let rank = execution.as_ref().and_then(|execution| execution.rank);
            execution.is_some() && (lone || rank.is_some_and(|stated| stated.rank == number))
        });
        rank::add(&mut graph, number, recording, execution.and_then(Option::take).as_ref());
    }
    for execution in executions.into_iter().flatten() {
        alone::add(&mut graph, &execution);
    }
    meet(&mut graph);
    graph
}

/// Lets ranks meet, and takes out what contradicts itself.
pub(crate) fn meet(graph: &mut Graph) {
    meet::tie(graph);
    untangle::untangle(graph);
}

fn by_rank(recordings: Vec<Recording>) -> Vec<(u32, Recording)> {
    let mut placed: Vec<(u32, Recording)> = (0..).zip(recordings).collect();
    placed.sort_by_key(|(place, recording)| recording.rank.map_or(*place, |stated| stated.rank));
    placed
}
