//! An execution trace in memory, whatever its schema.

use crate::names::{Names, Symbol};
use crate::recording::{CollectiveFacts, FactsId, Oddities, RecordedGroup, StatedRank, Table};

/// One rank's execution trace.
#[derive(Debug, Default)]
pub struct ExecutionTrace {
    /// Where it came from: a path, and the member for an archive.
    pub source: String,
    /// The rank, where the content or the name says so.
    pub rank: Option<StatedRank>,
    /// Its schema, as written.
    pub schema: String,
    /// The texts of everything below.
    pub names: Names,
    /// The process first, then all others by increasing id, which is the order in which they
    /// began.
    pub nodes: Vec<Node>,
    /// Process groups, where recorded.
    pub groups: Vec<RecordedGroup>,
    /// What collectives stated.
    pub collectives: Table<CollectiveFacts>,
    /// What was odd about nodes.
    pub node_oddities: NodeOddities,
    /// What was set aside or mended while reading.
    pub oddities: Oddities,
}

/// What was odd about the nodes of an execution trace, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeOddities {
    /// Nodes whose parent was not recorded, or which name themselves as their parent; they hang
    /// on the first node.
    pub orphans: u64,
    /// The first few of them, by number.
    pub first_orphans: Vec<u64>,
    /// Nodes set aside: an earlier one of the file has the same number.
    pub repeated: u64,
    /// Nodes set aside: without a number, or without a name.
    pub unnamed: u64,
    /// Nodes that have their fields side by side where the schema nests them, or nested where
    /// it does not; they were read as they are.
    pub other_form: u64,
    /// Nodes with a list of exactly 4096 values, where the recorder cuts lists.
    pub cut_lists: u64,
    /// No node is the process; one was made up, which is the first.
    pub without_process: bool,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeKind {
    /// The process.
    Process,
    /// A thread.
    Thread,
    /// An operator: it has a schema, communicates or is a Triton kernel.
    Operator,
    /// A range a program or the framework marked.
    Annotation,
}

/// Inputs or outputs of a node: JSON texts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Values {
    /// Values; tensors as `[tensor, storage, offset, elements, item size, device]`.
    pub values: Symbol,
    /// Shapes.
    pub shapes: Symbol,
    /// Types: `Tensor(float)`, `GenericList[Int]`.
    pub types: Symbol,
    /// Strides, from schema 1.1.1 on.
    pub strides: Symbol,
}

/// A node of an execution trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub id: u64,
    /// The node around it, as a place among the nodes; the first node is its own.
    pub parent: usize,
    /// What it is.
    pub kind: NodeKind,
    /// Its name.
    pub name: Symbol,
    /// Number shared with the profiler's recording.
    pub record_function: Option<i64>,
    /// Number of the forward node, for a backward node.
    pub forward_parent: Option<u64>,
    /// Autograd's number shared by a forward node and its backward nodes.
    pub sequence: Option<i64>,
    /// The thread it ran on, as numbered by the recorder.
    pub thread: i64,
    /// The thread of its forward node, for a backward node.
    pub forward_thread: Option<i64>,
    /// The operator's schema; empty for annotations.
    pub schema: Symbol,
    /// Its inputs.
    pub inputs: Values,
    /// Its outputs.
    pub outputs: Values,
    /// Who made its kernel (`triton`); empty where not stated.
    pub backend: Symbol,
    /// The file of its kernel; empty where not stated.
    pub kernel_file: Symbol,
    /// What it says of a collective, in the table of collectives.
    pub collective: Option<FactsId>,
}

impl Node {
    /// A process of which nothing is known.
    pub(super) fn process(id: u64) -> Node {
        let nothing = Values {
            values: Symbol::EMPTY,
            shapes: Symbol::EMPTY,
            types: Symbol::EMPTY,
            strides: Symbol::EMPTY,
        };
        Node {
            id,
            parent: 0,
            kind: NodeKind::Process,
            name: Symbol::EMPTY,
            record_function: None,
            forward_parent: None,
            sequence: None,
            thread: 0,
            forward_thread: None,
            schema: Symbol::EMPTY,
            inputs: nothing,
            outputs: nothing,
            backend: Symbol::EMPTY,
            kernel_file: Symbol::EMPTY,
            collective: None,
        }
    }
}
