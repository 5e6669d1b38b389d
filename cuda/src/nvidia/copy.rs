//! Copies: between host and device, within a device, between two devices.

use std::sync::Arc;

use cudarc::driver::result;
use kernelgauge_data::{CopyDirection, CopyPoint, Failure};

use super::context::Context;
use super::failure::failed;
use super::memory::{DeviceBuffer, HostBuffer};
use super::operation::Operation;
use super::pattern::Pattern;
use super::stream::Stream;

/// What a target holds before the copy that is compared.
const SPOILED: u8 = 0xa5;

/// Between host memory and a device.
#[derive(Debug)]
pub struct HostCopy {
    to_device: bool,
    host: HostBuffer,
    device: DeviceBuffer,
    pattern: Pattern,
}

impl HostCopy {
    /// The copy that `point` describes, its source random from `seed`.
    ///
    /// # Errors
    /// When either side has no room, or what the driver says.
    pub fn new(context: &Arc<Context>, point: &CopyPoint, seed: u64) -> Result<Self, Failure> {
        let device = DeviceBuffer::new(context, point.bytes)?;
        let mut host = HostBuffer::new(context, point.bytes, point.pinned)?;
        let pattern = Pattern::new(seed);
        pattern.fill(host.data_mut());
        let to_device = point.direction == CopyDirection::HostToDevice;
        if !to_device {
            device.write(0, host.data())?;
        }
        Ok(HostCopy { to_device, host, device, pattern })
    }
}

impl Operation for HostCopy {
    fn name(&self) -> &str {
        if self.to_device { "cuMemcpyHtoDAsync" } else { "cuMemcpyDtoHAsync" }
    }

    fn graphable(&self) -> bool {
        self.host.is_pinned()
    }

    fn enqueue(&mut self, stream: &Stream) -> Result<(), Failure> {
        let device = self.device.pointer();
        if self.to_device {
            // SAFETY: both sides are of this length and live until the stream was waited for.
            return unsafe { result::memcpy_htod_async(device, self.host.data(), stream.raw()) }
                .map_err(failed("cuMemcpyHtoDAsync"));
        }
        // SAFETY: as above, and nothing on the host reads or writes the target before that.
        unsafe { result::memcpy_dtoh_async(self.host.data_mut(), device, stream.raw()) }
            .map_err(failed("cuMemcpyDtoHAsync"))
    }

    fn spoil(&mut self) -> Result<(), Failure> {
        if self.to_device {
            return self.device.clear(SPOILED);
        }
        self.host.data_mut().fill(SPOILED);
        Ok(())
    }

    fn compare(&mut self) -> Result<(), Failure> {
        let HostCopy { host, device, pattern, .. } = self;
        if self.to_device {
            return pattern.compare(device.bytes(), |start, part| device.read(start, part));
        }
        let data = host.data();
        pattern.compare(data.len(), |start, part| {
            part.copy_from_slice(&data[start..][..part.len()]);
            Ok(())
        })
    }
}

/// From device memory to device memory, of the same GPU or of another.
#[derive(Debug)]
pub struct DeviceCopy {
    name: &'static str,
    source: DeviceBuffer,
    target: DeviceBuffer,
    between_gpus: bool,
    /// Whether no host memory lies between.
    direct: bool,
    pattern: Pattern,
}

impl DeviceCopy {
    /// A copy of `bytes` bytes within the memory of `context`.
    ///
    /// # Errors
    /// When there is no room, or what the driver says.
    pub fn within(context: &Arc<Context>, bytes: u64, seed: u64) -> Result<Self, Failure> {
        Self::new(("cuMemcpyDtoDAsync", true), (context, context), bytes, seed)
    }

    /// A copy of `bytes` bytes from the memory of one GPU to that of another: directly where
    /// the GPUs reach each other, else through the host, which the name tells.
    ///
    /// # Errors
    /// When there is no room, or what the driver says.
    pub fn between(
        from: &Arc<Context>,
        to: &Arc<Context>,
        bytes: u64,
        seed: u64,
    ) -> Result<Self, Failure> {
        let direct = from.reach(to)?;
        let name = if direct { "cuMemcpyPeerAsync" } else { "cuMemcpyPeerAsync through the host" };
        Self::new((name, direct), (from, to), bytes, seed)
    }

    fn new(
        (name, direct): (&'static str, bool),
        (from, to): (&Arc<Context>, &Arc<Context>),
        bytes: u64,
        seed: u64,
    ) -> Result<Self, Failure> {
        let target = DeviceBuffer::new(to, bytes)?;
        let source = DeviceBuffer::new(from, bytes)?;
        let pattern = Pattern::new(seed);
        let mut data = HostBuffer::new(from, bytes, false)?;
        pattern.fill(data.data_mut());
        source.write(0, data.data())?;
        let between_gpus = !Arc::ptr_eq(from, to);
        Ok(DeviceCopy { name, source, target, between_gpus, direct, pattern })
    }
}

impl Operation for DeviceCopy {
    fn name(&self) -> &str {
        self.name
    }

    /// What passes through the host's memory is several copies, which no graph is promised to
    /// hold.
    fn graphable(&self) -> bool {
        self.direct
    }

    fn enqueue(&mut self, stream: &Stream) -> Result<(), Failure> {
        let (source, target) = (&self.source, &self.target);
        let bytes = source.bytes();
        if self.between_gpus {
            // SAFETY: both allocations are of this size, lie in these contexts, and live until
            // the stream was waited for.
            return unsafe {
                result::memcpy_peer_async(
                    target.context().raw(),
                    target.pointer(),
                    source.context().raw(),
                    source.pointer(),
                    bytes,
                    stream.raw(),
                )
            }
            .map_err(failed("cuMemcpyPeerAsync"));
        }
        // SAFETY: both allocations are of this size and live until the stream was waited for.
        unsafe {
            result::memcpy_dtod_async(target.pointer(), source.pointer(), bytes, stream.raw())
        }
        .map_err(failed("cuMemcpyDtoDAsync"))
    }

    fn spoil(&mut self) -> Result<(), Failure> {
        self.target.clear(SPOILED)
    }

    fn compare(&mut self) -> Result<(), Failure> {
        let DeviceCopy { target, pattern, .. } = self;
        pattern.compare(target.bytes(), |start, part| target.read(start, part))
    }
}
