//! Memory, which is the host's, and what moves bytes in it.
//!
//! A copy whose result is still there moves nothing: a thousand executions of
//! one point take a thousand times its time on the GPUs' clock, and no time on this machine.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_uchar, c_uint, c_ushort, c_void};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::clock::{Route, duration, is_capturing, pass};
use crate::device::waiting;
use crate::fault::{allocation_fails, health};
use crate::{
    CAPTURE_IMPLICIT, CAPTURE_UNSUPPORTED, DONE, INVALID_VALUE, OUT_OF_MEMORY, Status, give,
};

/// Memory of a GPU where `KERNELGAUGE_FAKE_MEMORY` does not state its MiB.
const TOTAL_MIB: usize = 256;
/// Alignment of allocations, as the driver gives it.
const ALIGNMENT: usize = 256;

/// A launch runs so often for what was written: as often as one execution of any op repeats it
/// (a sort has four passes). What is timed after that was verified before.
const MOST_RUNS: u32 = 4;

/// What was written to an address last, and is there still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Written {
    bytes: usize,
    content: Content,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// What is at another address.
    Of(u64),
    /// One value.
    Value(u32),
}

struct Books {
    device: BTreeMap<u64, usize>,
    pinned: BTreeMap<u64, usize>,
    written: BTreeMap<u64, Written>,
    /// Launches whose results are still there, with the allocations they touched.
    launched: BTreeMap<Launched, Vec<(u64, usize)>>,
    /// How often each launch ran since anything but a kernel wrote.
    runs: BTreeMap<Launched, u32>,
}

/// A kernel, its geometry and the bytes of its arguments.
type Launched = (String, [c_uint; 6], Vec<Vec<u8>>);

static BOOKS: Mutex<Books> = Mutex::new(Books {
    device: BTreeMap::new(),
    pinned: BTreeMap::new(),
    written: BTreeMap::new(),
    launched: BTreeMap::new(),
    runs: BTreeMap::new(),
});

/// Memory of a GPU, in bytes.
pub fn total() -> usize {
    static TOTAL: OnceLock<usize> = OnceLock::new();
    *TOTAL.get_or_init(|| {
        let stated = std::env::var("KERNELGAUGE_FAKE_MEMORY").ok();
        stated.and_then(|mib| mib.parse().ok()).unwrap_or(TOTAL_MIB) << 20
    })
}

/// What other libraries that stand in for NVIDIA's ask before they do `microseconds` of work on
/// a GPU: 1 to do it now, 0 where it became part of a graph, and the driver's error code plus
/// 1000 where the GPU is out of order. They find this function through the loader, so that all
/// of them share one clock.
#[unsafe(no_mangle)]
extern "C" fn kernelgauge_fake_work(microseconds: f64) -> u32 {
    match health() {
        DONE if pass(microseconds) => {
            let mut books = books();
            books.written.clear();
            books.launched.clear();
            books.runs.clear();
            1
        }
        DONE => 0,
        status => 1000 + status,
    }
}

fn books() -> MutexGuard<'static, Books> {
    BOOKS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Books {
    fn used(&self) -> usize {
        self.device.values().sum()
    }

    /// Notes what is written to `target`; whether it is there already. What was written to an
    /// overlapping place, or copied from one, is no longer what it was.
    fn already(&mut self, target: u64, written: Written) -> bool {
        if self.written.get(&target) == Some(&written) {
            return true;
        }
        self.forget(target, written.bytes);
        self.launched.clear();
        self.runs.clear();
        self.written.insert(target, written);
        false
    }

    /// What is at `target`, or was copied from there, is no longer what it was.
    fn forget(&mut self, target: u64, bytes: usize) {
        let end = target + bytes as u64;
        let overlaps = |start: u64, bytes: usize| start < end && target < start + bytes as u64;
        self.written.retain(|start, other| {
            let source = match other.content {
                Content::Of(source) => overlaps(source, other.bytes),
                Content::Value(_) => false,
            };
            !source && !overlaps(*start, other.bytes)
        });
    }

    fn is_pinned(&self, address: u64) -> bool {
        let below = self.pinned.range(..=address).next_back();
        below.is_some_and(|(start, bytes)| address < start + *bytes as u64)
    }
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.max(1), ALIGNMENT).ok()
}

fn allocate(bytes: usize) -> Option<u64> {
    // SAFETY: the layout has at least one byte.
    let address = unsafe { alloc_zeroed(layout(bytes)?) };
    (!address.is_null()).then_some(address as u64)
}

fn free(address: u64, bytes: Option<usize>) -> Status {
    let Some(layout) = bytes.and_then(layout) else { return INVALID_VALUE };
    // SAFETY: the books had the address with this size, so it was allocated with this layout.
    unsafe { dealloc(address as *mut u8, layout) };
    DONE
}

#[unsafe(no_mangle)]
extern "C" fn cuMemAlloc_v2(pointer: Option<&mut u64>, bytes: usize) -> Status {
    let status = health().max(waiting(CAPTURE_UNSUPPORTED));
    if status != DONE {
        return status;
    }
    let mut books = books();
    if allocation_fails() || books.used() + bytes > total() {
        return OUT_OF_MEMORY;
    }
    let Some(address) = allocate(bytes) else { return OUT_OF_MEMORY };
    books.device.insert(address, bytes);
    books.written.clear();
    books.launched.clear();
    books.runs.clear();
    give(pointer, address)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(pointer: u64) -> Status {
    let bytes = books().device.remove(&pointer);
    free(pointer, bytes).max(health())
}

#[unsafe(no_mangle)]
extern "C" fn cuMemHostAlloc(
    pointer: Option<&mut *mut c_void>,
    bytes: usize,
    _flags: c_uint,
) -> Status {
    let refused = waiting(CAPTURE_UNSUPPORTED);
    if refused != DONE {
        return refused;
    }
    let Some(address) = allocate(bytes) else { return OUT_OF_MEMORY };
    books().pinned.insert(address, bytes);
    give(pointer, address as *mut c_void).max(health())
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeHost(pointer: *mut c_void) -> Status {
    let address = pointer as u64;
    let bytes = books().pinned.remove(&address);
    free(address, bytes).max(health())
}

#[unsafe(no_mangle)]
extern "C" fn cuMemGetInfo_v2(left: Option<&mut usize>, total: Option<&mut usize>) -> Status {
    give(left, self::total() - books().used()).max(give(total, self::total())).max(health())
}

/// Copies, unless that is part of a graph or has just been done.
fn copy(target: u64, source: u64, bytes: usize, route: Route) -> Status {
    let status = health();
    if status != DONE || !pass(duration(route, bytes)) {
        return status;
    }
    let written = Written { bytes, content: Content::Of(source) };
    if !books().already(target, written) {
        // SAFETY: as for the driver's function that calls this, both ranges are valid and of
        // this length, and they do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(source as *const u8, target as *mut u8, bytes) };
    }
    DONE
}

/// Fills, unless that is part of a graph or has just been done.
fn fill(target: u64, value: u32, width: usize, count: usize) -> Status {
    let (status, bytes) = (health(), width * count);
    if status != DONE || !pass(duration(Route::Write, bytes)) {
        return status;
    }
    let written = Written { bytes, content: Content::Value(value) };
    if !books().already(target, written) {
        // SAFETY: as for the driver's function that calls this, the range is valid.
        let memory = unsafe { std::slice::from_raw_parts_mut(target as *mut u8, bytes) };
        let value = value.to_le_bytes();
        match width {
            1 => memory.fill(value[0]),
            2 => memory.chunks_exact_mut(2).for_each(|part| part.copy_from_slice(&value[..2])),
            _ => memory.chunks_exact_mut(4).for_each(|part| part.copy_from_slice(&value)),
        }
    }
    DONE
}

/// The allocations that any of `words` points into.
pub fn allocations(words: &[u64]) -> Vec<(u64, usize)> {
    let books = books();
    let within = |word: &u64| {
        let (start, bytes) = books.device.range(..=*word).next_back()?;
        (*word < start + *bytes as u64).then_some((*start, *bytes))
    };
    let found: BTreeSet<(u64, usize)> = words.iter().filter_map(within).collect();
    found.into_iter().collect()
}

/// Notes a launch, which may write to whatever its arguments point to; whether it has to run.
pub fn launch(
    name: &str,
    geometry: [c_uint; 6],
    arguments: &[Vec<u8>],
    touched: &[(u64, usize)],
) -> bool {
    let mut books = books();
    let launched = (name.to_owned(), geometry, arguments.to_vec());
    if books.launched.contains_key(&launched) {
        return false;
    }
    let runs = books.runs.entry(launched.clone()).or_default();
    if *runs == MOST_RUNS {
        return false;
    }
    *runs += 1;
    for (start, bytes) in touched {
        books.forget(*start, *bytes);
    }
    books.launched.retain(|_, other| other.iter().all(|place| !touched.contains(place)));
    books.launched.insert(launched, touched.to_vec());
    true
}

/// Writes `bytes` to `target`, where that is device memory.
pub fn write(target: u64, bytes: &[u8]) {
    let Some((start, room)) = allocations(&[target]).first().copied() else { return };
    if target + bytes.len() as u64 > start + room as u64 {
        return;
    }
    books().forget(target, bytes.len());
    // SAFETY: the range lies within an allocation.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target as *mut u8, bytes.len()) };
}

/// A copy between a GPU and the host, one side of which is at `host`; of memory that is not
/// page-locked none is captured.
fn host_copy(target: u64, source: u64, bytes: usize, host: u64) -> Status {
    let route = if books().is_pinned(host) { Route::Link } else { Route::Pageable };
    match route {
        Route::Pageable if is_capturing() => CAPTURE_UNSUPPORTED,
        route => copy(target, source, bytes, route),
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyHtoD_v2(target: u64, source: *const c_void, bytes: usize) -> Status {
    let refused = waiting(CAPTURE_IMPLICIT);
    if refused != DONE {
        return refused;
    }
    copy(target, source as u64, bytes, Route::Pageable)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoH_v2(target: *mut c_void, source: u64, bytes: usize) -> Status {
    let status = health().max(waiting(CAPTURE_IMPLICIT));
    if status != DONE || !pass(duration(Route::Pageable, bytes)) {
        return status;
    }
    // What is read for comparison is always read, and changes nothing that kernels see.
    books().forget(target as u64, bytes);
    // SAFETY: as for the driver's function, both ranges are valid and of this length.
    unsafe { std::ptr::copy_nonoverlapping(source as *const u8, target.cast(), bytes) };
    DONE
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyHtoDAsync_v2(
    target: u64,
    source: *const c_void,
    bytes: usize,
    _stream: *mut c_void,
) -> Status {
    host_copy(target, source as u64, bytes, source as u64)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoHAsync_v2(
    target: *mut c_void,
    source: u64,
    bytes: usize,
    _stream: *mut c_void,
) -> Status {
    host_copy(target as u64, source, bytes, target as u64)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoDAsync_v2(
    target: u64,
    source: u64,
    bytes: usize,
    _stream: *mut c_void,
) -> Status {
    copy(target, source, bytes, Route::Within)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyPeerAsync(
    target: u64,
    _to: *mut c_void,
    source: u64,
    _from: *mut c_void,
    bytes: usize,
    _stream: *mut c_void,
) -> Status {
    copy(target, source, bytes, Route::Peer)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD8_v2(target: u64, value: c_uchar, count: usize) -> Status {
    let refused = waiting(CAPTURE_IMPLICIT);
    if refused != DONE {
        return refused;
    }
    fill(target, u32::from(value), 1, count)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD8Async(
    target: u64,
    value: c_uchar,
    count: usize,
    _stream: *mut c_void,
) -> Status {
    fill(target, u32::from(value), 1, count)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD16Async(
    target: u64,
    value: c_ushort,
    count: usize,
    _stream: *mut c_void,
) -> Status {
    fill(target, u32::from(value), 2, count)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD32Async(
    target: u64,
    value: c_uint,
    count: usize,
    _stream: *mut c_void,
) -> Status {
    fill(target, value, 4, count)
}
