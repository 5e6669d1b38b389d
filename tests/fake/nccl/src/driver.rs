//! What is asked of the stand-in driver, where one is loaded. Without it addresses are numbers
//! and nothing is moved.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

type Work = unsafe extern "C" fn(f64) -> u32;
type Pending = unsafe extern "C" fn(u64, u64);

/// The two functions that the driver has for libraries that stand in too.
#[derive(Clone, Copy)]
pub struct Driver {
    work: Work,
    pending: Pending,
}

/// The driver of this process, if it is the stand-in.
pub fn driver() -> Option<Driver> {
    static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();
    *DRIVER.get_or_init(|| {
        let work = find(c"kernelgauge_fake_work")?;
        let pending = find(c"kernelgauge_fake_pending")?;
        // SAFETY: the driver exports both with these types.
        unsafe {
            Some(Driver {
                work: std::mem::transmute::<*mut c_void, Work>(work),
                pending: std::mem::transmute::<*mut c_void, Pending>(pending),
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

    /// Says how far work is: the last number given to any, and the least whose work has not ended
    /// (`u64::MAX` for none). Events wait for what was enqueued before them.
    pub fn pending(self, issued: u64, oldest: u64) {
        // SAFETY: a plain function of two numbers.
        unsafe { (self.pending)(issued, oldest) }
    }
}
