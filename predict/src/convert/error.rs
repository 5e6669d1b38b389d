//! Why nothing was converted.

use std::io;

use kernelgauge_data::{Diagnostic, ExitStatus};
use kernelgauge_trace::TraceError;
use thiserror::Error;

/// Why nothing was converted, or not everything.
#[derive(Debug, Error)]
pub enum ConvertError {
    /// A trace that cannot be read or said in the format.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A file that would be written is one that is read.
    #[error("{path} is one of the files to convert")]
    Input {
        /// The file.
        path: String,
    },
    /// Two ranks have the same number, and so the same file.
    #[error("two ranks have the number {rank}")]
    SameRank {
        /// The number.
        rank: u32,
    },
    /// What was made breaks a rule of the format: a mistake of this program.
    #[error("rank {rank} would break a rule of the format: {problem}")]
    Rule {
        /// The rank.
        rank: u32,
        /// The first rule it breaks, and how many there are.
        problem: String,
    },
    /// The system refused.
    #[error("cannot write {path}: {error}")]
    Write {
        /// The file or folder.
        path: String,
        /// What the system said.
        error: io::Error,
    },
}

impl Diagnostic for ConvertError {
    fn hint(&self) -> Option<String> {
        match self {
            ConvertError::Trace(error) => error.hint(),
            ConvertError::Input { .. } => Some("name another folder with --out".to_owned()),
            ConvertError::SameRank { .. } => {
                Some("give the files of one recording only, each once".to_owned())
            }
            ConvertError::Rule { .. } => {
                Some("nothing of this rank was written; please report it with the trace".to_owned())
            }
            ConvertError::Write { .. } => None,
        }
    }

    fn exit_status(&self) -> ExitStatus {
        match self {
            ConvertError::Trace(error) => error.exit_status(),
            ConvertError::Input { .. } | ConvertError::SameRank { .. } => ExitStatus::Input,
            ConvertError::Rule { .. } | ConvertError::Write { .. } => ExitStatus::Environment,
        }
    }
}
