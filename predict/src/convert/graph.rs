//! One graph of everything that was read.

use std::collections::BTreeSet;

use kernelgauge_trace::input::Loaded;
use kernelgauge_trace::{Graph, TraceError, build, chakra};

use super::ConvertError;

/// Links recordings and execution traces, or takes Chakra's dependencies as they stand.
pub(super) fn of(loaded: Loaded) -> Result<Graph, ConvertError> {
    let recorded = !loaded.recordings.is_empty() || !loaded.executions.is_empty();
    let graph = match loaded.chakras.first() {
        Some(chakra) if recorded => {
            return Err(ConvertError::Trace(TraceError::unusable(
                &chakra.trace.source,
                "a Chakra trace and recordings do not go into one graph",
                "convert them one after the other",
            )));
        }
        Some(_) => chakra::graph(loaded.chakras)?,
        None => build::graph(loaded.recordings, loaded.executions),
    };
    let mut seen = BTreeSet::new();
    match graph.ranks.iter().find(|rank| !seen.insert(rank.number)) {
        Some(rank) => Err(ConvertError::SameRank { rank: rank.number }),
        None => Ok(graph),
    }
}
