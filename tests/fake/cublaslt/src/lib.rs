//! A stand-in for libcublasLt: real products, on the memory and the clock of the stand-in driver.
//!
//! A test copies the built library as `libcublasLt.so.13` beside the stand-in driver. Products
//! are computed, so results can be verified; layouts, strides, batches, element types and factors
//! are honoured. Times follow a roofline and the algorithm (`algorithms`). It exports what the
//! program calls and no more.
//!
//! `KERNELGAUGE_FAKE_FAULT` names what goes wrong: `no_algorithm`, `wrong_product` (of every
//! algorithm), `wrong_fastest` (of the fastest), `refused_fastest` (the fastest does not start).

mod algorithms;
mod multiply;
mod number;
mod objects;
mod work;

/// What every function returns: the codes of `cublasStatus_t` that are used.
pub type Status = u32;

/// `CUBLAS_STATUS_SUCCESS`.
pub const DONE: Status = 0;
/// `CUBLAS_STATUS_NOT_INITIALIZED`.
pub const NOT_INITIALIZED: Status = 1;
/// `CUBLAS_STATUS_INVALID_VALUE`.
pub const INVALID_VALUE: Status = 7;
/// `CUBLAS_STATUS_EXECUTION_FAILED`.
pub const EXECUTION_FAILED: Status = 13;
/// `CUBLAS_STATUS_NOT_SUPPORTED`.
pub const NOT_SUPPORTED: Status = 15;

/// Whether `name` is the fault of this process.
pub fn fault(name: &str) -> bool {
    std::env::var("KERNELGAUGE_FAKE_FAULT").is_ok_and(|fault| fault == name)
}
