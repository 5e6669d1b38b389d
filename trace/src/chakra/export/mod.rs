//! A rank of a graph as a Chakra trace that strict consumers take.
//!
//! Every piece of work becomes a node, gaps of threads too, so that a replay keeps idle time. A
//! dependency there means that a start waits for an end; ours that tie starts or ends otherwise
//! are said like this:
//!
//! * a launch: the work waits for the end of the runtime call, whose duration stands for the
//!   latency of the launch;
//! * a call or wait that ends when other work has ended (synchronisation, blocking copy): it
//!   waits for that work and lasts for what is left after it. One that launches the very work it
//!   waits for becomes two nodes, before and after.
//!
//! Lags are not said: the format has no place for them. Nodes carry exact nanoseconds in
//! attributes of their own. Collectives a simulator does not know are replayed as computation on
//! the device, counted by reason.
//!
//! Left to others: what consumers refuse (`rules`), names of files (the command line).

mod communication;
mod groups;
mod node;
mod order;
mod ties;

use std::collections::BTreeMap;

pub use groups::ExportedGroups;

use self::node::NodeWriter;
use self::ties::Ties;
use super::{Attribute, ChakraTrace, GlobalMetadata};
use crate::error::TraceError;
use crate::graph::{Graph, TaskId};

/// The version that Chakra's own generator states.
const VERSION: &str = "1.0.0";

/// What was written otherwise than it was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportNotes {
    /// Nodes that were written.
    pub nodes: u64,
    /// Collectives and transfers written as such.
    pub communications: u64,
    /// Collectives and transfers replayed as computation, by reason.
    pub replayed: BTreeMap<&'static str, u64>,
    /// All-to-alls with unequal parts, written as ones with equal parts of the same bytes.
    pub uneven: u64,
    /// Collectives whose group is not known, written for all ranks.
    pub ungrouped: u64,
    /// Tasks without a time; they last nothing.
    pub untimed: u64,
    /// Runtime calls written as two nodes.
    pub divided: u64,
}

/// The rank at a place among the ranks of a graph.
///
/// # Errors
///
/// Tasks that wait for each other in a circle, and a place without a rank.
pub fn rank(
    graph: &Graph,
    place: u32,
    groups: &ExportedGroups,
) -> Result<(ChakraTrace, ExportNotes), TraceError> {
    let Some(rank) = graph.ranks.get(place as usize) else {
        return Err(TraceError::unusable("graph", format!("there is no rank at {place}"), ""));
    };
    let ties = Ties::of(graph, place);
    let mut writer = NodeWriter::new(graph, rank.number, groups);
    let in_rank = |task: &crate::graph::Task| {
        graph.processors.get(task.processor.0 as usize).is_some_and(|one| one.rank == place)
    };
    for (task_place, task) in (0..).zip(&graph.tasks) {
        if in_rank(task) {
            writer.task(TaskId(task_place), task, &ties);
        }
    }
    let (nodes, mut notes) = writer.finished();
    notes.nodes = nodes.len() as u64;
    let nodes = order::sorted(nodes, &rank.source)?;
    let metadata = GlobalMetadata {
        version: VERSION.to_owned(),
        attributes: vec![
            Attribute::string("creator", "kernelgauge"),
            Attribute::uint64("rank", u64::from(rank.number)),
        ],
    };
    let source = rank.source.clone();
    Ok((ChakraTrace { source, metadata: Some(metadata), nodes, unknown_fields: 0 }, notes))
}

#[cfg(test)]
mod tests;
