//! A stand-in for libnvrtc: what it compiles is a name, under which the driver that stands in
//! for NVIDIA's finds the same source compiled for the processor.
//!
//! A test copies the built library into a folder as `libnvrtc.so.13`. Headers and options are
//! looked at as far as that a program without `device.h`, or without an architecture, does not
//! compile. `KERNELGAUGE_FAKE_COMPILER=old` makes it know no architecture.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::slice;

/// Codes of `nvrtcResult` (nvrtc.h).
const DONE: c_int = 0;
const INVALID_INPUT: c_int = 3;
const INVALID_OPTION: c_int = 5;
const COMPILATION: c_int = 6;

/// What the machine code begins with, behind the four bytes of an ELF file. The driver that
/// stands in for NVIDIA's looks for it.
const MAGIC: &str = "\x7fELF kernelgauge stand-in\n";

/// A program.
struct Program {
    name: String,
    has_headers: bool,
    code: Vec<u8>,
    log: Vec<u8>,
}

/// The text at `text`.
///
/// # Safety
/// It is null or ends with a zero.
unsafe fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller vouches for it.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The texts of an array.
///
/// # Safety
/// It is null or holds `count` texts that end with a zero.
unsafe fn texts_of(texts: *const *const c_char, count: c_int) -> Vec<String> {
    let count = usize::try_from(count).unwrap_or(0);
    if texts.is_null() || count == 0 {
        return Vec::new();
    }
    // SAFETY: the caller vouches for the array and for each text.
    unsafe { slice::from_raw_parts(texts, count).iter().map(|text| text_of(*text)).collect() }
}

#[unsafe(no_mangle)]
extern "C" fn nvrtcVersion(major: Option<&mut c_int>, minor: Option<&mut c_int>) -> c_int {
    let (Some(major), Some(minor)) = (major, minor) else { return INVALID_INPUT };
    // No NVRTC has this number: nothing that is kept under it can be taken for real code.
    (*major, *minor) = (13, 999);
    DONE
}

#[unsafe(no_mangle)]
extern "C" fn nvrtcCreateProgram(
    program: Option<&mut *mut Program>,
    source: *const c_char,
    name: *const c_char,
    headers: c_int,
    _texts: *const *const c_char,
    names: *const *const c_char,
) -> c_int {
    let Some(program) = program else { return INVALID_INPUT };
    // SAFETY: the caller passes texts that end with a zero, and as many names as it states.
    let (source, name, names) =
        unsafe { (text_of(source), text_of(name), texts_of(names, headers)) };
    let has_headers = names.iter().any(|name| name == "device.h") && source.contains("#include");
    let made = Program { name, has_headers, code: Vec::new(), log: Vec::new() };
    *program = Box::into_raw(Box::new(made));
    DONE
}

#[unsafe(no_mangle)]
extern "C" fn nvrtcCompileProgram(
    program: Option<&mut Program>,
    count: c_int,
    options: *const *const c_char,
) -> c_int {
    let Some(program) = program else { return INVALID_INPUT };
    // SAFETY: the caller passes so many texts.
    let options = unsafe { texts_of(options, count) };
    let architecture =
        options.iter().find_map(|option| option.strip_prefix("--gpu-architecture=sm_"));
    let old = std::env::var("KERNELGAUGE_FAKE_COMPILER").is_ok_and(|fault| fault == "old");
    if architecture.is_none() || old {
        return INVALID_OPTION;
    }
    if !program.has_headers {
        program.log = b"device.h is missing\0".to_vec();
        return COMPILATION;
    }
    program.code = format!("{MAGIC}{}\0", program.name).into_bytes();
    program.log = b"\0".to_vec();
    DONE
}

fn size_of_bytes(size: Option<&mut usize>, bytes: &[u8]) -> c_int {
    let Some(size) = size else { return INVALID_INPUT };
    *size = bytes.len();
    DONE
}

/// Copies `bytes` to `place`.
fn copy(place: *mut c_char, bytes: &[u8]) -> c_int {
    if place.is_null() {
        return INVALID_INPUT;
    }
    // SAFETY: the caller has room for as many bytes as it was told.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), place.cast(), bytes.len()) };
    DONE
}

#[unsafe(no_mangle)]
extern "C" fn nvrtcGetProgramLogSize(program: Option<&Program>, size: Option<&mut usize>) -> c_int {
    program.map_or(INVALID_INPUT, |program| size_of_bytes(size, &program.log))
}

#[unsafe(no_mangle)]
extern "C" fn nvrtcGetProgramLog(program: Option<&Program>, place: *mut c_char) -> c_int {
    program.map_or(INVALID_INPUT, |program| copy(place, &program.log))
}

#[unsafe(no_mangle)]
extern "C" fn nvrtcGetCUBINSize(program: Option<&Program>, size: Option<&mut usize>) -> c_int {
    program.map_or(INVALID_INPUT, |program| size_of_bytes(size, &program.code))
}

#[unsafe(no_mangle)]
extern "C" fn nvrtcGetCUBIN(program: Option<&Program>, place: *mut c_char) -> c_int {
    program.map_or(INVALID_INPUT, |program| copy(place, &program.code))
}

#[unsafe(no_mangle)]
extern "C" fn nvrtcDestroyProgram(program: Option<&mut *mut Program>) -> c_int {
    let Some(program) = program.filter(|program| !program.is_null()) else { return INVALID_INPUT };
    // SAFETY: made by `nvrtcCreateProgram`, and null from now on.
    drop(unsafe { Box::from_raw(*program) });
    *program = ptr::null_mut();
    DONE
}
