//! NVIDIA GPUs behind the device boundary.
//!
//! `kernels` holds our own kernels and compiles them.

pub mod kernels;
