//! Why nothing was converted.

use std::io;

use kernelgauge_data::{Diagnostic, ExitStatus};
use thiserror::Error;

/// Why nothing was converted, or not everything.
#[derive(Debug, Error)]
pub enum ConvertError {
    /// A file that would be written is one that is read.
    #[error("{path} is one of the files to convert")]
    Input {
        /// The file.
        path: String,
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
            ConvertError::Input { .. } => Some("name another folder with --out".to_owned()),
            ConvertError::Rule { .. } => {
                Some("nothing of this rank was written; please report it with the trace".to_owned())
            }
            ConvertError::Write { .. } => None,
        }
    }

    fn exit_status(&self) -> ExitStatus {
        match self {
            ConvertError::Input { .. } => ExitStatus::Input,
            ConvertError::Rule { .. } | ConvertError::Write { .. } => ExitStatus::Environment,
        }
    }
}
