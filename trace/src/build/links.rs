//! Counts of what linking found, and when that is too little.

use crate::error::TraceError;
use crate::graph::Graph;

/// Under this share of operators found, an execution trace and a recording do not belong
/// together.
const NODES_NEEDED: f64 = 0.9;

/// Checks that execution traces belong to the recordings they were linked with.
///
/// # Errors
/// Fewer than nine in ten of their operators were found.
pub fn check(graph: &Graph) -> Result<(), TraceError> {
    let Links { nodes, nodes_wanted, .. } = graph.links;
    if nodes as f64 >= NODES_NEEDED * nodes_wanted as f64 {
        return Ok(());
    }
    let sources: Vec<&str> = graph.ranks.iter().map(|rank| rank.source.as_str()).collect();
    Err(TraceError::unusable(
        &sources.join(", "),
        format!(
            "only {:.1} % of the {nodes_wanted} operators of the execution trace are in the \
             profiler's trace",
            100.0 * nodes as f64 / nodes_wanted as f64
        ),
        "record both in the same step; PyTorch 2.1 and later number ops alike in both (`Record \
         function id`, `rf_id`). Each alone can be read too",
    ))
}

/// What linking found, and what it did not; counts over all ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// Kernels, copies and fills.
    pub device_work: u64,
    /// Of these, with the runtime call that launched them.
    pub launched: u64,
    /// Of the others, launched before the recording began: their correlations are smaller than
    /// those of all recorded calls.
    pub launched_before: u64,
    /// Of the launched, with an op around the launch.
    pub within_op: u64,
    /// Ops that were recorded.
    pub ops: u64,
    /// Work that began before its launch, by clock skew; its lag counts as nothing.
    pub before_launch: u64,
    /// Collectives and point-to-point transfers on devices.
    pub collectives: u64,
    /// Of these, with kind and bytes.
    pub described_collectives: u64,
    /// Collectives whose kind differs from that of the other ranks at the same place.
    pub mismatched_collectives: u64,
    /// Ops that also lie in an execution trace.
    pub nodes: u64,
    /// Nodes of execution traces whose parent was not recorded.
    pub orphan_nodes: u64,
    /// Nodes of execution traces set aside because another has their number.
    pub repeated_nodes: u64,
    /// Operators of execution traces that should have been found.
    pub nodes_wanted: u64,
    /// Synchronisations that the profiler recorded (`cuda_sync`).
    pub recorded_syncs: u64,
    /// Calls that wait for a device.
    pub waiting_calls: u64,
    /// Of these, without any work they could have waited for.
    pub waits_for_nothing: u64,
    /// Work of a stream that began before its predecessor ended.
    pub overlaps: u64,
    /// Dependencies taken out because they contradict each other.
    pub contradictions: u64,
    /// Calls of a thread that cross each other by more than a microsecond.
    pub crossings: u64,
}

impl Links {
    /// Work on devices whose launch the recording could hold.
    pub fn launchable(&self) -> u64 {
        self.device_work.saturating_sub(self.launched_before)
    }
}
