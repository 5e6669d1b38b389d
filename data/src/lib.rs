//! Units, points, measurements, data sets and importers.
//!
//! Everything the other crates say to each other is said in the types of this crate: a
//! [`Point`] is one kind of work with every parameter fixed, a [`Record`] is a point with what
//! became of it, a [`DataSet`] is the records of one machine with their provenance. Numbers
//! cross the border of this crate as [`Nanos`] and [`Bytes`], never as bare floats.
//!
//! Left to others: measuring (`kernelgauge-cuda`, `kernelgauge-calibrate`), fitting
//! (`kernelgauge-model`) and answering (`kernelgauge-predict`).

#![forbid(unsafe_code)]

pub mod build_info;
pub mod conditions;
pub mod dataset;
pub mod diagnostic;
pub mod dtype;
pub mod environment;
pub mod family;
pub mod fields;
pub mod foreign;
pub mod import;
pub mod machine;
mod manner;
pub mod measurement;
pub mod nearest;
pub mod point;
pub mod quality;
mod rate;
pub mod statistics;
pub mod table;
pub mod units;
pub mod usage;
pub mod whole_file;

pub use build_info::{BuildInfo, Completions};
pub use conditions::{CacheState, Conditions, InputContent};
pub use dataset::{DataSet, DataSetError, FileEntry, Manifest, Run, RunStatus};
pub use diagnostic::{Diagnostic, ExitStatus};
pub use dtype::Dtype;
pub use environment::Environment;
pub use family::Family;
pub use machine::{Hardware, Links, Machine, Origin};
pub use manner::Manner;
pub use measurement::{
    Failure, Flag, Flags, Measurement, Outcome, Record, SkipReason, Spread, StopReason,
};
pub use point::{
    AttentionPhase, AttentionPoint, Collective, CollectivePoint, CopyDirection, CopyPoint,
    CustomPoint, Direction, Distribution, EVEN, EmbeddingPoint, GemmLayout, GemmPoint, MemoryOp,
    MemoryPoint, Optimizer, Point,
};
pub use rate::Rate;
pub use units::{Bytes, Nanos, Shift};

#[cfg(test)]
mod test_folder;
#[cfg(test)]
pub(crate) use test_folder::test_folder;
