//! Ops, annotations and runtime calls: intervals on threads that nest.

use super::rank::ProcessorId;
use super::task::Timing;
use crate::names::Symbol;
use crate::recording::FactsId;

/// A call of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u32);

/// What kind of interval it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallKind {
    /// An operator of the framework.
    Op,
    /// A range a program or the framework marked.
    Annotation,
    /// A call of the runtime or driver API of the device.
    Runtime,
}

/// An interval on a thread; calls of a thread nest or follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What kind of interval it is.
    pub kind: CallKind,
    /// Its name.
    pub name: Symbol,
    /// The thread.
    pub processor: ProcessorId,
    /// When, where times were recorded.
    pub timing: Option<Timing>,
    /// The call around it.
    pub parent: Option<CallId>,
    /// What it stated of its inputs, in the table of ops.
    pub facts: Option<FactsId>,
    /// Autograd's number shared by a forward op and its backward ops.
    pub sequence: Option<i64>,
    /// Number shared by a profiler's recording and the execution trace.
    pub record_function: Option<i64>,
    /// Number of the node of the execution trace.
    pub node: Option<u64>,
    /// The step of the rank it lies in, as a place among its steps.
    pub step: Option<u32>,
}
