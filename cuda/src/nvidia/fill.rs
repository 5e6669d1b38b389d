//! Writing one value everywhere: the memory-bound op without operands, and the flush of caches.

use std::sync::Arc;

use cudarc::driver::result;
use cudarc::driver::sys;
use kernelgauge_data::Failure;

use super::context::Context;
use super::element::Element;
use super::failure::failed;
use super::memory::DeviceBuffer;
use super::operation::Operation;
use super::stream::Stream;
use crate::random::Random;

/// What the target holds before the fill that is compared.
const SPOILED: u8 = 0xa5;
/// Bytes compared at once.
const COMPARED: usize = 1 << 20;

/// Fills with one value of 2 or 4 bytes: the driver's own fill, which is what clearing a tensor
/// is, and which needs no kernel of ours.
#[derive(Debug)]
pub struct Fill {
    target: DeviceBuffer,
    element: Element,
    bits: u32,
}

impl Fill {
    /// `elements` values of `element`, all the same and random from `seed`.
    ///
    /// # Errors
    /// When there is no room.
    pub fn new(
        context: &Arc<Context>,
        element: Element,
        elements: u64,
        seed: u64,
    ) -> Result<Self, Failure> {
        let bytes = elements.saturating_mul(element.bytes() as u64);
        let bits = element.narrow(Random::new(seed).unit() as f32);
        Ok(Fill { target: DeviceBuffer::new(context, bytes)?, element, bits })
    }

    fn is_wide(&self) -> bool {
        self.element.bytes() == 4
    }
}

impl Operation for Fill {
    fn name(&self) -> &str {
        if self.is_wide() { "cuMemsetD32Async" } else { "cuMemsetD16Async" }
    }

    fn enqueue(&mut self, stream: &Stream) -> Result<(), Failure> {
        let (target, bits) = (self.target.pointer(), self.bits);
        let count = self.target.bytes() / self.element.bytes();
        if self.is_wide() {
            // SAFETY: the allocation holds so many values and lives until the stream was waited
            // for.
            return unsafe { sys::cuMemsetD32Async(target, bits, count, stream.raw()) }
                .result()
                .map_err(failed("cuMemsetD32Async"));
        }
        // SAFETY: as above.
        unsafe { sys::cuMemsetD16Async(target, bits as u16, count, stream.raw()) }
            .result()
            .map_err(failed("cuMemsetD16Async"))
    }

    fn spoil(&mut self) -> Result<(), Failure> {
        self.target.clear(SPOILED)
    }

    fn compare(&mut self) -> Result<(), Failure> {
        let (bytes, width) = (self.bits.to_le_bytes(), self.element.bytes());
        let expected = &bytes[..width];
        let mut part = vec![0; self.target.bytes().min(COMPARED)];
        // The first and the last: what lies between is written by the same code.
        for start in [0, self.target.bytes() - part.len()] {
            self.target.read(start, &mut part)?;
            if let Some(at) = part.chunks_exact(width).position(|value| value != expected) {
                let element = start / width + at;
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
