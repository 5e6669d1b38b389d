//! What waits for what.

use kernelgauge_data::Nanos;

use super::rank::GroupId;
use super::task::TaskId;

/// Why a task waits for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeKind {
    /// The next piece of the same thread: the start waits for the end.
    Thread,
    /// Another thread's work ends a wait: the **end** of the wait waits for the end.
    Wake,
    /// A backward op and its forward op on another thread: the start waits for the end.
    ForwardBackward,
    /// A launch: the start of the work waits for the **start** of the runtime call.
    Launch,
    /// The next work of the same stream: the start waits for the end.
    Stream,
    /// Work of another stream through an event: the start waits for the end.
    Event,
    /// A thread waits for a device (synchronisation, blocking copy): the **end** of the runtime
    /// call waits for the end of the work.
    Sync,
    /// As a recording of another tool says: the start waits for the end.
    Stated,
}

impl EdgeKind {
    /// Whether the **start** of what is waited for counts, and not its end.
    pub fn from_start(self) -> bool {
        self == EdgeKind::Launch
    }

    /// Whether the **end** of what waits is held back, and not its start.
    pub fn holds_end(self) -> bool {
        matches!(self, EdgeKind::Sync | EdgeKind::Wake)
    }
}

/// One task waits for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edge {
    /// What is waited for.
    pub from: TaskId,
    /// What waits.
    pub to: TaskId,
    /// Why, which also says whether starts or ends are tied.
    pub kind: EdgeKind,
    /// How much longer it takes than the tie alone says, in nanoseconds: a launch latency, the
    /// return of a synchronisation.
    pub lag: Nanos,
}

/// Where ranks meet: all members end together, after the last has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendezvous {
    /// One task of each rank that was recorded.
    pub members: Vec<TaskId>,
    /// The group, where known.
    pub group: Option<GroupId>,
    /// The transfer itself: the shortest duration over the members, which is that of the last
    /// to arrive; none where a rank is missing or no times were recorded.
    pub transfer: Option<Nanos>,
    /// Ranks of the group that were not recorded, where the size of the group is known.
    pub missing: Option<u32>,
}

impl Rendezvous {
    /// Whether every rank of the group was recorded.
    pub fn is_whole(&self) -> bool {
        self.missing == Some(0)
    }
}
