//! One graph for all sources: what ran where, and what it waited for.
//!
//! A [`Task`] is an exclusive piece of time on a processor: a thread, or a stream of a device.
//! Ops nest, so a thread is cut into the pieces during which one op is the innermost; the ops
//! themselves, with their shapes, are [`Call`]s. An [`Edge`] says what a task waits for. Ranks
//! meet in a [`Rendezvous`].
//!
//! Order of storage: tasks of a processor lie together, in the order in which they run; so do
//! its calls, in the order in which they begin.
//!
//! Left to others: making a graph (`build`), checking it (`check`), what it means (`inspect`).

mod call;
pub mod check;
mod edge;
mod rank;
mod task;

pub use call::{Call, CallId, CallKind};
pub use edge::{Edge, EdgeKind, Rendezvous};
pub use rank::{
    Device, Group, GroupId, Launching, Processor, ProcessorId, ProcessorKind, Rank, Step,
};
pub use task::{
    Collective, CollectiveId, CollectiveKind, Provenance, StatedBy, Task, TaskId, TaskKind, Timing,
};

use crate::names::Names;
use crate::recording::{OpFacts, Table};

/// Recorded or described work of any number of ranks.
#[derive(Debug, Default)]
pub struct Graph {
    /// The texts of everything below.
    pub names: Names,
    /// The ranks, by number.
    pub ranks: Vec<Rank>,
    /// Threads and streams of all ranks; those of a rank lie together.
    pub processors: Vec<Processor>,
    /// Ops, annotations and runtime calls.
    pub calls: Vec<Call>,
    /// Pieces of work.
    pub tasks: Vec<Task>,
    /// What waits for what.
    pub edges: Vec<Edge>,
    /// What calls stated of their inputs.
    pub ops: Table<OpFacts>,
    /// What is communicated, an entry for each call on each rank.
    pub collectives: Vec<Collective>,
    /// Process groups, an entry for each group over all ranks.
    pub groups: Vec<Group>,
    /// Where ranks meet.
    pub rendezvous: Vec<Rendezvous>,
    /// What linking found, and what it did not.
    pub links: crate::build::Links,
}

impl Graph {
    /// The tasks of a processor, in the order in which they run.
    pub fn tasks_of(&self, processor: ProcessorId) -> &[Task] {
        let range = self.processor(processor).tasks.clone();
        &self.tasks[range.start as usize..range.end as usize]
    }

    /// The processors of the rank at a place.
    pub fn processors_of(
        &self,
        rank: u32,
    ) -> impl DoubleEndedIterator<Item = (ProcessorId, &Processor)> {
        let range = self.ranks.get(rank as usize).map_or(0..0, |rank| rank.processors.clone());
        range.map(|place| (ProcessorId(place), &self.processors[place as usize]))
    }

    /// The threads of the rank at a place.
    pub fn threads_of(
        &self,
        rank: u32,
    ) -> impl DoubleEndedIterator<Item = (ProcessorId, &Processor)> {
        let thread = |one: &(ProcessorId, &Processor)| one.1.kind.is_thread();
        self.processors_of(rank).filter(thread)
    }

    /// The streams of the rank at a place.
    pub fn streams_of(
        &self,
        rank: u32,
    ) -> impl DoubleEndedIterator<Item = (ProcessorId, &Processor)> {
        let stream = |one: &(ProcessorId, &Processor)| !one.1.kind.is_thread();
        self.processors_of(rank).filter(stream)
    }

    /// The calls of a processor, in the order in which they begin.
    pub fn calls_of(&self, processor: ProcessorId) -> &[Call] {
        let range = self.processor(processor).calls.clone();
        &self.calls[range.start as usize..range.end as usize]
    }

    /// A processor of this graph.
    pub fn processor(&self, id: ProcessorId) -> &Processor {
        &self.processors[id.0 as usize]
    }

    /// A task of this graph.
    pub fn task(&self, id: TaskId) -> &Task {
        &self.tasks[id.0 as usize]
    }

    /// A call of this graph.
    pub fn call(&self, id: CallId) -> &Call {
        &self.calls[id.0 as usize]
    }

    /// A collective of this graph.
    pub fn collective(&self, id: CollectiveId) -> &Collective {
        &self.collectives[id.0 as usize]
    }
}
