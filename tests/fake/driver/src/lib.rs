//! A stand-in for libcuda and libnvidia-ml: eight GPUs that keep books, on a clock of their own.
//!
//! A test copies the built library into a folder as `libcuda.so.1` and `libnvidia-ml.so.1` and
//! puts that folder on the loader's path of a child process; the program under test then runs
//! its real path through the real bindings. Copies and fills move bytes, so results can be
//! verified; launching a graph only passes time. Times follow a latency and a bandwidth
//! (`clock`). The names of the GPUs say that they are synthetic, and the program marks whatever
//! it measures here accordingly.
//!
//! Kernels run on the processor, from libraries that the test compiled of the same sources
//! (`module`).
//!
//! `KERNELGAUGE_FAKE_FAULT` names what goes wrong (`fault`).

mod clock;
mod device;
mod fault;
mod management;
mod memory;
mod module;
mod stream;

/// What every function returns: the codes of `CUresult` (cuda.h) that are used.
pub type Status = u32;

/// Done.
pub const DONE: Status = 0;
/// `CUDA_ERROR_INVALID_VALUE`.
pub const INVALID_VALUE: Status = 1;
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub const OUT_OF_MEMORY: Status = 2;
/// `CUDA_ERROR_NO_DEVICE`.
pub const NO_DEVICE: Status = 100;
/// `CUDA_ERROR_INVALID_DEVICE`.
pub const INVALID_DEVICE: Status = 101;
/// `CUDA_ERROR_INVALID_CONTEXT`.
pub const INVALID_CONTEXT: Status = 201;
/// `CUDA_ERROR_INVALID_HANDLE`.
pub const INVALID_HANDLE: Status = 400;
/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`.
pub const CAPTURE_UNSUPPORTED: Status = 900;
/// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`.
pub const CAPTURE_IMPLICIT: Status = 906;
/// `CUDA_ERROR_NOT_READY`.
pub const NOT_READY: Status = 600;
/// `CUDA_ERROR_NOT_FOUND`.
pub const NOT_FOUND: Status = 500;
/// `CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES`.
pub const LAUNCH_OUT_OF_RESOURCES: Status = 701;
/// `CUDA_ERROR_ILLEGAL_ADDRESS`, which sticks to its context.
pub const ILLEGAL_ADDRESS: Status = 700;
/// `CUDA_ERROR_UNKNOWN`, which a GPU that fell off the bus leads to.
pub const UNKNOWN: Status = 999;

/// Writes `value` to where the caller wants it.
fn give<T>(place: Option<&mut T>, value: T) -> Status {
    match place {
        Some(place) => {
            *place = value;
            DONE
        }
        None => INVALID_VALUE,
    }
}
