//! Counts of what linking found.

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
