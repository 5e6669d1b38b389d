//! The functions of cuBLASLt that are called, looked up before the first call, and its handle.
//!
//! cudarc's wrappers are passed by: they panic where a function is missing, look for the library
//! by other rules than ours, and hold results in an enum that has no place for new codes.
//!
//! Left to others: what the handles they make are for (`description`, `algorithm`).

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, OnceLock};

use kernelgauge_data::Failure;

use crate::nvidia::context::Context;
use crate::nvidia::library::Library;

/// A handle, descriptor, layout or preference.
pub type Opaque = *mut c_void;
/// `cublasStatus_t`; a number, because newer libraries have codes that we do not know.
pub type Status = u32;
type Destroy = unsafe extern "C" fn(Opaque) -> Status;
type SetAttribute = unsafe extern "C" fn(Opaque, u32, *const c_void, usize) -> Status;

/// `cublasLtMatmulAlgo_t`.
pub type Algorithm = [u64; 8];

/// `cublasLtMatmulHeuristicResult_t`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct HeuristicResult {
    /// What `cublasLtMatmul` takes.
    pub algorithm: Algorithm,
    /// Bytes of workspace it needs.
    pub workspace: usize,
    /// Whether it may be used.
    pub state: Status,
    waves: f32,
    reserved: [c_int; 4],
}

/// The functions, with the signatures of the cuBLASLt documentation (CUDA 12 and 13).
#[derive(Debug)]
pub struct Functions {
    create: unsafe extern "C" fn(*mut Opaque) -> Status,
    destroy: Destroy,
    pub(super) product_create: unsafe extern "C" fn(*mut Opaque, u32, u32) -> Status,
    pub(super) product_destroy: Destroy,
    pub(super) product_set: SetAttribute,
    pub(super) layout_create: unsafe extern "C" fn(*mut Opaque, u32, u64, u64, i64) -> Status,
    pub(super) layout_destroy: Destroy,
    pub(super) layout_set: SetAttribute,
    pub(super) preference_create: unsafe extern "C" fn(*mut Opaque) -> Status,
    pub(super) preference_destroy: Destroy,
    pub(super) preference_set: SetAttribute,
    pub(super) heuristic: unsafe extern "C" fn(
        Opaque,
        Opaque,
        Opaque,
        Opaque,
        Opaque,
        Opaque,
        Opaque,
        c_int,
        *mut HeuristicResult,
        *mut c_int,
    ) -> Status,
    pub(super) configuration:
        unsafe extern "C" fn(*const Algorithm, u32, *mut c_void, usize, *mut usize) -> Status,
    pub(super) multiply: unsafe extern "C" fn(
        Opaque,
        Opaque,
        *const c_void,
        *const c_void,
        Opaque,
        *const c_void,
        Opaque,
        *const c_void,
        *const c_void,
        Opaque,
        *mut c_void,
        Opaque,
        *const Algorithm,
        *mut c_void,
        usize,
        *mut c_void,
    ) -> Status,
}

impl Functions {
    /// The functions of the library on this machine, looked up once.
    ///
    /// # Errors
    /// A sentence: it was not found, does not load, or lacks one of them.
    pub fn open() -> Result<&'static Functions, String> {
        static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
        FUNCTIONS.get_or_init(Functions::look_up).as_ref().map_err(Clone::clone)
    }

    fn look_up() -> Result<Functions, String> {
        let library =
            Library::CublasLt.open().map_err(|error| format!("matrix products: {error}"))?;
        /// A function of this name, stored as what its field holds.
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: a function of this name has the signature of the field it is stored in.
                match unsafe { library.function($name) } {
                    Some(function) => function,
                    None => return Err(format!("matrix products: cuBLASLt lacks {}", $name)),
                }
            };
        }
        Ok(Functions {
            create: function!("cublasLtCreate"),
            destroy: function!("cublasLtDestroy"),
            product_create: function!("cublasLtMatmulDescCreate"),
            product_destroy: function!("cublasLtMatmulDescDestroy"),
            product_set: function!("cublasLtMatmulDescSetAttribute"),
            layout_create: function!("cublasLtMatrixLayoutCreate"),
            layout_destroy: function!("cublasLtMatrixLayoutDestroy"),
            layout_set: function!("cublasLtMatrixLayoutSetAttribute"),
            preference_create: function!("cublasLtMatmulPreferenceCreate"),
            preference_destroy: function!("cublasLtMatmulPreferenceDestroy"),
            preference_set: function!("cublasLtMatmulPreferenceSetAttribute"),
            heuristic: function!("cublasLtMatmulAlgoGetHeuristic"),
            configuration: function!("cublasLtMatmulAlgoConfigGetAttribute"),
            multiply: function!("cublasLtMatmul"),
        })
    }
}

/// Makes a failure of a status that is not 0.
///
/// # Errors
/// The library's name for the code, where it is known.
pub fn done(call: &str, status: Status) -> Result<(), Failure> {
    let name = match status {
        0 => return Ok(()),
        1 => "CUBLAS_STATUS_NOT_INITIALIZED",
        3 => "CUBLAS_STATUS_ALLOC_FAILED",
        7 => "CUBLAS_STATUS_INVALID_VALUE",
        8 => "CUBLAS_STATUS_ARCH_MISMATCH",
        11 => "CUBLAS_STATUS_MAPPING_ERROR",
        13 => "CUBLAS_STATUS_EXECUTION_FAILED",
        14 => "CUBLAS_STATUS_INTERNAL_ERROR",
        15 => "CUBLAS_STATUS_NOT_SUPPORTED",
        _ => return Err(Failure::Device(format!("{call}: status {status}"))),
    };
    Err(Failure::Device(format!("{call}: {name}")))
}

/// The library, ready for one GPU.
#[derive(Debug)]
pub struct Handle {
    functions: &'static Functions,
    context: Arc<Context>,
    raw: Opaque,
}

// SAFETY: the library lets any thread use a handle, one at a time, with its context current,
// which every call here makes sure of.
unsafe impl Send for Handle {}
// SAFETY: a handle may be used by several threads at once (cuBLASLt documentation, "Thread
// safety"), and nothing here changes it.
unsafe impl Sync for Handle {}

impl Handle {
    /// A handle in `context`.
    ///
    /// # Errors
    /// What the library says.
    pub fn new(functions: &'static Functions, context: &Arc<Context>) -> Result<Self, Failure> {
        context.make_current()?;
        let mut raw = null_mut();
        // SAFETY: a context is current, and the pointer is valid for the call.
        done("cublasLtCreate", unsafe { (functions.create)(&raw mut raw) })?;
        Ok(Handle { functions, context: Arc::clone(context), raw })
    }

    /// The functions to call with it.
    pub fn functions(&self) -> &'static Functions {
        self.functions
    }

    /// The library's own.
    pub fn raw(&self) -> Opaque {
        self.raw
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.context.make_current().is_ok() {
            // SAFETY: created in `new` and destroyed nowhere else.
            let _ = unsafe { (self.functions.destroy)(self.raw) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_codes_have_names_and_others_their_number() {
        let said = |status| done("cublasLtMatmul", status).unwrap_err().to_string();
        assert_eq!(said(15), "device error: cublasLtMatmul: CUBLAS_STATUS_NOT_SUPPORTED");
        assert_eq!(said(99), "device error: cublasLtMatmul: status 99");
        assert_eq!(done("cublasLtMatmul", 0), Ok(()));
    }

    #[test]
    fn the_result_is_laid_out_as_in_the_header() {
        // cublasLtMatmulHeuristicResult_t: algo 64, workspaceSize 8, state, wavesCount, reserved.
        assert_eq!(size_of::<HeuristicResult>(), 64 + 8 + 4 + 4 + 16);
    }
}
