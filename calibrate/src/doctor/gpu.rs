//! NVIDIA's libraries and GPUs: found or not, which version, and what the absence of each costs.

use kernelgauge_cuda::nvidia::library::{Library, LoadError};
use kernelgauge_cuda::nvidia::symbols;
use kernelgauge_data::Diagnostic as _;

use super::Finding;

/// One finding per library.
pub fn findings() -> Vec<Finding> {
    Library::ALL.into_iter().map(finding).collect()
}

fn finding(library: Library) -> Finding {
    let opened = match library.open() {
        Ok(opened) => opened,
        Err(error) => return absent(library, &error),
    };
    let version = library.version().map(|version| version_words(library, &version));
    let stated = version.unwrap_or_else(|| "does not state its version".to_owned());
    let found = format!("{}, {stated}", opened.path().display());
    match symbols::usable_driver() {
        Err(error) if library == Library::Driver => {
            let remedy = error.hint().unwrap_or_default();
            Finding::warn(library.name(), format!("{found}: {error}"), remedy)
        }
        _ => Finding::ok(library.name(), found),
    }
}

fn absent(library: Library, error: &LoadError) -> Finding {
    let costs = costs(library);
    let found = match error {
        LoadError::Missing(_) => format!("not found: {costs}"),
        LoadError::Unloadable { .. } => format!("{error}: {costs}"),
    };
    Finding::warn(library.name(), found, remedy(library))
}

/// The version as this library states it.
fn version_words(library: Library, version: &str) -> String {
    match library {
        Library::Driver => format!("supports CUDA {version}"),
        Library::Management => format!("driver {version}"),
        Library::Nvrtc | Library::CublasLt | Library::Nccl => format!("version {version}"),
    }
}

/// What is not possible without it.
fn costs(library: Library) -> &'static str {
    match library {
        Library::Driver => "no NVIDIA driver: GPUs of this machine cannot be measured",
        Library::Nvrtc => "kernels for GPUs cannot be compiled",
        Library::CublasLt => "matrix products on GPUs cannot be measured",
        Library::Nccl => "collectives cannot be measured; logs of nccl-tests can be imported",
        Library::Management => "lowered clocks and power limits of GPUs go unnoticed",
    }
}

/// How to get it. Wheels of the Python at hand are found without any further setting.
fn remedy(library: Library) -> &'static str {
    match library {
        Library::Driver => {
            "install the NVIDIA driver; without a GPU, measure the processor (`--device cpu`) or \
             predict a shipped machine (`predict machines`)"
        }
        Library::Nvrtc => {
            "install the CUDA toolkit, or `pip install nvidia-cuda-nvrtc`; LD_LIBRARY_PATH names \
             any other folder"
        }
        Library::CublasLt => {
            "install the CUDA toolkit, or `pip install nvidia-cublas`; LD_LIBRARY_PATH names any \
             other folder"
        }
        Library::Nccl => {
            "install NCCL, or `pip install nvidia-nccl-cu13`; LD_LIBRARY_PATH names any other \
             folder"
        }
        Library::Management => "it comes with the NVIDIA driver",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_library_costs_does_not_claim_a_gpu() {
        for library in Library::ALL {
            assert!(!costs(library).contains("GPU found"), "{}", library.name());
            assert!(!remedy(library).is_empty());
        }
    }

    #[test]
    fn a_library_that_does_not_load_says_why_and_what_that_costs() {
        let error = LoadError::Unloadable {
            path: "/opt/x/libnccl.so.2".into(),
            why: "wrong ELF class: ELFCLASS32".to_owned(),
        };
        assert_eq!(
            absent(Library::Nccl, &error).found,
            "/opt/x/libnccl.so.2 cannot be loaded (wrong ELF class: ELFCLASS32): collectives \
             cannot be measured; logs of nccl-tests can be imported"
        );
    }
}
