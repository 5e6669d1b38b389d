//! The version each library states at run time, which may differ from what is installed beside
//! it and from what this program was written against.

use std::ffi::{CStr, c_char, c_int, c_uint};

use super::library::Opened;

/// What every library here returns for "done".
const DONE: c_int = 0;
/// Room for a version as text (`NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE` is 80).
const TEXT: usize = 96;

/// The newest CUDA the driver supports, such as `12.8`: 1000 x major + 10 x minor.
pub fn driver(library: &Opened) -> Option<String> {
    let number = cuda_of(library)?;
    Some(format!("{}.{}", number / 1000, number % 1000 / 10))
}

/// The number `cuDriverGetVersion` gives, such as 12080.
pub fn cuda_of(library: &Opened) -> Option<i32> {
    number(library, "cuDriverGetVersion").filter(|number| *number > 0)
}

/// `13.0`.
pub fn nvrtc(library: &Opened) -> Option<String> {
    type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    // SAFETY: this is the signature in nvrtc.h.
    let version = unsafe { library.function::<Version>("nvrtcVersion") }?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both pointers are valid for the call, which writes one int to each.
    let status = unsafe { version(&raw mut major, &raw mut minor) };
    (status == DONE).then(|| format!("{major}.{minor}"))
}

/// `12.8.4`: 10000 x major + 100 x minor + patch (cublas_api.h since 12).
pub fn cublas_lt(library: &Opened) -> Option<String> {
    type Version = unsafe extern "C" fn() -> usize;
    // SAFETY: this is the signature in cublasLt.h.
    let version = unsafe { library.function::<Version>("cublasLtGetVersion") }?;
    // SAFETY: the function takes nothing and returns a number.
    Some(dotted(unsafe { version() }))
}

/// `2.27.3`: 10000 x major + 100 x minor + patch, and 1000 x major before 2.9 (nccl.h).
pub fn nccl(library: &Opened) -> Option<String> {
    let code = usize::try_from(number(library, "ncclGetVersion")?).ok()?;
    if code < 10_000 {
        return Some(format!("{}.{}.{}", code / 1000, code % 1000 / 100, code % 100));
    }
    Some(dotted(code))
}

/// The driver's own version, such as `570.86.15`. Needs a driver that answers.
pub fn management(library: &Opened) -> Option<String> {
    type Initialise = unsafe extern "C" fn() -> c_int;
    type Version = unsafe extern "C" fn(*mut c_char, c_uint) -> c_int;
    // SAFETY: these are the signatures in nvml.h.
    let initialise = unsafe { library.function::<Initialise>("nvmlInit_v2") }?;
    // SAFETY: as above.
    let version = unsafe { library.function::<Version>("nvmlSystemGetDriverVersion") }?;
    let mut text = [0 as c_char; TEXT];
    // SAFETY: initialising takes nothing, may be repeated, and is left in force until the
    // process ends.
    if unsafe { initialise() } != DONE {
        return None;
    }
    // SAFETY: the buffer is as long as stated, and zero-filled, so text that fills it ends.
    let status = unsafe { version(text.as_mut_ptr(), TEXT as c_uint - 1) };
    if status != DONE {
        return None;
    }
    // SAFETY: the last byte is zero whatever was written before it.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned();
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    plain.then_some(text)
}

/// What `int name(int *)` gives.
fn number(library: &Opened, name: &str) -> Option<c_int> {
    type Version = unsafe extern "C" fn(*mut c_int) -> c_int;
    // SAFETY: this is the signature of `cuDriverGetVersion` (cuda.h) and `ncclGetVersion`
    // (nccl.h), the only names it is called with.
    let version = unsafe { library.function::<Version>(name) }?;
    let mut number = 0;
    // SAFETY: the pointer is valid for the call, which writes one int.
    let status = unsafe { version(&raw mut number) };
    (status == DONE).then_some(number)
}

fn dotted(code: usize) -> String {
    format!("{}.{}.{}", code / 10_000, code / 100 % 100, code % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_versions() {
        assert_eq!(dotted(120_804), "12.8.4");
        assert_eq!(dotted(23_203), "2.32.3");
    }
}
