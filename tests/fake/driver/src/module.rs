//! Modules, kernels and launches, which run on the processor.
//!
//! Machine code is a name that the stand-in for the compiler left; the library of that source,
//! compiled for the processor, is in the folder that `KERNELGAUGE_FAKE_KERNELS` names. A launch
//! takes a time that follows from the memory its arguments point to, and runs unless it is part
//! of a graph, or its result is still there.

use std::collections::BTreeMap;
use std::ffi::{CStr, OsString, c_char, c_uint, c_void};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use libloading::Library;

use crate::clock::{kernel, pass};
use crate::device::{context, waiting};
use crate::fault::{Fault, fault, health, launch_fails, sm_clock_mhz};
use crate::stream::is_of;
use crate::{
    CAPTURE_UNSUPPORTED, DONE, INVALID_HANDLE, INVALID_VALUE, LAUNCH_OUT_OF_RESOURCES, NOT_FOUND,
    Status, give, memory,
};

/// What the stand-in for the compiler leaves before the name of a source.
const MAGIC: &str = "\x7fELF kernelgauge stand-in\n";
/// Most parameters of a kernel.
const MOST: usize = 64;

type Launcher = unsafe extern "C" fn(*const c_uint, *const *const c_void) -> *const c_char;
type Sizes = unsafe extern "C" fn(*mut c_uint) -> c_uint;

/// A kernel of a library.
#[derive(Clone)]
struct Kernel {
    name: String,
    launcher: Launcher,
    sizes: Vec<usize>,
    /// That of its module.
    context: usize,
}

/// Libraries by source, and kernels by their handle, counted from one.
struct Loaded {
    libraries: BTreeMap<String, Library>,
    modules: Vec<(String, usize)>,
    kernels: Vec<Kernel>,
}

static LOADED: Mutex<Loaded> =
    Mutex::new(Loaded { libraries: BTreeMap::new(), modules: Vec::new(), kernels: Vec::new() });

fn loaded() -> MutexGuard<'static, Loaded> {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The library of `source`; none where the folder has none.
fn open(source: &str) -> Option<Library> {
    let folder: OsString = std::env::var_os("KERNELGAUGE_FAKE_KERNELS")?;
    let path = Path::new(&folder).join(format!("{source}.so"));
    // SAFETY: the test compiled it from the kernels; it has no initialisers of note.
    unsafe { Library::new(path) }.ok()
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleLoadData(module: Option<&mut *mut c_void>, image: *const c_char) -> Status {
    if image.is_null() {
        return INVALID_VALUE;
    }
    let refused = waiting(CAPTURE_UNSUPPORTED);
    if refused != DONE {
        return refused;
    }
    // SAFETY: what the stand-in for the compiler wrote ends with a zero.
    let image = unsafe { CStr::from_ptr(image) }.to_string_lossy();
    let Some(source) = image.strip_prefix(MAGIC) else { return INVALID_VALUE };
    let mut loaded = loaded();
    if !loaded.libraries.contains_key(source) {
        let Some(library) = open(source) else { return NOT_FOUND };
        loaded.libraries.insert(source.to_owned(), library);
    }
    loaded.modules.push((source.to_owned(), context()));
    give(module, loaded.modules.len() as *mut c_void).max(health())
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(_module: *mut c_void) -> Status {
    health()
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleGetFunction(
    function: Option<&mut *mut c_void>,
    module: *mut c_void,
    name: *const c_char,
) -> Status {
    if name.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: the caller passes text that ends with zero.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    let mut loaded = loaded();
    let module = loaded.modules.get((module as usize).wrapping_sub(1)).cloned();
    let Some((source, context)) = module else { return INVALID_HANDLE };
    let library = loaded.libraries.get(&source);
    let kernel = library.and_then(|library| found(library, name, context));
    let Some(kernel) = kernel else { return NOT_FOUND };
    loaded.kernels.push(kernel);
    give(function, loaded.kernels.len() as *mut c_void).max(health())
}

fn found(library: &Library, name: String, context: usize) -> Option<Kernel> {
    // SAFETY: `host.h` defines both functions with these signatures, and libraries stay open.
    let (launcher, sizes) = unsafe {
        let launcher = library.get::<Launcher>(format!("launch_{name}")).ok()?;
        (*launcher, *library.get::<Sizes>(format!("sizes_{name}")).ok()?)
    };
    let mut bytes = [0; MOST];
    // SAFETY: no kernel has so many parameters.
    let count = unsafe { sizes(bytes.as_mut_ptr()) } as usize;
    let sizes = bytes.iter().take(count).map(|size| *size as usize).collect();
    Some(Kernel { name, launcher, sizes, context })
}

#[unsafe(no_mangle)]
extern "C" fn cuLaunchKernel(
    function: *mut c_void,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    _shared: c_uint,
    stream: *mut c_void,
    parameters: *const *const c_void,
    _extra: *const *const c_void,
) -> Status {
    let status = health();
    if status != DONE {
        return status;
    }
    let kernels = loaded();
    let Some(kernel) = kernels.kernels.get((function as usize).wrapping_sub(1)) else {
        return INVALID_VALUE;
    };
    if !is_of(stream, kernel.context) {
        return INVALID_HANDLE;
    }
    let geometry = [grid_x, grid_y, grid_z, block_x, block_y, block_z];
    let threads = block_x.saturating_mul(block_y).saturating_mul(block_z);
    if geometry.contains(&0) || threads > 1024 || grid_y > 65_535 {
        return INVALID_VALUE;
    }
    if launch_fails() {
        return LAUNCH_OUT_OF_RESOURCES;
    }
    // SAFETY: the caller passes one pointer for each parameter, to as many bytes as it has.
    let arguments = unsafe { bytes_of(&kernel.sizes, parameters) };
    run(kernel, geometry, parameters, &arguments)
}

/// The bytes of every argument.
///
/// # Safety
/// There is a pointer for each size, to so many bytes.
unsafe fn bytes_of(sizes: &[usize], parameters: *const *const c_void) -> Vec<Vec<u8>> {
    let of = |(at, size): (usize, &usize)| {
        // SAFETY: the caller vouches for it.
        unsafe { std::slice::from_raw_parts((*parameters.add(at)).cast::<u8>(), *size).to_vec() }
    };
    sizes.iter().enumerate().map(of).collect()
}

fn run(
    kernel: &Kernel,
    geometry: [c_uint; 6],
    parameters: *const *const c_void,
    arguments: &[Vec<u8>],
) -> Status {
    let words: Vec<u64> = arguments
        .iter()
        .filter_map(|bytes| Some(u64::from_le_bytes(bytes.as_slice().try_into().ok()?)))
        .collect();
    if kernel.name == "sample_clock" {
        return sample_clock(&words);
    }
    let touched = memory::allocations(&words);
    if !pass(self::kernel(touched.iter().map(|(_, bytes)| bytes).sum())) {
        return DONE;
    }
    if fault() == Fault::WrongKernel || !memory::launch(&kernel.name, geometry, arguments, &touched)
    {
        return DONE;
    }
    // SAFETY: `host.h` takes a geometry of six numbers and what the driver takes.
    let failed = unsafe { (kernel.launcher)(geometry.as_ptr(), parameters) };
    if failed.is_null() { DONE } else { crate::ILLEGAL_ADDRESS }
}

/// The clock of the stand-in passes time at one rate: cycles and nanoseconds between two looks.
fn sample_clock(words: &[u64]) -> Status {
    let [out, least] = words else { return INVALID_VALUE };
    if !pass(*least as f64 / 1e3) {
        return DONE;
    }
    let cycles = (*least as f64 * sm_clock_mhz() / 1e3) as u64;
    memory::write(*out, &[cycles.to_le_bytes(), least.to_le_bytes()].concat());
    DONE
}
