//! The device boundary: whatever can be measured is a [`Device`].
//!
//! A device says what it is, what it supports and how much memory a point needs, and turns a
//! point into a [`Workload`] that can be verified and timed. It times and nothing else: which
//! points, in which order, how many samples, when to stop, and what a sample is worth are
//! decided by `kernelgauge-calibrate`.
//!
//! This is the only crate of the workspace that may hold `unsafe`.

pub mod device;
pub mod host;
pub mod nccl;
pub mod nvidia;
pub mod random;
pub mod simulated;
pub mod world;

pub use device::{Condition, Device, DeviceError, Timer, Timing, Workload};
pub use world::World;
