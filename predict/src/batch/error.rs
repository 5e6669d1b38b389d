//! What can be wrong with a batch as a whole.

use std::fmt;
use std::io;

use kernelgauge_data::Diagnostic;
use kernelgauge_data::nearest::UnknownName;
use thiserror::Error;

use super::blocks::BlockError;
use super::csv_rows::HeaderError;

/// A line of an input.
#[derive(Debug)]
pub struct Place {
    /// The input.
    pub name: String,
    /// The line, counted from 1.
    pub line: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.line)
    }
}

/// Why a batch cannot be answered, or not to its end.
#[derive(Debug, Error)]
pub enum BatchError {
    /// The op of the command line does not exist.
    #[error("--op: {0}")]
    Op(UnknownName),
    /// The input cannot be read.
    #[error("cannot read {name}: {source}")]
    Read {
        /// The input.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// A folder.
    #[error("{0} is a folder")]
    Folder(String),
    /// No content.
    #[error("{0} is empty")]
    Empty(String),
    /// One JSON document in place of lines.
    #[error("{0} is a JSON array, not one object a line")]
    JsonArray(String),
    /// Binary or compressed.
    #[error("{0} is not text")]
    NotText(String),
    /// The header is none.
    #[error("{name}: {error}")]
    Header {
        /// The input.
        name: String,
        /// Why.
        error: HeaderError,
    },
    /// What came before was answered.
    #[error("{place}: {source}")]
    Stopped {
        /// Where.
        place: Place,
        /// Why.
        source: BlockError,
    },
}

impl Diagnostic for BatchError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            BatchError::Op(name) => name.hint(),
            BatchError::Empty(_) => {
                "a CSV header and rows, or one JSON object a line, are read".to_owned()
            }
            BatchError::JsonArray(name) => format!("`jq -c .[] {name}` writes one object a line"),
            BatchError::NotText(_) => {
                "unpack it first: `gunzip -c FILE | predict batch -`".to_owned()
            }
            BatchError::Header { error, .. } => error.hint().to_owned(),
            BatchError::Stopped { source: BlockError::TooLong, .. } => {
                "is a quote opened there and never closed?".to_owned()
            }
            BatchError::Folder(_) | BatchError::Read { .. } | BatchError::Stopped { .. } => {
                return None;
            }
        })
    }
}
