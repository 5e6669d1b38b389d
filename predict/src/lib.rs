//! Offline predictions.

#![forbid(unsafe_code)]

pub mod args;
pub mod batch;
pub mod command;
pub mod error;
mod listing;
pub mod machine;
mod notes;
pub mod predictor;
pub mod question;
pub mod rate;
pub mod render;
pub mod shipped;
pub mod usage;

pub use command::run;
pub use kernelgauge_data::{BuildInfo, Completions};
pub use predictor::{Ask, Predictor};
