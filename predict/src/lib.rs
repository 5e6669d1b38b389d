//! Offline predictions: how long kernels and collectives take on a machine that is not here.
//!
//! A [`Predictor`] is a machine's model, shipped with the project or read from a file that
//! `calibrate` wrote. It answers a [`Point`](kernelgauge_data::Point) with a
//! [`Prediction`](kernelgauge_model::Prediction): a time, a 90 % interval, whether the point
//! lies inside, near or outside what was measured, and what the answer rests on.
//!
//! ```
//! use kernelgauge_data::{Dtype, GemmLayout, GemmPoint, Point};
//! use kernelgauge_predict::Predictor;
//!
//! let h200 = Predictor::shipped("h200-sxm")?;
//! let (m, n, k, layout) = (4096, 4096, 4096, GemmLayout::Unstated);
//! let shape = GemmPoint { dtype: Dtype::Bf16, batch: 1, m, n, k, layout };
//! let answer = h200.predict(&Point::Gemm(shape))?;
//! println!("{} (90 %: {} to {}), {}", answer.time, answer.low, answer.high, answer.basis);
//! assert!(answer.low < answer.time && answer.time < answer.high);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`run`] is the command `predict` over the same: single questions, batches from files, the
//! list of machines.
//!
//! Left to others: what a model is and how it answers (`kernelgauge-model`), measuring
//! (`kernelgauge-calibrate`). Nothing here needs a device, a driver or a clock.

#![forbid(unsafe_code)]

pub mod args;
pub mod batch;
pub mod command;
pub mod convert;
pub mod error;
pub mod inspect;
mod listing;
pub mod machine;
mod notes;
pub mod ops;
pub mod overheads;
pub mod predictor;
pub mod question;
pub mod render;
pub mod shipped;
mod terminal;
pub mod usage;

pub use command::run;
pub use kernelgauge_data::{BuildInfo, Completions};
pub use machine::MachineError;
pub use predictor::{Ask, Predictor};
