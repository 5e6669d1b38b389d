//! PyTorch execution traces: what the host called with which inputs, without times.

mod node;

pub use node::{ExecutionTrace, Node, NodeKind, Values};
