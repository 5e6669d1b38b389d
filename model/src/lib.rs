//! Analytical terms, learned corrections, intervals and the model file.
//!
//! [`Model::fit`] turns a data set into a model; [`Model::predict`] answers a [`Query`] with a
//! [`Prediction`]. The crate does no I/O and never sees a clock; it is the only one that knows
//! linfa. Left to others: reading data sets (`kernelgauge-data`), finding models by name,
//! simulation and search (`kernelgauge-predict`).

#![forbid(unsafe_code)]

pub mod prediction;

pub use prediction::{Basis, BasisChoice, DomainStatus, Prediction, Query, Term};
