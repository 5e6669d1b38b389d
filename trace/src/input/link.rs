//! One graph from whatever was read.

use super::{Loaded, LoadedChakra};
use crate::build;
use crate::chakra;
use crate::error::TraceError;
use crate::graph::Graph;

impl Loaded {
    /// Links everything that was read into one graph.
    ///
    /// # Errors
    /// An execution trace that does not belong to the recording of its rank, Chakra traces beside others, which nothing ties together, and Chakra traces whose nodes
    /// cannot be ordered.
    pub fn into_graph(self) -> Result<Graph, TraceError> {
        let Loaded { recordings, executions, chakras, .. } = self;
        let Some(first) = chakras.first() else {
            let graph = build::graph(recordings, executions);
            build::check(&graph)?;
            return Ok(graph);
        };
        if !recordings.is_empty() || !executions.is_empty() {
            return Err(TraceError::unusable(
                &first.trace.source,
                "is a Chakra trace among others",
                "Chakra traces are complete in themselves: name them alone",
            ));
        }
        let placed = |LoadedChakra { rank, trace }| (rank, trace);
        chakra::graph(chakras.into_iter().map(placed).collect())
    }
}
