//! Why a model file is not read.

use kernelgauge_data::Diagnostic;
use thiserror::Error;

use super::{FORMAT, FORMAT_VERSION};

/// Why a model file is not read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StoreError {
    /// The file is something else.
    #[error(
        "not a model of this tool: its format is `{found}`, version {version}; `{FORMAT}`, version {FORMAT_VERSION}, is read"
    )]
    Foreign {
        /// The format it states.
        found: String,
        /// The version it states, or `unknown`.
        version: String,
    },
    /// The file was written by an older tool.
    #[error("model format version {found} is older than {FORMAT_VERSION}, which this tool reads")]
    Older {
        /// The version it states.
        found: u64,
    },
    /// The file was written by a newer tool.
    #[error("model format version {found} is newer than {FORMAT_VERSION}, which this tool reads")]
    Newer {
        /// The version it states.
        found: u64,
    },
    /// The file is longer than any model.
    #[error("{bytes} bytes is longer than any model file")]
    TooLarge {
        /// Its length.
        bytes: usize,
    },
    /// The text is not what a model file holds.
    #[error("damaged model file: line {line}, column {column}: {what}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What was found there.
        what: String,
    },
    /// A number or an index is not possible.
    #[error("damaged model file: {part}: {what}")]
    Damaged {
        /// The variant or the part.
        part: String,
        /// What is wrong with it.
        what: String,
    },
}

impl StoreError {
    pub(crate) fn damaged(part: &str, what: &str) -> Self {
        StoreError::Damaged { part: part.to_owned(), what: what.to_owned() }
    }

    pub(super) fn syntax(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        // The position is said once, by us.
        let what = text.split(" at line ").next().unwrap_or(&text).to_owned();
        StoreError::Syntax { line: error.line(), column: error.column(), what }
    }
}

impl Diagnostic for StoreError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            StoreError::Foreign { .. } => {
                "models are written by `calibrate` and `calibrate fit` (model.json)"
            }
            StoreError::Newer { .. } => "install a newer release, or refit with `calibrate fit`",
            StoreError::TooLarge { .. } => "is this the model.json of a calibration?",
            StoreError::Older { .. } | StoreError::Syntax { .. } | StoreError::Damaged { .. } => {
                "refit the data set it came from with `calibrate fit`"
            }
        };
        Some(hint.to_owned())
    }
}
