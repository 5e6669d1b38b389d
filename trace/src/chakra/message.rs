//! Messages of Chakra's schema `et_def.proto`, mlcommons/chakra, package `ChakraProtoMsg`.
//!
//! Left to others: how messages follow each other in a file (`read`, `write`), what attributes
//! are called (`attribute`).

use prost::Message;

use super::value::Attribute;

/// The first message of a file.
#[derive(Clone, PartialEq, Message)]
pub struct GlobalMetadata {
    /// Version of the schema, as the writer put it; often empty.
    #[prost(string, tag = "1")]
    pub version: String,
    /// What else the writer states of the whole.
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<Attribute>,
}

/// A piece of work.
#[derive(Clone, PartialEq, Message)]
pub struct ChakraNode {
    /// Its number, unique within the file.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// What it is, as a number of [`NodeType`]; later schemas may have more.
    #[prost(enumeration = "NodeType", tag = "3")]
    pub kind: i32,
    /// Nodes it lies within.
    #[prost(uint64, repeated, tag = "4")]
    pub control_dependencies: Vec<u64>,
    /// Nodes it waits for.
    #[prost(uint64, repeated, tag = "5")]
    pub data_dependencies: Vec<u64>,
    /// When it began, in microseconds; 0 where not recorded.
    #[prost(uint64, tag = "6")]
    pub start_time_micros: u64,
    /// How long it took, in microseconds.
    #[prost(uint64, tag = "7")]
    pub duration_micros: u64,
    /// What goes in.
    #[prost(message, optional, tag = "8")]
    pub inputs: Option<NodeValues>,
    /// What comes out.
    #[prost(message, optional, tag = "9")]
    pub outputs: Option<NodeValues>,
    /// What else is stated.
    #[prost(message, repeated, tag = "10")]
    pub attributes: Vec<Attribute>,
    /// `StorageInfo` of later schemas, kept as it was encoded.
    #[prost(bytes = "vec", optional, tag = "11")]
    pub storage: Option<Vec<u8>>,
}

/// Inputs or outputs: texts as Python prints values (`'cuda:0'`), not JSON.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct NodeValues {
    /// Values.
    #[prost(string, tag = "1")]
    pub values: String,
    /// Shapes.
    #[prost(string, tag = "2")]
    pub shapes: String,
    /// Types.
    #[prost(string, tag = "3")]
    pub types: String,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub enum NodeType {
    /// Nothing valid.
    Invalid = 0,
    /// Facts, not work.
    Metadata = 1,
    /// Loads memory.
    MemoryLoad = 2,
    /// Stores memory.
    MemoryStore = 3,
    /// Computes.
    Compute = 4,
    /// Sends to one rank.
    Send = 5,
    /// Receives from one rank.
    Receive = 6,
    /// Communicates with a group.
    Collective = 7,
    /// Reads or writes storage.
    Storage = 8,
    /// Loads a batch.
    Batch = 9,
    /// Writes or reads a checkpoint.
    Checkpoint = 10,
}

/// What a collective does, as the attribute `comm_type` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub enum CollectiveType {
    /// Everybody gets the sum.
    AllReduce = 0,
    /// One rank gets the sum.
    Reduce = 1,
    /// Everybody gets everything.
    AllGather = 2,
    /// One rank gets everything.
    Gather = 3,
    /// Every rank gets its part of one rank's data.
    Scatter = 4,
    /// Every rank gets one rank's data.
    Broadcast = 5,
    /// Every rank sends a part to every rank.
    AllToAll = 6,
    /// Every rank gets its part of the sum.
    ReduceScatter = 7,
    /// The same over blocks.
    ReduceScatterBlock = 8,
    /// Everybody waits for everybody.
    Barrier = 9,
}
