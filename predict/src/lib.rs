//! Offline predictions.

#![forbid(unsafe_code)]

pub mod args;
pub mod command;
pub mod error;
pub mod question;
pub mod shipped;
pub mod usage;

pub use command::run;
pub use kernelgauge_data::{BuildInfo, Completions};
