//! The clock of the multiprocessors, counted on the GPU: cycles against its own nanoseconds.
//!
//! NVML answers with what it read some milliseconds ago; this is the clock of the moment. One
//! thread spins for [`LEAST`] (`cuda/kernels/timing.cu`) behind each sample, outside its events.

use std::sync::Arc;

use kernelgauge_data::Failure;

use super::context::Context;
use super::loaded::LoadedKernels;
use super::memory::DeviceBuffer;
use super::module::Launch;
use super::stream::Stream;

/// Nanoseconds to count for. The timer of a GPU moves in steps of up to a microsecond, whose
/// edges the kernel waits for; what is left of an error is the way round its loop, tens of
/// cycles in 30 thousand.
const LEAST: u64 = 20_000;
/// Clocks outside these, in MHz, are no reading: no GPU has ever run at them.
const POSSIBLE: [f64; 2] = [50.0, 10_000.0];

/// Reads the clock.
#[derive(Debug)]
pub struct SmClock {
    launch: Launch,
    out: DeviceBuffer,
}

impl SmClock {
    /// Ready to read, where there are kernels of our own.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(
        context: &Arc<Context>,
        kernels: &mut LoadedKernels,
    ) -> Result<Option<Self>, Failure> {
        if kernels.missing().is_some() {
            return Ok(None);
        }
        let out = DeviceBuffer::new(context, 16)?;
        let launch = kernels.launch("sample_clock", &[], &[(&out).into(), LEAST.into()])?;
        Ok(Some(SmClock { launch, out }))
    }

    /// The clock now, in MHz; none where the reading cannot be one.
    ///
    /// # Errors
    /// What the driver says.
    pub fn read(&self, stream: &Stream) -> Result<Option<u32>, Failure> {
        self.launch.enqueue(stream)?;
        stream.synchronize()?;
        let mut counts = [0; 16];
        self.out.read(0, &mut counts)?;
        let (cycles, nanoseconds) = counts.split_at(8);
        Ok(megahertz(of_bytes(cycles), of_bytes(nanoseconds)))
    }
}

fn of_bytes(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))
}

fn megahertz(cycles: u64, nanoseconds: u64) -> Option<u32> {
    let clock = 1e3 * cycles as f64 / nanoseconds as f64;
    let [least, most] = POSSIBLE;
    (clock >= least && clock <= most).then(|| clock.round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_a_clock_or_nothing() {
        assert_eq!(megahertz(39_600, 20_000), Some(1_980));
        assert_eq!(megahertz(0, 20_000), None);
        assert_eq!(megahertz(1, 0), None);
        assert_eq!(megahertz(0, 0), None);
        assert_eq!(of_bytes(&300_u64.to_le_bytes()), 300);
    }
}
