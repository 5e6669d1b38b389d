//! Any error of any room, on its way to the person who ran the command.

use std::io::{self, Write};

use kernelgauge_data::nearest::UnknownName;
use kernelgauge_data::{Diagnostic, ExitStatus};
use thiserror::Error;

/// The boxed error of a command. Every [`Diagnostic`] converts into it with `?`.
#[derive(Debug)]
pub struct CommandError(Box<dyn Diagnostic>);

impl<E: Diagnostic + 'static> From<E> for CommandError {
    fn from(error: E) -> Self {
        CommandError(Box::new(error))
    }
}

/// What goes wrong in the commands themselves.
#[derive(Debug, Error)]
pub enum UsageError {
    /// A name on the command line that is not known.
    #[error("{0}")]
    Unknown(#[from] UnknownName),
    /// Anything else about the command line or its input.
    #[error("{what}")]
    Mistake {
        /// What is wrong.
        what: String,
        /// What to do about it.
        hint: String,
    },
    /// The device fails whatever it is asked.
    #[error("{what}")]
    DeviceLost {
        /// In its words.
        what: String,
        /// What to do about it.
        hint: String,
    },
    /// Standard output cannot be written to.
    #[error("cannot write to standard output: {0}")]
    Output(#[source] io::Error),
    /// Something this machine refuses.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

impl UsageError {
    /// A mistake and its remedy.
    pub fn mistake(what: impl Into<String>, hint: impl Into<String>) -> Self {
        UsageError::Mistake { what: what.into(), hint: hint.into() }
    }
}

impl Diagnostic for UsageError {
    fn hint(&self) -> Option<String> {
        match self {
            UsageError::Unknown(unknown) => Some(unknown.hint()),
            UsageError::Mistake { hint, .. } | UsageError::DeviceLost { hint, .. } => {
                Some(hint.clone())
            }
            UsageError::Output(_) | UsageError::System { .. } => None,
        }
    }

    fn exit_status(&self) -> ExitStatus {
        match self {
            UsageError::Unknown(_) | UsageError::Mistake { .. } => ExitStatus::Input,
            // Whoever read our output has seen enough.
            UsageError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                ExitStatus::Success
            }
            UsageError::DeviceLost { .. } | UsageError::Output(_) | UsageError::System { .. } => {
                ExitStatus::Environment
            }
        }
    }
}

impl CommandError {
    /// Writes the error and its hint, and says how the command ends.
    pub fn report(&self, stderr: &mut dyn Write) -> ExitStatus {
        let status = self.0.exit_status();
        if status != ExitStatus::Success {
            let _ = writeln!(stderr, "error: {}", self.0);
            if let Some(hint) = self.0.hint() {
                let _ = writeln!(stderr, "hint: {hint}");
            }
        }
        status
    }
}

/// Writes `text` to standard output.
///
/// # Errors
/// [`UsageError::Output`].
pub fn print(stdout: &mut dyn Write, text: &str) -> Result<(), UsageError> {
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(UsageError::Output)
}
