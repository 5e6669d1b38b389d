//! NVIDIA's libraries: found or not, and what the absence of each costs.

use super::Finding;
use crate::libraries;

/// A library, the names it goes by, and what is not possible without it.
struct Library {
    check: &'static str,
    names: &'static [&'static str],
    costs: &'static str,
    remedy: &'static str,
}

const LIBRARIES: [Library; 5] = [
    Library {
        check: "libcuda",
        names: &["libcuda.so.1"],
        costs: "no NVIDIA driver: GPUs of this machine cannot be measured",
        remedy: "install the NVIDIA driver; without a GPU, measure the processor \
                 (`--device cpu`) or predict a shipped machine (`predict machines`)",
    },
    Library {
        check: "libnvrtc",
        names: &["libnvrtc.so.13", "libnvrtc.so.12"],
        costs: "kernels for GPUs cannot be compiled",
        remedy: "install the CUDA toolkit, or `pip install nvidia-cuda-nvrtc` and name its \
                 folder in LD_LIBRARY_PATH",
    },
    Library {
        check: "libcublasLt",
        names: &["libcublasLt.so.13", "libcublasLt.so.12"],
        costs: "matrix products on GPUs cannot be measured",
        remedy: "install the CUDA toolkit, or `pip install nvidia-cublas` and name its folder \
                 in LD_LIBRARY_PATH",
    },
    Library {
        check: "libnccl",
        names: &["libnccl.so.2"],
        costs: "collectives cannot be measured; logs of nccl-tests can be imported",
        remedy: "install NCCL, or `pip install nvidia-nccl-cu13` and name its folder in \
                 LD_LIBRARY_PATH",
    },
    Library {
        check: "libnvidia-ml",
        names: &["libnvidia-ml.so.1"],
        costs: "clocks, power limits and links of GPUs are not visible",
        remedy: "it comes with the NVIDIA driver",
    },
];

/// One finding per library.
pub fn findings() -> Vec<Finding> {
    LIBRARIES
        .iter()
        .map(|library| match libraries::find(library.names) {
            Some(path) => Finding::ok(library.check, path.display().to_string()),
            None => {
                let found = format!("not found: {}", library.costs);
                Finding::warn(library.check, found, library.remedy)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_library_costs_does_not_claim_a_gpu() {
        for library in &LIBRARIES {
            assert!(!library.costs.contains("GPU found"), "{}", library.check);
        }
    }
}
