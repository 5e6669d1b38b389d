//! The distinct ops of a graph: what a workload runs, as points that can be measured and
//! predicted.
//!
//! Each piece of work on a device belongs to exactly one op: the innermost one around its
//! launch, or the one that is implemented by it. Copies and collectives stand for themselves.
//! What no family covers is listed with its reason.
//!
//! Left to others: measuring (`kernelgauge-calibrate`), predicting (`kernelgauge-predict`).

mod attention;
mod collective;
mod copy;
mod distinct;
mod embedding;
mod gemm;
mod host;
mod inputs;
mod memory;
#[cfg(test)]
mod tests;
mod translate;

pub use distinct::{Distinct, Totals, distinct, totals};
pub use translate::Uncovered;
