//! Turns a device list into a device that can be measured, or into the reason why not.

use std::time::Instant;

use kernelgauge_cuda::host::HostDevice;
use kernelgauge_cuda::nvidia::CudaDevice;
use kernelgauge_cuda::simulated::SimulatedDevice;
use kernelgauge_cuda::{Device, DeviceError};
use kernelgauge_data::Machine;

use crate::clock::Clock;
use crate::device_list::DeviceList;
use crate::plan::Catalogue;

/// Seed of the noise of the simulated device.
const SIMULATED_SEED: u64 = 1;

/// A device, the clock its run is budgeted with, and the catalogue its plan is made from.
pub struct Opened {
    /// The device.
    pub device: Box<dyn Device>,
    /// Time since the command began.
    pub clock: Clock,
    /// What is worth measuring on it.
    pub catalogue: Catalogue,
}

/// Opens what `list` names, with `threads` processor threads and `gemm_tune` algorithms of a
/// matrix product to choose from on GPUs, for a command that began at `began`.
///
/// # Errors
/// What is missing and what to do about it.
pub fn open(
    list: &DeviceList,
    threads: Option<usize>,
    gemm_tune: Option<u32>,
    began: Instant,
) -> Result<Opened, DeviceError> {
    match list {
        DeviceList::Cpu => Ok(Opened {
            device: Box::new(HostDevice::new(threads)?),
            clock: Clock::Wall(began),
            catalogue: Catalogue::Processor,
        }),
        DeviceList::Simulated => {
            let device = SimulatedDevice::new(SIMULATED_SEED);
            let clock = Clock::Virtual(device.clock());
            Ok(Opened { device: Box::new(device), clock, catalogue: Catalogue::Processor })
        }
        DeviceList::AllGpus => gpus(None, gemm_tune, began),
        DeviceList::Gpus(numbers) => gpus(Some(numbers), gemm_tune, began),
    }
}

fn gpus(
    numbers: Option<&[u32]>,
    gemm_tune: Option<u32>,
    began: Instant,
) -> Result<Opened, DeviceError> {
    let mut device = CudaDevice::open(numbers)?;
    device.tune_gemm(gemm_tune);
    let Machine { count, links, .. } = device.machine();
    Ok(Opened {
        device: Box::new(device),
        clock: Clock::Wall(began),
        catalogue: Catalogue::Gpu { count, links },
    })
}
