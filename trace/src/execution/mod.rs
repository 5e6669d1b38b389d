//! PyTorch execution traces: what the host called with which inputs, without times.
//!
//! [`read()`] takes schemas 1.0.0 to 1.1.1, with their fields side by side or nested, one node at
//! a time. Values, shapes and types stay JSON texts as written, so that symbolic sizes and empty
//! shapes survive; what they mean is left to `ops`, and which event of a recording a node
//! belongs to, to `build`.

mod collective;
mod group;
mod node;
mod rank;
mod read;
mod schema;
mod tree;
mod value;
mod written;

pub use node::{ExecutionTrace, Node, NodeKind, NodeOddities, Values};
pub use read::read;

#[cfg(test)]
mod tests;
