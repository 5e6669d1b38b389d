//! Writing one value everywhere: the memory-bound op without operands, and the flush of caches.

use std::sync::Arc;

use cudarc::driver::result;
use cudarc::driver::sys;
use kernelgauge_data::Failure;

use super::context::Context;
use super::failure::failed;
use super::memory::DeviceBuffer;
use super::operation::Operation;
use super::stream::Stream;
use crate::random::Random;

/// Bytes of a value.
const WIDTH: usize = 4;
/// What the target holds before the fill that is compared.
const SPOILED: u8 = 0xa5;
/// Values compared at once.
const COMPARED: usize = 1 << 18;

/// Fills with one `f32`.
#[derive(Debug)]
pub struct Fill {
    target: DeviceBuffer,
    value: f32,
}

impl Fill {
    /// `elements` values, all the same and random from `seed`.
    ///
    /// # Errors
    /// When there is no room.
    pub fn new(context: &Arc<Context>, elements: u64, seed: u64) -> Result<Self, Failure> {
        let bytes = elements.saturating_mul(WIDTH as u64);
        let value = Random::new(seed).unit() as f32;
        Ok(Fill { target: DeviceBuffer::new(context, bytes)?, value })
    }
}

impl Operation for Fill {
    fn name(&self) -> &str {
        "cuMemsetD32Async"
    }

    fn enqueue(&mut self, stream: &Stream) -> Result<(), Failure> {
        let (target, count) = (self.target.pointer(), self.target.bytes() / WIDTH);
        // SAFETY: the allocation holds so many values and lives until the stream was waited for.
        unsafe { sys::cuMemsetD32Async(target, self.value.to_bits(), count, stream.raw()) }
            .result()
            .map_err(failed("cuMemsetD32Async"))
    }

    fn spoil(&mut self) -> Result<(), Failure> {
        self.target.clear(SPOILED)
    }

    fn compare(&mut self) -> Result<(), Failure> {
        let expected = self.value.to_ne_bytes();
        let mut part = vec![0; self.target.bytes().min(COMPARED * WIDTH)];
        // The first and the last: what lies between is written by the same code.
        for start in [0, self.target.bytes() - part.len()] {
            self.target.read(start, &mut part)?;
            if let Some(at) = part.chunks_exact(WIDTH).position(|value| value != expected) {
                let element = start / WIDTH + at;
                return Err(Failure::WrongResult(format!("element {element} was not filled")));
            }
        }
        Ok(())
    }
}

/// Enqueues writing `value` to every byte of `target`.
///
/// # Errors
/// What the driver says.
pub fn enqueue_bytes(target: &DeviceBuffer, value: u8, stream: &Stream) -> Result<(), Failure> {
    // SAFETY: the range is the whole allocation, which lives until the stream was waited for.
    unsafe { result::memset_d8_async(target.pointer(), value, target.bytes(), stream.raw()) }
        .map_err(failed("cuMemsetD8Async"))
}
