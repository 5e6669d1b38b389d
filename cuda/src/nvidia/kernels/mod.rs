//! Our own kernels: their sources, how they are launched, and how they become code for a GPU.
//!
//! The sources in `cuda/kernels` are part of the binary ([`catalogue`]) and are compiled by NVRTC
//! on the machine that runs them, for its own architecture ([`compile`]); what was compiled is
//! kept between runs ([`cache`]). Grids and blocks are computed here ([`geometry`]), and so are
//! the launches that an op takes ([`memory`]), so that tests can execute the same launches on a
//! processor.
//!
//! Left to others: streams, operands, launches and timing (the CUDA device); finding
//! NVRTC (`library`).

pub mod cache;
pub mod catalogue;
pub mod compile;
mod error;
pub mod geometry;
pub mod log;
pub mod memory;
mod nvrtc;

pub use cache::Cache;
pub use catalogue::{Entry, SOURCES, Source, entry};
pub use compile::{Architecture, Compiled, Compiler};
pub use error::KernelError;
pub use geometry::{Geometry, Rule};
pub use log::Usage;
