//! What waits for what on one rank.
//!
//! Every edge rests on evidence of the recording: order on a thread or stream, a correlation, a
//! recorded synchronisation, the name of a call that waits, an arrow from forward to backward. A
//! gap without evidence stays a gap.

mod launch;
mod order;
mod queue;
mod streams;
mod sync;
mod wake;

use super::host::Host;
use crate::graph::Graph;
use crate::recording::Recording;

pub use queue::Queues;

/// Adds the edges of a rank.
pub fn tie(graph: &mut Graph, rank: u32, recording: &Recording, host: &Host) {
    order::tie(graph, rank);
    launch::tie(graph, rank);
    let queues = Queues::of(graph, rank);
    sync::tie(graph, rank, recording, host, &queues);
    streams::tie(graph, recording, host, &queues);
    wake::tie(graph, rank, recording);
}
