//! NVIDIA GPUs, through libraries that are found and loaded at run time.
//!
//! One binary serves machines with and without a GPU: nothing here is linked, every library is
//! looked for on its own ([`library`]), and every function of the driver that will be called is
//! looked up before it is ([`symbols`]), because the bindings panic where one is missing.
//!
//! Left to others: which points are measured (`kernelgauge-calibrate`), and collectives.

pub mod library;
mod places;
pub mod symbols;
mod version;
