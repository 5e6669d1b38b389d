//! What can be wrong with a journal.

use std::io;
use std::path::PathBuf;

use kernelgauge_data::{Diagnostic, ExitStatus};
use thiserror::Error;

/// Why a journal cannot be read, continued or written.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The file system refused.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The journal.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line before the last is not as it was written.
    #[error("{path}:{line}: damaged: {problem}", path = path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The run in the journal is not the one asked for.
    #[error(
        "{path} holds a run that this one cannot continue: {differences}",
        path = path.display(),
        differences = differences.join("; ")
    )]
    OtherRun {
        /// The journal.
        path: PathBuf,
        /// Every field that differs, with both values.
        differences: Vec<String>,
    },
    /// An entry has no JSON form.
    #[error("cannot write a journal line: {0}")]
    Encode(#[from] serde_json::Error),
}

impl Diagnostic for JournalError {
    fn hint(&self) -> Option<String> {
        match self {
            JournalError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => Some(
                "free some disk space and run the same command again: what was measured is kept"
                    .to_owned(),
            ),
            JournalError::Io { .. } | JournalError::Encode(_) => None,
            JournalError::Damaged { .. } | JournalError::OtherRun { .. } => Some(
                "`--new-run` starts over and keeps the old journal beside the new one; \
                 `--out` writes elsewhere"
                    .to_owned(),
            ),
        }
    }

    fn exit_status(&self) -> ExitStatus {
        match self {
            JournalError::Io { .. } | JournalError::Encode(_) => ExitStatus::Environment,
            JournalError::Damaged { .. } | JournalError::OtherRun { .. } => ExitStatus::Input,
        }
    }
}
