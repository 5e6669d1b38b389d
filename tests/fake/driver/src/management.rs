//! The management library: clocks, why they are lowered, power limit, driver version.
//!
//! It is loaded as a file of its own and counts nothing: what it says follows from the fault
//! alone.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};

use crate::device::{COUNT, write_text};
use crate::fault::{Fault, fault};
use crate::{INVALID_VALUE, Status, give};

/// `NVML_ERROR_NOT_FOUND`.
const NOT_FOUND: Status = 6;
/// `NVML_ERROR_GPU_IS_LOST`.
const GPU_IS_LOST: Status = 15;
/// The software's thermal limit (`nvmlClocksEventReasonSwThermalSlowdown`).
const THERMAL: c_ulonglong = 0x20;

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> Status {
    0
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetDriverVersion(text: *mut c_char, length: c_uint) -> Status {
    write_text(b"580.00.00\0", text, c_int::try_from(length).unwrap_or(c_int::MAX))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(
    address: *const c_char,
    handle: Option<&mut *mut c_void>,
) -> Status {
    if address.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: the caller passes text that ends with zero.
    let address = unsafe { CStr::from_ptr(address) }.to_string_lossy();
    let known = |device: &c_int| address == format!("00000000:{:02X}:00.0", 0x10 + device);
    match (0..COUNT).find(known) {
        Some(device) => give(handle, (0x100 + device as usize) as *mut c_void),
        None => NOT_FOUND,
    }
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCurrentClocksEventReasons(
    _device: *mut c_void,
    reasons: Option<&mut c_ulonglong>,
) -> Status {
    match fault() {
        Fault::Throttled => give(reasons, THERMAL),
        Fault::Lost(_) => GPU_IS_LOST,
        _ => give(reasons, 0),
    }
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMaxClockInfo(
    _device: *mut c_void,
    which: c_uint,
    clock: Option<&mut c_uint>,
) -> Status {
    give(clock, if which == 2 { 2_000 } else { 1_500 })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetTemperature(
    _device: *mut c_void,
    _sensor: c_uint,
    degrees: Option<&mut c_uint>,
) -> Status {
    give(degrees, if fault() == Fault::Throttled { 88 } else { 45 })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetEnforcedPowerLimit(
    _device: *mut c_void,
    milliwatts: Option<&mut c_uint>,
) -> Status {
    give(milliwatts, 500_000)
}

/// Links that every GPU has: all of them are active, and lead to a switch or, where
/// `KERNELGAUGE_FAKE_LINKS` says `pcie`, there are none.
///
/// Where it says `islands`, GPUs 0 to 3 and 4 to 7 are linked among themselves, without a switch.
fn unlinked() -> bool {
    links_are("pcie")
}

fn links_are(kind: &str) -> bool {
    std::env::var("KERNELGAUGE_FAKE_LINKS").is_ok_and(|links| links == kind)
}

/// Whether two GPUs have no link: the handle of a GPU is its number and 256.
fn apart(one: *mut c_void, other: *mut c_void) -> bool {
    let island = |gpu: *mut c_void| (gpu as usize).wrapping_sub(0x100) / 4;
    unlinked() || (links_are("islands") && island(one) != island(other))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNvLinkState(
    _device: *mut c_void,
    link: c_uint,
    active: Option<&mut c_uint>,
) -> Status {
    if link > 5 || unlinked() { NOT_FOUND } else { give(active, 1) }
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNvLinkRemoteDeviceType(
    _device: *mut c_void,
    link: c_uint,
    kind: Option<&mut c_uint>,
) -> Status {
    let to = if links_are("islands") { 0 } else { 2 };
    if link > 5 || unlinked() { NOT_FOUND } else { give(kind, to) }
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetP2PStatus(
    device: *mut c_void,
    other: *mut c_void,
    which: c_uint,
    status: Option<&mut c_uint>,
) -> Status {
    // `NVML_P2P_CAPS_INDEX_NVLINK` is 2; `NVML_P2P_STATUS_NOT_SUPPORTED` is 5.
    give(status, if which == 2 && apart(device, other) { 5 } else { 0 })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetTopologyCommonAncestor(
    _device: *mut c_void,
    _other: *mut c_void,
    level: Option<&mut c_uint>,
) -> Status {
    give(level, 50)
}
