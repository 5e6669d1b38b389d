//! Everything that can end the command with something other than an answer.

use std::io;

use kernelgauge_data::{Diagnostic, ExitStatus};
use kernelgauge_model::PredictError;
use kernelgauge_trace::TraceError;
use thiserror::Error;

use crate::batch::BatchError;
use crate::convert::ConvertError;
use crate::machine::MachineError;
use crate::question::{QuestionError, TablesError};

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
    /// No model.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A question that cannot be meant.
    #[error(transparent)]
    Question(#[from] QuestionError),
    /// The model refuses.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// A file of tables that cannot be read.
    #[error(transparent)]
    Tables(#[from] TablesError),
    /// The model refuses a table of a set.
    #[error("line {line} of the tables: {source}")]
    Table {
        /// The line.
        line: u64,
        /// Why.
        source: Box<PredictError>,
    },
    /// A batch that cannot be read.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// A trace that cannot be converted.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// A trace that cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The answer could not be written.
    #[error("cannot write the answer: {0}")]
    Write(#[from] io::Error),
}

impl CommandError {
    /// Whether the reader of the answer went away, which is no error: `predict ... | head`.
    pub fn is_broken_pipe(&self) -> bool {
        let CommandError::Write(error) = self else { return false };
        // The CSV writer wraps what the system said.
        let wrapped = error.get_ref().and_then(|inner| inner.downcast_ref::<csv::Error>());
        let kind = match wrapped.map(csv::Error::kind) {
            Some(csv::ErrorKind::Io(inner)) => inner.kind(),
            _ => error.kind(),
        };
        kind == io::ErrorKind::BrokenPipe
    }

    fn inner(&self) -> Option<&dyn Diagnostic> {
        match self {
            CommandError::Machine(error) => Some(error),
            CommandError::Question(error) => Some(error),
            CommandError::Predict(error) => Some(error),
            CommandError::Table { source, .. } => Some(source.as_ref()),
            CommandError::Tables(error) => Some(error),
            CommandError::Batch(error) => Some(error),
            CommandError::Convert(error) => Some(error),
            CommandError::Trace(error) => Some(error),
            CommandError::Usage { .. } | CommandError::NothingAsked | CommandError::Write(_) => {
                None
            }
        }
    }
}

impl Diagnostic for CommandError {
    fn hint(&self) -> Option<String> {
        match self {
            CommandError::Usage { hint, .. } => Some(hint.clone()),
            CommandError::NothingAsked => Some(
                "`predict machines` lists the machines, `predict --help` the questions".to_owned(),
            ),
            other => other.inner()?.hint(),
        }
    }

    fn exit_status(&self) -> ExitStatus {
        match self {
            CommandError::Write(_) => ExitStatus::Environment,
            other => other.inner().map_or(ExitStatus::Input, Diagnostic::exit_status),
        }
    }
}
