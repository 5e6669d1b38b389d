//! From recordings and execution traces to one graph.

/// What linking found, and what it did not; counts over all ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// Kernels, copies and fills.
    pub device_work: u64,
    /// Of these, with the runtime call that launched them.
    pub launched: u64,
    /// Of these, with an op around the launch.
    pub within_op: u64,
    /// Work that began before its launch, by clock skew; its lag counts as nothing.
    pub before_launch: u64,
    /// Collectives and point-to-point transfers on devices.
    pub collectives: u64,
    /// Of these, with kind and bytes.
    pub described_collectives: u64,
    /// Ops that also lie in an execution trace.
    pub nodes: u64,
    /// Ops of execution traces.
    pub nodes_wanted: u64,
    /// Synchronisations that the profiler recorded (`cuda_sync`).
    pub recorded_syncs: u64,
    /// Work of one stream that overlaps its predecessor.
    pub overlaps: u64,
}
