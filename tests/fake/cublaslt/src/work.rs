//! The clock of the stand-in driver, found through the loader.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

use crate::{DONE, EXECUTION_FAILED, Status};

type Work = extern "C" fn(f64) -> u32;

type Current = unsafe extern "C" fn(*mut *mut c_void) -> u32;

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// What `kernelgauge_fake_work` answers for "do it now".
const NOW: u32 = 1;

/// The function `name` of whatever library has it.
fn found(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a null library is RTLD_DEFAULT, and the name ends with zero.
    let found = unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

fn work() -> Option<Work> {
    static WORK: OnceLock<Option<Work>> = OnceLock::new();
    *WORK.get_or_init(|| {
        let found = found(c"kernelgauge_fake_work")?;
        // SAFETY: the only function of this name has this signature.
        Some(unsafe { std::mem::transmute::<*mut c_void, Work>(found) })
    })
}

/// Whether this thread has a context of the driver, which the library takes for its own.
pub fn has_context() -> bool {
    let mut context = std::ptr::null_mut();
    let Some(found) = found(c"cuCtxGetCurrent") else { return false };
    // SAFETY: the driver's function of this name has this signature, and the pointer is valid.
    let status = unsafe { std::mem::transmute::<*mut c_void, Current>(found)(&raw mut context) };
    status == 0 && !context.is_null()
}

/// Passes the time of some work; whether it is to be done now.
///
/// # Errors
/// The status of a GPU that is out of order, or of no driver.
pub fn pass(microseconds: f64) -> Result<bool, Status> {
    match work().map(|work| work(microseconds)) {
        Some(answer) if answer <= NOW => Ok(answer == NOW),
        _ => Err(EXECUTION_FAILED),
    }
}

/// As a status: nothing to do, or out of order.
pub fn status(passed: Result<bool, Status>) -> Status {
    passed.map_or_else(|status| status, |_| DONE)
}
