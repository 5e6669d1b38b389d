//! Operands of kernels: random values that the host knows without reading them back.
//!
//! A block of values is drawn from the seed as for the processor and uploaded; the rest of the
//! operand is that block again and again, copied within the GPU. So gigabytes take
//! milliseconds, both kinds of device compute on the same numbers, and value `i` of any operand
//! is known to the reference.

use std::sync::Arc;

use kernelgauge_data::Failure;

use super::context::Context;
use super::element::Element;
use super::memory::DeviceBuffer;
use super::stream::Stream;
use crate::host::compare::Values;
use crate::host::operand::RANDOM_BLOCK;
use crate::host::real::Element as _;
use crate::random::Random;

/// Random values on a GPU.
#[derive(Debug)]
pub struct Operand {
    buffer: DeviceBuffer,
    block: Vec<f32>,
}

impl Operand {
    /// `length` values of `element`, random from a stream of a seed.
    ///
    /// # Errors
    /// When there is no room, or what the driver says.
    pub fn random(
        stream: &Stream,
        element: Element,
        length: u64,
        (seed, part): (u64, u64),
    ) -> Result<Self, Failure> {
        let mut random = Random::stream(seed, part);
        let drawn = RANDOM_BLOCK.min(usize::try_from(length).unwrap_or(usize::MAX));
        let drawn: Vec<f32> = (0..drawn).map(|_| f32::random(&mut random)).collect();
        let bytes = element.write(&drawn);
        let buffer = room(stream.context(), element, length)?;
        if !bytes.is_empty() {
            buffer.write(0, &bytes)?;
            buffer.repeat(bytes.len(), stream)?;
        }
        // What is stored, which is not what was drawn where fewer bits are kept.
        Ok(Operand { buffer, block: element.read(&bytes) })
    }

    /// Where it lies.
    pub fn buffer(&self) -> &DeviceBuffer {
        &self.buffer
    }
}

impl Values for &Operand {
    fn at(&self, index: usize) -> f64 {
        let place = index % self.block.len().max(1);
        self.block.get(place).map_or(f64::NAN, |value| f64::from(*value))
    }
}

/// Room for `length` values of `element`, and for one where there are none.
///
/// # Errors
/// When the GPU has none.
pub fn room(
    context: &Arc<Context>,
    element: Element,
    length: u64,
) -> Result<DeviceBuffer, Failure> {
    DeviceBuffer::new(context, length.max(1).saturating_mul(element.bytes() as u64))
}

/// `values` on a GPU.
///
/// # Errors
/// When there is no room, or what the driver says.
pub fn uploaded<T: bytemuck::NoUninit>(
    context: &Arc<Context>,
    values: &[T],
) -> Result<DeviceBuffer, Failure> {
    let bytes: &[u8] = bytemuck::cast_slice(values);
    let buffer = DeviceBuffer::new(context, bytes.len().max(1) as u64)?;
    if !bytes.is_empty() {
        buffer.write(0, bytes)?;
    }
    Ok(buffer)
}
