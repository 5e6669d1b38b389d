//! NVIDIA GPUs, through libraries that are found and loaded at run time.
//!
//! One binary serves machines with and without a GPU: nothing here is linked, every library is
//! looked for on its own ([`library`]), and every function of the driver that will be called is
//! looked up before it is ([`symbols`]), because the bindings panic where one is missing.
//!
//! [`CudaDevice`] is the device; an [`operation`] is what it times, between events on a stream.
//! Operations: copies between host and device, within a device and between two, fills,
//! matrix products through [`cublaslt`], and what our own kernels do: memory-bound ops and
//! embedding bags. [`overheads`] times launching alone. [`kernels`] holds their sources and compiles
//! them; without a compiler they are not supported, and everything else is.
//!
//! [`collective`] executes collectives over all of them, through NCCL.
//!
//! Left to others: which points are measured (`kernelgauge-calibrate`).

mod collective;
mod context;
mod copy;
mod cublaslt;
mod device;
mod element;
mod embedding;
mod execute;
mod facts;
mod failure;
mod fill;
pub mod kernels;
pub mod library;
mod links;
mod loaded;
mod management;
mod matrix;
mod memory;
mod module;
mod operand;
mod operation;
mod overheads;
mod pattern;
mod peaks;
pub(crate) mod places;
mod sequence;
mod sm_clock;
mod stream;
pub mod symbols;
mod throttle;
mod version;

pub use device::CudaDevice;
pub use links::first_pairs;
