//! Analytical terms, learned corrections, intervals and the model file.
//!
//! [`Model::fit`] turns a data set into a model; [`Model::predict`] answers a [`Query`] with a
//! [`Prediction`], [`Model::predict_all`] many. The crate does no I/O and never sees a clock; it is the only one that knows
//! linfa. Left to others: reading data sets (`kernelgauge-data`), finding models by name,
//! simulation and search (`kernelgauge-predict`).

#![forbid(unsafe_code)]

mod borrow;
mod correction;
mod described;
mod digits;
mod domain;
mod doubt;
mod error;
pub mod evaluate;
mod explain;
mod fit;
mod held_out;
mod interval;
mod least_squares;
mod lines;
mod many;
mod math;
mod measured;
mod model;
mod non_negative;
pub mod prediction;
pub mod reference;
mod rows;
mod shape;
mod store;
mod terms;
#[cfg(test)]
mod tests;
mod uneven;
mod variant;

pub use borrow::LenderName;
pub use domain::{Beyond, Never};
pub use doubt::{Question, doubts};
pub use error::PredictError;
pub use evaluate::{
    EvaluateOptions, Evaluation, EvaluationRow, Oracle, Peer, Split, evaluate, evaluate_among,
};
pub use explain::{Explanation, Step};
pub use fit::{Detail, FitError, FitOptions, UnknownDetail};
pub use held_out::{HeldOut, RegionError};
pub use measured::{MeasuredPoint, measured_points};
pub use model::{Insufficient, Model, VariantError};
pub use prediction::{Basis, BasisChoice, DomainStatus, Prediction, Query, ReferenceModel};
pub use store::StoreError;
