//! What operands hold: random elements that can be had again from any place.
//!
//! A block is random from the seed, and an operand is that block again and again. The block has
//! a prime number of elements, so that rows of no usual length repeat with it. It goes to the
//! GPU once; there what is written is doubled until the operand is full, so hundreds of megabytes
//! take as long as writing them.

use std::sync::Arc;

use cudarc::driver::result;
use kernelgauge_data::Failure;

use super::number::Format;
use crate::nvidia::context::Context;
use crate::nvidia::failure::failed;
use crate::nvidia::memory::DeviceBuffer;
use crate::nvidia::stream::Stream;
use crate::random::Random;

/// Elements of a block: a prime.
const BLOCK: u64 = 262_139;

/// The elements of one operand.
#[derive(Debug)]
pub struct Contents {
    format: Format,
    elements: u64,
    block: Vec<u8>,
    values: Vec<f64>,
}

impl Contents {
    /// `elements` elements, random from part `part` of `seed`.
    pub fn new(format: Format, elements: u64, seed: u64, part: u64) -> Self {
        let mut random = Random::stream(seed, part);
        let width = format.bytes();
        let mut block = vec![0; elements.clamp(1, BLOCK) as usize * width];
        block.chunks_exact_mut(width).for_each(|element| format.random(random.bits(), element));
        let values = block.chunks_exact(width).map(|element| format.read(element)).collect();
        Contents { format, elements, block, values }
    }

    /// The element at `start` and every one `step` further on, without an end.
    pub fn line(&self, (start, step): (u64, u64)) -> impl Iterator<Item = f64> {
        let length = self.values.len().max(1);
        let place = |index: u64| (index % length as u64) as usize;
        let (mut at, step) = (place(start), place(step));
        std::iter::from_fn(move || {
            let value = self.values.get(at).copied();
            at += step;
            at -= if at >= length { length } else { 0 };
            value
        })
    }

    /// The operand in the memory of `context`.
    ///
    /// # Errors
    /// When there is no room, or what the driver says.
    pub fn on_gpu(&self, context: &Arc<Context>, stream: &Stream) -> Result<DeviceBuffer, Failure> {
        let bytes = self.elements.saturating_mul(self.format.bytes() as u64).max(1);
        let buffer = DeviceBuffer::new(context, bytes)?;
        let mut written = self.block.len().min(buffer.bytes());
        buffer.write(0, &self.block[..written])?;
        while written < buffer.bytes() {
            let more = written.min(buffer.bytes() - written);
            let (source, target) = (buffer.pointer(), buffer.pointer() + written as u64);
            // SAFETY: both ranges lie within the allocation, which lives until the stream was
            // waited for below, and they do not overlap.
            unsafe { result::memcpy_dtod_async(target, source, more, stream.raw()) }
                .map_err(failed("cuMemcpyDtoDAsync"))?;
            written += more;
        }
        stream.synchronize()?;
        Ok(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_and_parts_differ_and_elements_repeat_with_the_block() {
        let one = Contents::new(Format::Bf16, 3 * BLOCK, 1, 0);
        assert_eq!(one.block.len(), 2 * BLOCK as usize);
        let some = |start, step| one.line((start, step)).take(3).collect::<Vec<f64>>();
        assert_eq!(some(5, 7), some(5 + 2 * BLOCK, 7 + BLOCK));
        assert_eq!(some(5, 7)[1..2], some(12, 1)[..1]);
        let values = |seed, part| {
            let contents = Contents::new(Format::Bf16, 64, seed, part);
            contents.line((0, 1)).take(64).collect::<Vec<f64>>()
        };
        assert_eq!(values(1, 0), values(1, 0));
        assert_ne!(values(1, 0), values(1, 1));
        assert_ne!(values(1, 0), values(2, 0));
    }
}
