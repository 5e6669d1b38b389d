//! Why a trace was not read, or not written.

use std::io;

use kernelgauge_data::{Diagnostic, ExitStatus};
use thiserror::Error;

/// Why a trace was not read, or not written.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The system refused.
    #[error("{source_name}: {error}")]
    Read {
        /// The file.
        source_name: String,
        /// What the system said.
        error: io::Error,
    },
    /// What is there is not what it should be.
    #[error("{source_name}: {place}: {problem}")]
    Content {
        /// The file.
        source_name: String,
        /// Where: `byte 4711, line 3`, `event 12`, `node 5, inputs`.
        place: String,
        /// What is wrong.
        problem: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// The file as a whole cannot be used.
    #[error("{source_name}: {problem}")]
    Unusable {
        /// The file.
        source_name: String,
        /// Why.
        problem: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// What was asked for cannot be written.
    #[error("cannot write {source_name}: {error}")]
    Write {
        /// The file.
        source_name: String,
        /// What the system said.
        error: io::Error,
    },
}

impl TraceError {
    /// What is at `place` is not what it should be.
    pub fn content(
        source_name: &str,
        place: impl Into<String>,
        problem: impl Into<String>,
        hint: &str,
    ) -> Self {
        TraceError::Content {
            source_name: source_name.to_owned(),
            place: place.into(),
            problem: problem.into(),
            hint: (!hint.is_empty()).then(|| hint.to_owned()),
        }
    }

    /// The file as a whole cannot be used.
    pub fn unusable(source_name: &str, problem: impl Into<String>, hint: &str) -> Self {
        TraceError::Unusable {
            source_name: source_name.to_owned(),
            problem: problem.into(),
            hint: (!hint.is_empty()).then(|| hint.to_owned()),
        }
    }
}

impl Diagnostic for TraceError {
    fn hint(&self) -> Option<String> {
        match self {
            TraceError::Content { hint, .. } | TraceError::Unusable { hint, .. } => hint.clone(),
            TraceError::Read { .. } | TraceError::Write { .. } => None,
        }
    }

    fn exit_status(&self) -> ExitStatus {
        match self {
            TraceError::Write { .. } => ExitStatus::Environment,
            _ => ExitStatus::Input,
        }
    }
}
