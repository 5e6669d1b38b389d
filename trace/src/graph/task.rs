//! Pieces of work, and what is communicated.

use kernelgauge_data::Nanos;

use super::call::CallId;
use super::rank::{GroupId, ProcessorId};
use crate::names::Symbol;
use crate::time::Moment;

/// A task of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

/// A collective of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CollectiveId(pub u32);

/// When something ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timing {
    /// When it began, on the clock of its rank's host.
    pub start: Moment,
    /// How long it took.
    pub duration: Nanos,
}

impl Timing {
    /// When it ended.
    pub fn end(self) -> Moment {
        self.start + self.duration
    }
}

/// What kind of work a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaskKind {
    /// A piece of an op or annotation on a thread, outside what is nested in it.
    Op,
    /// A call of the runtime or driver API of the device.
    Runtime,
    /// A kernel.
    Kernel,
    /// A copy on a device.
    Copy,
    /// A fill of memory on a device.
    Fill,
    /// A collective or point-to-point transfer.
    Collective,
    /// A thread outside every op: host code between ops, or idle; the reason is not known.
    Gap,
    /// A thread that waits for another one, which an edge of kind
    /// [`Wake`](super::EdgeKind::Wake) names.
    Wait,
}

impl TaskKind {
    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            TaskKind::Op => "op",
            TaskKind::Runtime => "runtime",
            TaskKind::Kernel => "kernel",
            TaskKind::Copy => "copy",
            TaskKind::Fill => "fill",
            TaskKind::Collective => "collective",
            TaskKind::Gap => "gap",
            TaskKind::Wait => "wait",
        }
    }

    /// Whether it runs on a device.
    pub fn is_on_device(self) -> bool {
        matches!(self, TaskKind::Kernel | TaskKind::Copy | TaskKind::Fill | TaskKind::Collective)
    }
}

/// What a duration rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provenance {
    /// It was recorded.
    Measured,
    /// A model said so.
    Modelled,
    /// Nothing is known: there is no duration, or it was assumed.
    Assumed,
}

/// An exclusive piece of time on a processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// What kind of work it is.
    pub kind: TaskKind,
    /// Its name: the kernel's, the runtime call's, the op's.
    pub name: Symbol,
    /// Where it runs.
    pub processor: ProcessorId,
    /// When it ran, where times were recorded.
    pub timing: Option<Timing>,
    /// What its duration rests on.
    pub provenance: Provenance,
    /// The innermost op it belongs to: around it on a thread, or around its launch.
    pub call: Option<CallId>,
    /// The runtime call that launched it, for work on a device.
    pub launch: Option<TaskId>,
    /// What is communicated, for collectives.
    pub collective: Option<CollectiveId>,
    /// Bytes moved, for copies and fills that stated them.
    pub bytes: Option<u64>,
    /// The step of the rank it belongs to (work on a device: that of its launch), as a place
    /// among its steps.
    pub step: Option<u32>,
}

/// What a collective does; names as in NCCL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CollectiveKind {
    /// Everybody gets the sum.
    AllReduce,
    /// One rank gets the sum.
    Reduce,
    /// Everybody gets everything.
    AllGather,
    /// One rank gets everything.
    Gather,
    /// Every rank gets its part of one rank's data.
    Scatter,
    /// Every rank gets one rank's data.
    Broadcast,
    /// Every rank sends a part to every rank, even parts.
    AllToAll,
    /// Every rank sends a part to every rank, uneven parts.
    AllToAllV,
    /// Every rank gets its part of the sum.
    ReduceScatter,
    /// Everybody waits for everybody.
    Barrier,
    /// One rank to another.
    Send,
    /// From another rank.
    Receive,
}

impl CollectiveKind {
    /// The name in files; on the command line `-` stands for `_`.
    pub const fn name(self) -> &'static str {
        match self {
            CollectiveKind::AllReduce => "all_reduce",
            CollectiveKind::Reduce => "reduce",
            CollectiveKind::AllGather => "all_gather",
            CollectiveKind::Gather => "gather",
            CollectiveKind::Scatter => "scatter",
            CollectiveKind::Broadcast => "broadcast",
            CollectiveKind::AllToAll => "all_to_all",
            CollectiveKind::AllToAllV => "all_to_all_v",
            CollectiveKind::ReduceScatter => "reduce_scatter",
            CollectiveKind::Barrier => "barrier",
            CollectiveKind::Send => "send",
            CollectiveKind::Receive => "receive",
        }
    }
}

/// What one rank communicates in one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collective {
    /// What it does, where known.
    pub kind: Option<CollectiveKind>,
    /// Element type as recorded; empty where not stated.
    pub dtype: Symbol,
    /// Bytes this rank puts in, where known.
    pub bytes_in: Option<u64>,
    /// Bytes this rank gets out, where known.
    pub bytes_out: Option<u64>,
    /// The group, where known.
    pub group: Option<GroupId>,
    /// Its place among the collectives of its group on this rank, from 0.
    pub sequence: Option<u64>,
    /// Elements to each rank, for uneven all-to-all; empty where not stated.
    pub split_in: Symbol,
    /// Elements from each rank, for uneven all-to-all; empty where not stated.
    pub split_out: Symbol,
    /// The other rank of a point-to-point transfer, where known.
    pub peer: Option<u32>,
    /// Who said so: the event itself, or the op around its launch.
    pub stated_by: StatedBy,
}

/// Where the facts of a collective come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatedBy {
    /// The event on the device.
    Kernel,
    /// The op around its launch.
    Op,
    /// The node of the execution trace.
    ExecutionTrace,
    /// Nothing but its name.
    Name,
}
