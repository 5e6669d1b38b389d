//! How an error reaches a person: one line of what and where, one line of what to do next.
//!
//! Every error enum of the workspace implements [`Diagnostic`]; the binaries print
//! `error: <display>` and, where there is one, `hint: <hint>`, and exit with its
//! [`ExitStatus`].

use std::error::Error;

/// The exit codes of both commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExitStatus {
    /// 0: done.
    Success,
    /// 1: finished, but points failed or a comparison found a regression.
    Findings,
    /// 2: the command line or an input file is wrong.
    Input,
    /// 3: the machine lacks something: a driver, a device, a permission, disk space.
    Environment,
    /// 4: stopped early (interrupted or out of budget); what was measured is kept.
    Partial,
    /// 130: ended by a second interrupt.
    Interrupted,
}

impl ExitStatus {
    /// The process exit code.
    pub fn code(self) -> u8 {
        match self {
            ExitStatus::Success => 0,
            ExitStatus::Findings => 1,
            ExitStatus::Input => 2,
            ExitStatus::Environment => 3,
            ExitStatus::Partial => 4,
            ExitStatus::Interrupted => 130,
        }
    }
}

/// An error that knows its remedy.
pub trait Diagnostic: Error {
    /// What the user can do about it: a sentence without a final period.
    fn hint(&self) -> Option<String> {
        None
    }

    /// The exit code this error ends the command with.
    fn exit_status(&self) -> ExitStatus {
        ExitStatus::Input
    }
}
