//! The functions of the driver that are called, looked up before the first call.
//!
//! The bindings look a function up when it is first called and panic where the driver lacks
//! it. A function that is called anywhere in this crate therefore stands in [`USED`]; a driver
//! that lacks one is refused with a sentence before any of them is called.

use cudarc::driver::sys;

use super::library::{Library, LoadError, Opened};
use super::version;
use crate::device::DeviceError;

/// Every function of libcuda that this crate calls, by the names of the bindings for CUDA 13.
const USED: &[&str] = &[
    "cuCtxEnablePeerAccess",
    "cuCtxSetCurrent",
    "cuDeviceCanAccessPeer",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetPCIBusId",
    "cuDeviceGetUuid_v2",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventElapsedTime_v2",
    "cuEventQuery",
    "cuEventRecord",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuGraphUpload",
    "cuInit",
    "cuLaunchKernel",
    "cuMemAlloc_v2",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoH_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyHtoD_v2",
    "cuMemcpyPeerAsync",
    "cuMemsetD16Async",
    "cuMemsetD32Async",
    "cuMemsetD8Async",
    "cuMemsetD8_v2",
    "cuModuleGetFunction",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuStreamBeginCapture_v2",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamEndCapture",
    "cuStreamSynchronize",
];

/// The driver must support this CUDA: `cuEventElapsedTime_v2` came with 12.8.
const LEAST_CUDA: &str = "12.8";

/// The driver's library, found to have every function that will be called.
///
/// # Errors
/// [`DeviceError::Missing`]: no driver, one that does not load, or one that is too old.
pub fn usable_driver() -> Result<&'static Opened, DeviceError> {
    let driver = Library::Driver.open().map_err(|error| absent(&error))?;
    match missing_of(driver) {
        missing if !missing.is_empty() => Err(too_old(driver, &missing)),
        _ if !is_of_bindings(driver) => Err(two_drivers(driver)),
        _ => Ok(driver),
    }
}

/// Whether the bindings call the same file. They open `libcuda.so`, where there is one, before
/// `libcuda.so.1`, and the former may be another: a stub for linking, or another release.
fn is_of_bindings(driver: &Opened) -> bool {
    /// A function that every driver has.
    const ANY: &str = "cuInit";
    // SAFETY: loading runs the library's initialisers, as it did when `driver` was opened; both
    // addresses are compared and never used.
    let (theirs, ours) = unsafe {
        if !sys::is_culib_present() {
            return false;
        }
        let theirs = sys::culib().get::<*const ()>(ANY.as_bytes());
        (theirs.ok().map(|symbol| *symbol), driver.function::<*const ()>(ANY))
    };
    ours.is_some() && theirs == ours
}

fn two_drivers(driver: &Opened) -> DeviceError {
    let path = driver.path().display();
    DeviceError::Missing {
        what: format!("the loader finds another libcuda.so than the driver at {path}"),
        hint: elsewhere("take folders with stubs or other drivers out of LD_LIBRARY_PATH, "),
    }
}

fn missing_of(driver: &Opened) -> Vec<&'static str> {
    USED.iter().copied().filter(|name| !driver.has(name)).collect()
}

fn absent(error: &LoadError) -> DeviceError {
    let what = match error {
        LoadError::Missing(_) => format!("no NVIDIA driver on this machine ({error})"),
        LoadError::Unloadable { .. } => format!("the NVIDIA driver is not usable: {error}"),
    };
    DeviceError::Missing { what, hint: elsewhere("") }
}

fn too_old(driver: &Opened, missing: &[&str]) -> DeviceError {
    let supports = version::driver(driver)
        .map_or_else(String::new, |version| format!(": it supports CUDA {version}"));
    DeviceError::Missing {
        what: format!(
            "the NVIDIA driver is too old{supports}, CUDA {LEAST_CUDA} is needed (it lacks {}{})",
            missing.first().copied().unwrap_or_default(),
            if missing.len() > 1 { " and more" } else { "" }
        ),
        hint: elsewhere("install driver 570 or newer, "),
    }
}

/// What to do on a machine whose GPUs are out of reach.
pub fn elsewhere(first: &str) -> String {
    format!(
        "{first}measure the processor with `calibrate --device cpu`, or predict a shipped \
         machine: `predict machines`"
    )
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{Diagnostic as _, ExitStatus};

    use super::*;

    #[test]
    fn names_are_in_order_and_stand_once() {
        assert!(USED.is_sorted() && USED.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn a_machine_without_a_driver_gets_a_sentence_a_hint_and_the_right_end() {
        let error = absent(&LoadError::Missing("libcuda.so.1"));
        assert_eq!(
            error.to_string(),
            "no NVIDIA driver on this machine (libcuda.so.1 was not found)"
        );
        assert!(error.hint().unwrap().starts_with("measure the processor with"));
        assert_eq!(error.exit_status(), ExitStatus::Environment);
    }
}
