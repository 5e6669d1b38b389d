//! Memory on a GPU and page-locked memory on the host, freed when dropped.
//!
//! Reads and writes here are the plain synchronous ones, for operands and comparisons; what is
//! timed is enqueued elsewhere.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::slice;
use std::sync::Arc;

use cudarc::driver::sys::{CUdeviceptr, CUresult};
use cudarc::driver::{DriverError, result};
use kernelgauge_data::{Bytes, Failure};

use super::context::Context;
use super::failure::{failed, words};
use super::stream::Stream;

/// Bytes on a GPU.
#[derive(Debug)]
pub struct DeviceBuffer {
    context: Arc<Context>,
    pointer: CUdeviceptr,
    bytes: usize,
}

impl DeviceBuffer {
    /// `bytes` bytes, whatever they hold.
    ///
    /// # Errors
    /// When the GPU has no room.
    pub fn new(context: &Arc<Context>, bytes: u64) -> Result<Self, Failure> {
        let length = usize::try_from(bytes).map_err(|_| no_room(bytes, "the GPU"))?;
        context.make_current()?;
        // SAFETY: a context is current, and the memory is freed once, in `drop`.
        let pointer = unsafe { result::malloc_sync(length) }
            .map_err(|error| refused(error, bytes, "the GPU", "cuMemAlloc"))?;
        Ok(DeviceBuffer { context: Arc::clone(context), pointer, bytes: length })
    }

    /// The address of its first byte.
    pub fn pointer(&self) -> CUdeviceptr {
        self.pointer
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The context it lies in.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Writes `data` from byte `offset` on, which must fit.
    ///
    /// # Errors
    /// When it does not fit, or what the driver says.
    pub fn write(&self, offset: usize, data: &[u8]) -> Result<(), Failure> {
        let target = self.place(offset, data.len())?;
        // SAFETY: the range lies within the allocation, whose context is current.
        unsafe { result::memcpy_htod_sync(target, data) }.map_err(failed("cuMemcpyHtoD"))
    }

    /// Reads into `data` from byte `offset` on.
    ///
    /// # Errors
    /// When it does not fit, or what the driver says.
    pub fn read(&self, offset: usize, data: &mut [u8]) -> Result<(), Failure> {
        let source = self.place(offset, data.len())?;
        // SAFETY: the range lies within the allocation, whose context is current.
        unsafe { result::memcpy_dtoh_sync(data, source) }.map_err(failed("cuMemcpyDtoH"))
    }

    /// Sets every byte to `value`, and waits for it: the driver only enqueues a fill of its own
    /// accord, and what another GPU writes afterwards would not wait.
    ///
    /// # Errors
    /// What the driver says.
    pub fn clear(&self, value: u8) -> Result<(), Failure> {
        let target = self.place(0, self.bytes)?;
        // SAFETY: the range is the whole allocation, whose context is current.
        unsafe { result::memset_d8_sync(target, value, self.bytes) }
            .map_err(failed("cuMemsetD8"))?;
        // SAFETY: null is the default stream of the current context, which the fill went to.
        unsafe { result::stream::synchronize(null_mut()) }.map_err(failed("cuStreamSynchronize"))
    }

    /// Repeats its first `written` bytes until it is full, by copies within the GPU, each twice
    /// as long as the one before. They are enqueued only.
    ///
    /// # Errors
    /// What the driver says.
    pub fn repeat(&self, written: usize, stream: &Stream) -> Result<(), Failure> {
        self.repeat_within(0, written, self.bytes, stream)
    }

    /// The same of the `bytes` bytes from `start` on.
    ///
    /// # Errors
    /// When they do not fit, or what the driver says.
    pub fn repeat_within(
        &self,
        start: usize,
        written: usize,
        bytes: usize,
        stream: &Stream,
    ) -> Result<(), Failure> {
        let source = self.place(start, bytes)?;
        let mut done = written.min(bytes);
        while done > 0 && done < bytes {
            let part = done.min(bytes - done);
            let target = source + done as u64;
            // SAFETY: both ranges lie within the allocation and do not overlap, and it lives
            // until the stream was waited for.
            unsafe { result::memcpy_dtod_async(target, source, part, stream.raw()) }
                .map_err(failed("cuMemcpyDtoDAsync"))?;
            done += part;
        }
        Ok(())
    }

    /// The address of a range, with the context made current.
    fn place(&self, offset: usize, length: usize) -> Result<CUdeviceptr, Failure> {
        let end = offset.checked_add(length);
        if end.is_none_or(|end| end > self.bytes) {
            return Err(Failure::Device(format!("{length} bytes at {offset} are out of range")));
        }
        self.context.make_current()?;
        Ok(self.pointer + offset as u64)
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        if self.context.make_current().is_ok() {
            // SAFETY: allocated in `new` and freed nowhere else. A GPU that failed says so
            // again, and there is nothing left to free.
            let _ = unsafe { result::free_sync(self.pointer) };
        }
    }
}

/// Bytes on the host, page-locked or not.
#[derive(Debug)]
pub enum HostBuffer {
    /// What any allocation gives.
    Pageable(Vec<u8>),
    /// What the driver gives.
    Pinned(PinnedBuffer),
}

impl HostBuffer {
    /// `bytes` zeros.
    ///
    /// # Errors
    /// When the host has no room.
    pub fn new(context: &Arc<Context>, bytes: u64, pinned: bool) -> Result<Self, Failure> {
        if pinned {
            return Ok(HostBuffer::Pinned(PinnedBuffer::new(context, bytes)?));
        }
        let length = usize::try_from(bytes).map_err(|_| no_room(bytes, "the host"))?;
        let mut data = Vec::new();
        data.try_reserve_exact(length).map_err(|_| no_room(bytes, "the host"))?;
        data.resize(length, 0);
        Ok(HostBuffer::Pageable(data))
    }

    /// Whether it is page-locked.
    pub fn is_pinned(&self) -> bool {
        matches!(self, HostBuffer::Pinned(_))
    }

    /// The bytes.
    pub fn data(&self) -> &[u8] {
        match self {
            HostBuffer::Pageable(data) => data,
            HostBuffer::Pinned(buffer) => buffer.data(),
        }
    }

    /// The bytes, to be changed.
    pub fn data_mut(&mut self) -> &mut [u8] {
        match self {
            HostBuffer::Pageable(data) => data,
            HostBuffer::Pinned(buffer) => buffer.data_mut(),
        }
    }
}

/// Page-locked bytes.
#[derive(Debug)]
pub struct PinnedBuffer {
    context: Arc<Context>,
    pointer: *mut c_void,
    bytes: usize,
}

impl PinnedBuffer {
    fn new(context: &Arc<Context>, bytes: u64) -> Result<Self, Failure> {
        let length = usize::try_from(bytes).map_err(|_| no_room(bytes, "the host"))?;
        context.make_current()?;
        // SAFETY: a context is current, and the memory is freed once, in `drop`.
        let pointer = unsafe { result::malloc_host(length, 0) }
            .map_err(|error| refused(error, bytes, "the host", "cuMemHostAlloc"))?;
        if pointer.is_null() {
            return Err(no_room(bytes, "the host"));
        }
        let mut buffer = PinnedBuffer { context: Arc::clone(context), pointer, bytes: length };
        buffer.data_mut().fill(0);
        Ok(buffer)
    }

    fn data(&self) -> &[u8] {
        // SAFETY: the driver allocated so many bytes, `new` wrote all of them, and copies of
        // the GPU into them have ended whenever a workload lets this be read.
        unsafe { slice::from_raw_parts(self.pointer.cast(), self.bytes) }
    }

    fn data_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `data`, and the borrow is exclusive.
        unsafe { slice::from_raw_parts_mut(self.pointer.cast(), self.bytes) }
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        if self.context.make_current().is_ok() {
            // SAFETY: allocated in `new` and freed nowhere else.
            let _ = unsafe { result::free_host(self.pointer) };
        }
    }
}

fn no_room(bytes: u64, place: &str) -> Failure {
    Failure::Device(format!("out of memory: cannot allocate {} on {place}", Bytes::new(bytes)))
}

fn refused(error: DriverError, bytes: u64, place: &str, call: &str) -> Failure {
    match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => no_room(bytes, place),
        _ => Failure::Device(format!("{call}: {}", words(error))),
    }
}
