//! The order of the pieces of a thread.

use kernelgauge_data::Nanos;

use crate::graph::{Edge, EdgeKind, Graph, ProcessorKind, TaskId};

/// Ties each piece of a thread to the one before it; pieces leave no holes.
pub fn tie(graph: &mut Graph, rank: u32) {
    let Graph { ranks, processors, edges, .. } = graph;
    let processors = &processors[as_range(&ranks[rank as usize].processors)];
    let threads = processors.iter().filter(|one| matches!(one.kind, ProcessorKind::Thread { .. }));
    for thread in threads {
        for to in thread.tasks.clone().skip(1) {
            let (from, to) = (TaskId(to - 1), TaskId(to));
            edges.push(Edge { from, to, kind: EdgeKind::Thread, lag: Nanos::new(0) });
        }
    }
}

/// A range of places.
pub fn as_range(range: &std::ops::Range<u32>) -> std::ops::Range<usize> {
    range.start as usize..range.end as usize
}
