//! The command `calibrate`: plan, sweep, journal, gate, fit and report.
//!
//! [`plan`] decides which points are measured, purely; [`measure`] takes one of them.
//!
//! Left to others: operands and timing (`kernelgauge-cuda`), what a data set is and what is
//! wrong with it (`kernelgauge-data`), fitting (`kernelgauge-model`).

#![forbid(unsafe_code)]

pub mod args;
pub mod clock;
pub mod collect;
pub mod columns;
pub mod device_list;
pub mod elapsed;
pub mod error;
pub mod folder;
pub mod interrupt;
pub mod journal;
pub mod libraries;
pub mod lock;
pub mod measure;
pub mod plan;
pub mod progress;
pub mod sweep;
pub mod utc;
