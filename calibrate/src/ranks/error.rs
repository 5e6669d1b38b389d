//! Why ranks do not come together.

use std::io;

use kernelgauge_data::{Diagnostic, ExitStatus};
use thiserror::Error;

/// Why a run over several processes cannot begin, or ended.
#[derive(Debug, Error)]
pub enum RanksError {
    /// What flags or launcher state is contradictory or incomplete.
    #[error("{what}")]
    Stated {
        /// What is wrong.
        what: String,
        /// What to do about it.
        hint: String,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// As stated or derived.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// Rank 0 was not reached in time.
    #[error("rank 0 was not reached at {address} within {seconds} s: {why}")]
    Unreached {
        /// As stated or derived.
        address: String,
        /// How long was tried.
        seconds: u64,
        /// What the last try led to.
        why: String,
    },
    /// Ranks did not come in time.
    #[error("{missing} of {ranks} did not come within {seconds} s{refused}")]
    Missing {
        /// `rank 2`, `ranks 2, 5`.
        missing: String,
        /// How many there are to be.
        ranks: u32,
        /// How long was waited.
        seconds: u64,
        /// Nothing, or who else came.
        refused: String,
    },
    /// The ranks do not go together.
    #[error("{0}")]
    Disagreement(String),
    /// Rank 0 does not want this process, in its words.
    #[error("rank 0 says: {0}")]
    Refused(String),
    /// Rank 0 ended before the run was over.
    #[error("rank 0 ended before the run was over")]
    Abandoned,
}

impl Diagnostic for RanksError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            RanksError::Stated { hint, .. } => hint,
            RanksError::Listen { .. } => {
                "`--master HOST:PORT` names an address of the node of rank 0 and a free port"
            }
            RanksError::Unreached { .. } => {
                "see what rank 0 says, whether its node lets others reach that port, and \
                 `--master HOST:PORT`"
            }
            RanksError::Missing { .. } => {
                "see what those ranks say; `--join-within TIME` waits longer"
            }
            RanksError::Disagreement(_) | RanksError::Refused(_) => {
                "start every rank with the same program and KERNELGAUGE_TOKEN, and on GPUs of its own: \
                 by hand on one node `--device 0` for rank 0, `--device 1` for rank 1"
            }
            RanksError::Abandoned => "see what rank 0 says; what was measured is in its folder",
        };
        Some(hint.to_owned())
    }

    fn exit_status(&self) -> ExitStatus {
        match self {
            RanksError::Stated { .. } => ExitStatus::Input,
            _ => ExitStatus::Environment,
        }
    }
}
