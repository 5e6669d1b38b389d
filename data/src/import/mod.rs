//! Measurements of others, and of other tools, as records.
//!
//! What a file is, its content decides, never its name. Units are converted here, once;
//! bandwidth columns are recomputed from bytes and time and must agree. Every row is accounted
//! for: kept, flagged, or dropped with its line and the reason. Nothing about the machine of
//! the measurement is copied except the facts of [`MachineFacts`]: never an environment
//! variable, a host name, a user name or a process id.
//!
//! Left to others: judging the times (`quality`) and writing them (`dataset`).

mod error;
mod options;
mod summary;

use std::collections::BTreeMap;

use crate::measurement::Record;

pub use error::ImportError;
pub use options::ImportOptions;
pub use summary::{Dropped, ImportSummary};

/// What a file says about the machine it was measured on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineFacts {
    /// The device's own name.
    pub device: Option<String>,
    /// Devices that took part.
    pub count: Option<u32>,
    /// Nodes that took part.
    pub nodes: Option<u32>,
    /// Software versions by name.
    pub software: BTreeMap<String, String>,
}

/// The records of one file and the account of how they were read.
#[derive(Debug, Clone, Default)]
pub struct Imported {
    /// The records, in file order.
    pub records: Vec<Record>,
    /// What was kept, flagged and dropped.
    pub summary: ImportSummary,
    /// What the file says about its machine.
    pub machine: MachineFacts,
}
