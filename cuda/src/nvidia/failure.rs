//! What the driver says, in words for a journal line.

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;
use kernelgauge_data::Failure;

/// Makes a failure of what `call` returned.
pub fn failed(call: &'static str) -> impl FnOnce(DriverError) -> Failure {
    move |error| Failure::Device(format!("{call}: {}", words(error)))
}

/// The driver's name for the error, and what it means where that is known.
pub fn words(error: DriverError) -> String {
    let meaning = match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => "out of memory",
        CUresult::CUDA_ERROR_NO_DEVICE => "no CUDA-capable GPU",
        CUresult::CUDA_ERROR_SYSTEM_NOT_READY | CUresult::CUDA_ERROR_FABRIC_NOT_READY => {
            "the NVSwitch fabric is not up: is the fabric manager running?"
        }
        CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH => {
            "the driver's library and its kernel module are of different versions"
        }
        CUresult::CUDA_ERROR_UNKNOWN => "the GPU may be lost: see `nvidia-smi` and Xid messages",
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
        | CUresult::CUDA_ERROR_LAUNCH_FAILED
        | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
        | CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE => {
            "every later call of this process fails as well"
        }
        _ => return format!("{:?}", error.0),
    };
    format!("{:?} ({meaning})", error.0)
}
