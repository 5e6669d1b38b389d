//! The order of the pieces of a thread.

use kernelgauge_data::Nanos;

use crate::graph::{Edge, EdgeKind, Graph, TaskId};

/// Ties each piece of a thread to the one before it; pieces leave no holes.
pub fn tie(graph: &mut Graph, rank: u32) {
    let later = graph.threads_of(rank).flat_map(|(_, thread)| thread.tasks.clone().skip(1));
    let tied = later.map(|to| Edge {
        from: TaskId(to - 1),
        to: TaskId(to),
        kind: EdgeKind::Thread,
        lag: Nanos::new(0),
    });
    let tied: Vec<Edge> = tied.collect();
    graph.edges.extend(tied);
}
