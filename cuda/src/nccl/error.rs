//! What can go wrong with NCCL.

use std::path::PathBuf;
use std::time::Duration;

use kernelgauge_data::{Diagnostic, ExitStatus, Failure};
use thiserror::Error;

use super::code::Code;
use super::function::Function;
use super::version::Version;

/// Why NCCL cannot be used, or what it failed at.
///
/// The messages name no host, address or user, so they may be recorded; what NCCL itself says
/// may name any of them and is in the hint only.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NcclError {
    /// No library was found.
    #[error("NCCL was not found: no libnccl.so.2 in the loader's path nor in {} other folders",
            looked_in.len())]
    Missing {
        /// Folders looked into besides the loader's own.
        looked_in: Vec<PathBuf>,
    },
    /// A library is there and the loader refuses it.
    #[error("{}: NCCL cannot be loaded: {reason}", path.display())]
    Unloadable {
        /// The file, or the name it was asked for by.
        path: PathBuf,
        /// What the loader says.
        reason: String,
    },
    /// The library is too old for what it is needed for.
    #[error("NCCL {found} is too old: communicators need {needed} or newer")]
    TooOld {
        /// The version of the library.
        found: Version,
        /// The oldest that would do.
        needed: Version,
    },
    /// The library lacks one function.
    #[error("NCCL {version} has no {function}")]
    MissingFunction {
        /// The function.
        function: Function,
        /// The version of the library.
        version: Version,
    },
    /// The environment makes every call of NCCL block, so that none could be given up.
    #[error("NCCL_COMM_BLOCKING is set, which takes away every time limit of NCCL's calls")]
    BlockingForced,
    /// What was asked for makes no sense.
    #[error("{what}")]
    Argument {
        /// A sentence: what, and why not.
        what: String,
    },
    /// A call failed.
    #[error("{function}: {code}")]
    Call {
        /// The call.
        function: Function,
        /// What it answered.
        code: Code,
        /// What NCCL itself says; may hold names of hosts and addresses.
        detail: Option<String>,
    },
    /// Something did not end in time.
    #[error("{what} did not end within {} s", limit.as_secs_f64())]
    Deadline {
        /// What was waited for.
        what: String,
        /// For how long.
        limit: Duration,
    },
    /// The operating system gives no thread for a call that may block.
    #[error("no thread can be started for {what}")]
    NoThread {
        /// What it was for.
        what: String,
    },
}

/// For the record of a point; without NCCL's own words, which may name hosts and addresses.
impl From<NcclError> for Failure {
    fn from(error: NcclError) -> Self {
        match error {
            NcclError::Deadline { .. } => Failure::TimedOut(error.to_string()),
            _ => Failure::Device(error.to_string()),
        }
    }
}

impl Diagnostic for NcclError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            NcclError::Missing { .. } => "install NCCL, or `pip install nvidia-nccl-cu13` and \
                                          name its folder in LD_LIBRARY_PATH"
                .to_owned(),
            NcclError::Unloadable { .. } => "a damaged file or one for another processor is \
                                             refused; install NCCL anew"
                .to_owned(),
            NcclError::TooOld { needed, .. } => {
                format!("install NCCL {needed} or newer, and name its folder in LD_LIBRARY_PATH")
            }
            NcclError::MissingFunction { function, version } if function.since() > *version => {
                format!("it came with NCCL {}; install that or a newer one", function.since())
            }
            NcclError::MissingFunction { .. } => {
                "the library is damaged or no NCCL; install it anew".to_owned()
            }
            NcclError::BlockingForced => "unset NCCL_COMM_BLOCKING".to_owned(),
            NcclError::Argument { .. } => return None,
            NcclError::Call { code, detail: Some(detail), .. } => {
                format!("{}; NCCL says: {detail}", code.hint())
            }
            NcclError::Call { code, .. } => code.hint().to_owned(),
            NcclError::Deadline { .. } => "a rank may be missing or unable to reach the others: \
                                           look at all of them; NCCL_DEBUG=INFO shows how far \
                                           each one came"
                .to_owned(),
            NcclError::NoThread { .. } => "see `ulimit -u`".to_owned(),
        })
    }

    fn exit_status(&self) -> ExitStatus {
        match self {
            NcclError::Argument { .. } => ExitStatus::Input,
            _ => ExitStatus::Environment,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nccl_says_is_in_the_hint_only() {
        let error = NcclError::Call {
            function: Function::InitRankConfig,
            code: Code(2),
            detail: Some("connect to node17<40000> failed".to_owned()),
        };
        assert!(!error.to_string().contains("node17"), "{error}");
        assert!(error.hint().unwrap().contains("node17"));
    }

    #[test]
    fn a_function_that_an_old_library_cannot_have_is_told_from_a_damaged_one() {
        for (function, version, expected) in [
            (Function::AllToAll, Version::new(2, 21, 5), "came with NCCL 2.28.0"),
            (Function::AllReduce, Version::new(2, 21, 5), "damaged"),
        ] {
            let error = NcclError::MissingFunction { function, version };
            assert!(error.hint().unwrap().contains(expected), "{error}");
        }
    }
}
