//! Why a file cannot be imported.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::diagnostic::{Diagnostic, ExitStatus};
use crate::table::TableError;
use crate::units::Bytes;

/// A file that is not imported, with the place and the reason.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file exceeds the limit.
    #[error("{}: {size} is over the limit of {limit} for one input file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        size: Bytes,
        /// The limit.
        limit: Bytes,
    },
    /// The file is an archive or compressed.
    #[error("{}: {kind}, and archives are not read", path.display())]
    Archive {
        /// The file.
        path: PathBuf,
        /// `a tar archive`.
        kind: &'static str,
    },
    /// The file is none of the formats this tool knows.
    #[error("{}: not a table or log this tool knows ({found})", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// What it looks like.
        found: String,
    },
    /// The file is a table that cannot be read as one.
    #[error("{}{}: {problem}", path.display(), at_line(problem.line()))]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: TableError,
    },
    /// The file is understood, and refused.
    #[error("{}{}: {reason}", path.display(), at_line(*line))]
    Refused {
        /// The file.
        path: PathBuf,
        /// The line, where there is one.
        line: Option<usize>,
        /// What was found and why it is refused.
        reason: String,
        /// What to do about it.
        hint: Option<String>,
    },
}

impl ImportError {
    /// A refusal of a whole file or of one of its lines.
    pub fn refused(
        path: &Path,
        line: impl Into<Option<usize>>,
        reason: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let hint = hint.into();
        ImportError::Refused {
            path: path.to_owned(),
            line: line.into(),
            reason: reason.into(),
            hint: (!hint.is_empty()).then_some(hint),
        }
    }
}

/// `:12`, or nothing.
fn at_line(line: Option<usize>) -> String {
    line.map(|line| format!(":{line}")).unwrap_or_default()
}

impl Diagnostic for ImportError {
    fn hint(&self) -> Option<String> {
        match self {
            ImportError::Read { .. } => None,
            ImportError::TooLarge { .. } => Some("split the file, or raise --max-bytes".to_owned()),
            ImportError::Archive { .. } => {
                Some("unpack it and import the files it holds".to_owned())
            }
            ImportError::UnknownFormat { .. } => Some(
                "known: CSV with a header, nccl-tests text and JSON, PARAM comms text, \
                 aiconfigurator Parquet and CSV"
                    .to_owned(),
            ),
            ImportError::Table { problem, .. } => problem.hint(),
            ImportError::Refused { hint, .. } => hint.clone(),
        }
    }

    fn exit_status(&self) -> ExitStatus {
        ExitStatus::Input
    }
}
