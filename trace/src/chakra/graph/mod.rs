//! Chakra traces as a graph: every node a task, every data dependency an edge.
//!
//! Control dependencies say what a node lies within, not what it waits for, and give no edges.
//! Nodes of the host run on the thread of their attribute `tid`, those of the device on the
//! stream of their attribute `stream`, else `tid`. Where no starts were recorded, nodes start as
//! soon as their dependencies and their processor allow.
//!
//! Left to others: shapes and nesting of ops, which these traces do not state reliably.

mod communication;
mod rank;
#[cfg(test)]
mod tests;
mod times;

use super::ChakraTrace;
use super::value::AttributeValue;
use crate::build;
use crate::error::TraceError;
use crate::graph::Graph;
use crate::recording::{RankSource, StatedRank};

/// Links the traces of ranks into one graph. A rank is what the trace itself says, else what is
/// given with it, else its place.
///
/// # Errors
///
/// [`TraceError`] for nodes of one id, and for nodes that wait for each other.
pub fn graph(traces: Vec<(Option<StatedRank>, ChakraTrace)>) -> Result<Graph, TraceError> {
    let mut placed: Vec<(StatedRank, ChakraTrace)> = (0..)
        .zip(traces)
        .map(|(place, (given, trace))| {
            let by_place = StatedRank { rank: place, by: RankSource::Order };
            (trace.stated_rank().or(given).unwrap_or(by_place), trace)
        })
        .collect();
    placed.sort_by_key(|(stated, _)| stated.rank);
    let mut graph = Graph::default();
    for (stated, trace) in &placed {
        rank::add(&mut graph, *stated, trace)?;
    }
    build::meet(&mut graph);
    Ok(graph)
}

impl ChakraTrace {
    /// The rank, where the metadata say it.
    pub fn stated_rank(&self) -> Option<StatedRank> {
        Some(StatedRank { rank: self.stated("rank")?, by: RankSource::Content })
    }

    /// Ranks of the job, where the metadata say it.
    pub fn world_size(&self) -> Option<u32> {
        self.stated("world_size")
    }

    fn stated(&self, name: &str) -> Option<u32> {
        let attributes = self.metadata.as_ref()?.attributes.iter();
        let mut stated = attributes.filter(|attribute| attribute.name == name);
        stated.find_map(|attribute| match attribute.value.as_ref()? {
            AttributeValue::Int64(number) => u32::try_from(*number).ok(),
            AttributeValue::Int32(number) => u32::try_from(*number).ok(),
            AttributeValue::Uint64(number) => u32::try_from(*number).ok(),
            AttributeValue::Uint32(number) => Some(*number),
            _ => None,
        })
    }
}
