//! Chakra traces: nodes with stated dependencies, as simulators such as ASTRA-sim take them.
//!
//! A [`ChakraTrace`] is one rank, message by message. [`read()`] and [`read_json`] take what others
//! wrote, [`write()`] gives it back, and [`rules`] says what a strict consumer would not take.
//! [`graph()`] links ranks into one graph, [`export`] makes traces of a graph.

pub mod attribute;
pub mod export;
mod graph;
mod json;
mod json_node;
mod list;
mod message;
mod read;
pub mod rules;
mod unknown;
mod value;
mod write;

#[cfg(test)]
mod json_tests;
#[cfg(test)]
mod tests;

pub use graph::graph;
pub use json::read_json;
pub use list::{
    BoolList, BytesList, DoubleList, Fixed32List, Fixed64List, FloatList, Int32List, Int64List,
    Sfixed32List, Sfixed64List, Sint32List, Sint64List, StringList, Uint32List, Uint64List,
};
pub use message::{ChakraNode, CollectiveType, GlobalMetadata, NodeType, NodeValues};
pub use read::read;
pub use value::{Attribute, AttributeValue};
pub use write::{ChakraWriter, write};

/// One rank's Chakra trace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChakraTrace {
    /// Where it came from: a path, and the member for an archive.
    pub source: String,
    /// What the first message says; none in most JSON.
    pub metadata: Option<GlobalMetadata>,
    /// The nodes, in the order of the file.
    pub nodes: Vec<ChakraNode>,
    /// Fields this build does not know; they are lost when the trace is written again.
    pub unknown_fields: u64,
}
