//! Devices and contexts: `cuInit`, `cuDevice*`, `cuCtx*`.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::clock::is_capturing;
use crate::fault::{Fault, fault, health};
use crate::{
    DONE, INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, NO_DEVICE, Status, give, memory,
};

/// How many GPUs there are.
pub const COUNT: c_int = 8;
/// Their name; the program takes whatever begins so for synthetic.
const NAME: &[u8] = b"Synthetic GPU\0";

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

fn device_status(device: c_int) -> Status {
    if (0..COUNT).contains(&device) { DONE } else { INVALID_DEVICE }
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: c_uint) -> Status {
    if fault() == Fault::NoDevice { NO_DEVICE } else { DONE }
}

#[unsafe(no_mangle)]
extern "C" fn cuDriverGetVersion(version: Option<&mut c_int>) -> Status {
    give(version, if fault() == Fault::OldDriver { 12_040 } else { 13_000 })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetCount(count: Option<&mut c_int>) -> Status {
    give(count, COUNT)
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGet(device: Option<&mut c_int>, ordinal: c_int) -> Status {
    match device_status(ordinal) {
        DONE => give(device, ordinal),
        status => status,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int) -> Status {
    write_text(NAME, name, length).max(device_status(device))
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetPCIBusId(text: *mut c_char, length: c_int, device: c_int) -> Status {
    let address = format!("00000000:{:02X}:00.0\0", 0x10 + device);
    write_text(address.as_bytes(), text, length).max(device_status(device))
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetUuid_v2(uuid: Option<&mut [u8; 16]>, device: c_int) -> Status {
    let mut bytes = *b"fake-gpu-uuid-00";
    bytes[15] += device as u8;
    give(uuid, bytes).max(device_status(device))
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceTotalMem_v2(bytes: Option<&mut usize>, device: c_int) -> Status {
    give(bytes, memory::total()).max(device_status(device))
}

/// Attributes by their numbers in cuda.h; the figures are those of no real GPU.
#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetAttribute(
    value: Option<&mut c_int>,
    attribute: c_uint,
    device: c_int,
) -> Status {
    let number = match attribute {
        // Clocks in kHz, width of the bus in bits.
        13 => 1_500_000,
        36 => 2_000_000,
        37 => 4096,
        // Multiprocessors, L2, compute capability 9.9.
        16 => 100,
        38 => 8 << 20,
        75 | 76 => 9,
        _ => 0,
    };
    give(value, number).max(device_status(device))
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceCanAccessPeer(can: Option<&mut c_int>, device: c_int, peer: c_int) -> Status {
    give(can, c_int::from(device != peer))
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRetain(context: Option<&mut *mut c_void>, device: c_int) -> Status {
    give(context, (0x1000 + device as usize) as *mut c_void).max(device_status(device))
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> Status {
    device_status(device)
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: *mut c_void) -> Status {
    CURRENT.set(context as usize);
    health()
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxGetCurrent(context: Option<&mut *mut c_void>) -> Status {
    give(context, CURRENT.get() as *mut c_void)
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxEnablePeerAccess(peer: *mut c_void, _flags: c_uint) -> Status {
    if peer.is_null() { INVALID_VALUE } else { health() }
}

/// Whether this thread has a context.
pub fn has_context() -> bool {
    CURRENT.get() != 0
}

/// The context of this thread, 0 for none.
pub fn context() -> usize {
    CURRENT.get()
}

/// What a call that waits for the device, or that every stream waits for, is answered: it needs a
/// context, and the driver refuses it while a stream is captured (CUDA programming guide,
/// "Prohibited and unhandled operations").
pub fn waiting(refusal: Status) -> Status {
    match has_context() {
        false => INVALID_CONTEXT,
        true if is_capturing() => refusal,
        true => DONE,
    }
}

/// Writes text that ends with zero.
pub fn write_text(text: &[u8], place: *mut c_char, length: c_int) -> Status {
    if place.is_null() || usize::try_from(length).unwrap_or(0) < text.len() {
        return INVALID_VALUE;
    }
    // SAFETY: the caller states that so many bytes may be written, and the text is no longer.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), place.cast(), text.len()) };
    DONE
}
