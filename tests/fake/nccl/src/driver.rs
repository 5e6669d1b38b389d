//! What is asked of the stand-in driver, where one is loaded. Without it addresses are numbers
//! and nothing is moved.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

type Work = unsafe extern "C" fn(f64) -> u32;
type Hold = unsafe extern "C" fn(bool);

/// The two functions that the driver has for libraries that stand in too.
#[derive(Clone, Copy)]
pub struct Driver {
    work: Work,
    hold: Hold,
}

/// The driver of this process, if it is the stand-in.
pub fn driver() -> Option<Driver> {
    static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();
    *DRIVER.get_or_init(|| {
        let (work, hold) = (find(c"kernelgauge_fake_work")?, find(c"kernelgauge_fake_hold")?);
        // SAFETY: the driver exports both with these types.
        unsafe {
            Some(Driver {
                work: std::mem::transmute::<*mut c_void, Work>(work),
                hold: std::mem::transmute::<*mut c_void, Hold>(hold),
            })
        }
    })
}

fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the null library stands for all that are loaded (RTLD_DEFAULT).
    let found = unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

impl Driver {
    /// Passes time on the GPUs' clock; false where the GPU is out of order.
    pub fn work(self, microseconds: f64) -> bool {
        // SAFETY: a plain function of a number.
        unsafe { (self.work)(microseconds) < 1000 }
    }

    /// Whether events have to wait from now on, because work before them has not ended.
    pub fn hold(self, held: bool) {
        // SAFETY: a plain function of a flag.
        unsafe { (self.hold)(held) }
    }
}
