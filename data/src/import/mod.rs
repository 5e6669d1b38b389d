//! Measurements of others, and of other tools, as records.
//!
//! What a file is, its content decides, never its name. Units are converted here, once;
//! bandwidth columns are recomputed from bytes and time and must agree. Every row is accounted
//! for: kept, flagged, or dropped with its line and the reason. Nothing about the machine of
//! the measurement is copied except the facts of [`MachineFacts`]: never an environment
//! variable, a host name, a user name or a process id.
//!
//! Left to others: judging the times (`quality`) and writing them (`dataset`).

mod aiconfigurator;
mod cascade;
mod error;
pub mod nccl_tests;
mod options;
mod own_csv;
mod param;
mod printed;
mod repeats;
mod selection;
mod sniff;
mod summary;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use crate::measurement::Record;
use crate::units::Bytes;
use crate::whole_file::{self, ReadError};
use sniff::Kind;

pub use error::ImportError;
pub use options::ImportOptions;
pub use selection::{Condition, ConditionError};
pub use summary::{Dropped, ImportSummary};

/// Why the last line of a log that was cut is no row.
const ENDS_INSIDE_ROW: &str = "the file ends inside this row";

/// Why a line that two writers shared is no row.
const SEVERAL_ROWS: &str = "the line holds more than one row";

/// What a file says about the machine it was measured on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineFacts {
    /// The device's own name.
    pub device: Option<String>,
    /// Devices of one node that took part.
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

/// Reads the measurements of one file.
///
/// # Errors
/// Why the file is not imported, with the line where there is one. A file of which some rows
/// are unreadable is imported without them unless [`ImportOptions::strict`] is set.
pub fn import(path: &Path, options: &ImportOptions) -> Result<Imported, ImportError> {
    let limit = options.max_bytes;
    let bytes = whole_file::read(path, limit).map_err(|error| match error {
        ReadError::System(source) => ImportError::Read { path: path.to_owned(), source },
        ReadError::TooLarge { size } => {
            ImportError::TooLarge { path: path.to_owned(), size, limit: Bytes::new(limit) }
        }
    })?;
    import_bytes(&bytes, path, options)
}

/// As [`import`], of bytes already read; `path` names them in messages.
///
/// # Errors
/// As [`import`].
pub fn import_bytes(
    bytes: &[u8],
    path: &Path,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    let kind = sniff::kind(bytes)
        .map_err(|problem| ImportError::Table { path: path.to_owned(), problem })?;
    let imported = read_kind(kind, bytes, path, options)?;
    match imported.summary.dropped.first() {
        Some(dropped) if options.strict => {
            let (line, rows) = (dropped.lines.first().copied(), imported.summary.dropped_rows());
            let reason = format!("{} ({rows} lines would be dropped)", dropped.reason);
            let hint = "without --strict such lines are dropped and counted";
            Err(ImportError::refused(path, line, reason, hint))
        }
        _ => Ok(imported),
    }
}

fn read_kind(
    kind: Kind<'_>,
    bytes: &[u8],
    path: &Path,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    if !options.conditions.is_empty() && !has_columns(&kind) {
        let reason = "--where chooses rows by their columns, and a log or report has none";
        let hint = "import it by itself, without --where";
        return Err(ImportError::refused(path, None, reason, hint));
    }
    let unknown = |found: &str| {
        Err(ImportError::UnknownFormat { path: path.to_owned(), found: found.to_owned() })
    };
    match kind {
        Kind::Archive(kind) => Err(ImportError::Archive { path: path.to_owned(), kind }),
        Kind::Parquet => aiconfigurator::read_parquet(bytes, path, options),
        Kind::Json(text) if nccl_tests::recognises(text) => nccl_tests::read(text, path, options),
        Kind::Json(_) => unknown("a JSON document of an unknown kind"),
        Kind::Text(text) if aiconfigurator::recognises(text) => {
            aiconfigurator::read_text(text, path, options)
        }
        Kind::Text(text) if param::recognises(text) => param::read(text, path, options),
        Kind::Text(text) if nccl_tests::recognises(text) => nccl_tests::read(text, path, options),
        Kind::Text(text) => own_csv::read(text, path, options),
    }
}

/// Whether the rows of a file stand under column names of their author's.
fn has_columns(kind: &Kind<'_>) -> bool {
    match kind {
        Kind::Archive(_) | Kind::Parquet => true,
        Kind::Json(_) => false,
        Kind::Text(text) => {
            aiconfigurator::recognises(text)
                || !(param::recognises(text) || nccl_tests::recognises(text))
        }
    }
}
