//! NVIDIA GPUs, through libraries that are found and loaded at run time.
//!
//! One binary serves machines with and without a GPU: nothing here is linked, every library is
//! looked for on its own ([`library`]), and every function of the driver that will be called is
//! looked up before it is ([`symbols`]), because the bindings panic where one is missing.
//!
//! [`CudaDevice`] is the device; an [`operation`] is what it times, between events on a stream.
//! Operations so far: copies between host and device, within a device and between two, fills,
//! and matrix products through [`cublaslt`]. [`kernels`] holds our own kernels and compiles them; nothing launches them yet.
//!
//! [`collective`] executes collectives over all of them, through NCCL.
//!
//! Left to others: which points are measured (`kernelgauge-calibrate`).

mod collective;
mod context;
mod copy;
mod cublaslt;
mod device;
mod execute;
mod facts;
mod failure;
mod fill;
pub mod kernels;
pub mod library;
mod links;
mod management;
mod memory;
mod operation;
mod pattern;
mod peaks;
pub(crate) mod places;
mod stream;
pub mod symbols;
mod throttle;
mod version;

pub use device::CudaDevice;
