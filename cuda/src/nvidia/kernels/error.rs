//! Why a kernel could not be compiled.

use kernelgauge_data::{Diagnostic, ExitStatus};
use thiserror::Error;

use super::compile::Architecture;

/// Why a kernel could not be compiled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KernelError {
    /// The loader finds no NVRTC.
    #[error("NVRTC, the CUDA compiler library (libnvrtc.so.13 or .12), was not found")]
    NoCompiler,
    /// A library of that name lacks a function.
    #[error("the NVRTC found here lacks the function {0}")]
    OldCompiler(&'static str),
    /// A function of NVRTC failed.
    #[error("NVRTC: {function} ended with code {code}")]
    Call {
        /// The function.
        function: &'static str,
        /// Its result.
        code: i32,
    },
    /// NVRTC does not know the architecture.
    #[error("{file}: NVRTC {}.{} does not compile for {architecture}", version.0, version.1)]
    Architecture {
        /// The source file.
        file: &'static str,
        /// What was asked for.
        architecture: Architecture,
        /// Version of NVRTC.
        version: (i32, i32),
    },
    /// The driver does not load what it compiled.
    #[error("the driver refuses what NVRTC {}.{} compiles: {why}", version.0, version.1)]
    Refused {
        /// Version of NVRTC.
        version: (i32, i32),
        /// What the driver says.
        why: String,
    },
    /// A source did not compile.
    #[error("{file} does not compile for {architecture}: {log}")]
    Source {
        /// The source file.
        file: &'static str,
        /// What was asked for.
        architecture: Architecture,
        /// What NVRTC says about it.
        log: String,
    },
}

impl Diagnostic for KernelError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            KernelError::NoCompiler => "install the CUDA toolkit or `pip install \
                nvidia-cuda-nvrtc`, and put the folder of the library on LD_LIBRARY_PATH"
                .to_owned(),
            KernelError::OldCompiler(_) => "NVRTC of CUDA 12 or newer is needed".to_owned(),
            KernelError::Architecture { .. } => "NVRTC 13 compiles for compute capability 7.5 and \
                newer, NVRTC 12.9 for 5.0 to 12.1: install the one that fits"
                .to_owned(),
            KernelError::Refused { .. } => "an NVRTC of a newer CUDA than the driver's may be the \
                cause: `pip install nvidia-cuda-nvrtc-cu12` for a driver of CUDA 12, or a newer driver"
                .to_owned(),
            KernelError::Call { .. } | KernelError::Source { .. } => {
                "try another NVRTC; if the message stays, it is a fault of kernelgauge".to_owned()
            }
        })
    }

    fn exit_status(&self) -> ExitStatus {
        ExitStatus::Environment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_is_a_sentence_with_a_remedy_and_exit_code_3() {
        let architecture = Architecture::new(7, 0);
        let file = "sort.cu";
        for error in [
            KernelError::NoCompiler,
            KernelError::OldCompiler("nvrtcGetCUBIN"),
            KernelError::Call { function: "nvrtcVersion", code: 11 },
            KernelError::Architecture { file, architecture, version: (13, 5) },
            KernelError::Source { file, architecture, log: "x".to_owned() },
            KernelError::Refused { version: (13, 2), why: "x".to_owned() },
        ] {
            assert!(!error.to_string().ends_with('.'), "{error}");
            assert!(error.hint().is_some());
            assert_eq!(error.exit_status(), ExitStatus::Environment);
        }
        let old = KernelError::Architecture { file, architecture, version: (13, 5) };
        assert_eq!(old.to_string(), "sort.cu: NVRTC 13.5 does not compile for sm_70");
    }
}
