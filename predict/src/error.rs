//! Everything that can end the command with something other than an answer.

use std::io;

use kernelgauge_data::{Diagnostic, ExitStatus};
use thiserror::Error;

/// What ended the command.
#[derive(Debug, Error)]
pub enum CommandError {
    /// A mistake on the command line.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: String,
    },
    /// No command at all.
    #[error("what shall be predicted?")]
    NothingAsked,
    /// The answer could not be written.
    #[error("cannot write the answer: {0}")]
    Write(#[from] io::Error),
}

impl CommandError {
    /// Whether the reader of the answer went away, which is no error: `predict ... | head`.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, CommandError::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl Diagnostic for CommandError {
    fn hint(&self) -> Option<String> {
        match self {
            CommandError::Usage { hint, .. } => Some(hint.clone()),
            CommandError::NothingAsked => Some(
                "`predict machines` lists the machines, `predict --help` the questions".to_owned(),
            ),
            CommandError::Write(_) => None,
        }
    }

    fn exit_status(&self) -> ExitStatus {
        match self {
            CommandError::Write(_) => ExitStatus::Environment,
            CommandError::Usage { .. } | CommandError::NothingAsked => ExitStatus::Input,
        }
    }
}
