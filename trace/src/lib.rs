//! Recorded training steps: PyTorch execution traces, Kineto traces and Chakra traces, read,
//! linked into one [`Graph`], and written for others.
//!
//! Left to others: how long work would take elsewhere (`kernelgauge-model`), simulation and the
//! command line (`kernelgauge-predict`).

#![forbid(unsafe_code)]

pub mod build;
pub mod chakra;
pub mod error;
pub mod execution;
pub mod graph;
mod hash;
pub mod input;
pub mod inspect;
mod json;
pub mod kineto;
pub mod names;
pub mod ops;
pub mod options;
pub mod overheads;
pub mod recording;
pub mod time;
pub mod write;

pub use error::TraceError;
pub use graph::Graph;
pub use names::{Names, Symbol};
pub use options::ReadOptions;
pub use recording::Recording;
pub use time::Moment;
