//! Turns a device list into a device that can be measured, or into the reason why not.

use std::time::Instant;

use kernelgauge_cuda::host::HostDevice;
use kernelgauge_cuda::nvidia::symbols;
use kernelgauge_cuda::simulated::SimulatedDevice;
use kernelgauge_cuda::{Device, DeviceError};

use crate::clock::Clock;
use crate::device_list::DeviceList;

/// Seed of the noise of the simulated device.
const SIMULATED_SEED: u64 = 1;

/// A device and the clock its run is budgeted with.
pub struct Opened {
    /// The device.
    pub device: Box<dyn Device>,
    /// Time since the command began.
    pub clock: Clock,
}

/// Opens what `list` names, with `threads` processor threads, for a command that began at
/// `began`.
///
/// # Errors
/// What is missing and what to do about it.
pub fn open(
    list: &DeviceList,
    threads: Option<usize>,
    began: Instant,
) -> Result<Opened, DeviceError> {
    match list {
        DeviceList::Cpu => {
            Ok(Opened { device: Box::new(HostDevice::new(threads)?), clock: Clock::Wall(began) })
        }
        DeviceList::Simulated => {
            let device = SimulatedDevice::new(SIMULATED_SEED);
            let clock = Clock::Virtual(device.clock());
            Ok(Opened { device: Box::new(device), clock })
        }
        DeviceList::AllGpus | DeviceList::Gpus(_) => Err(no_gpu()),
    }
}

/// GPUs are out of reach: there is no driver, or this version does not use it.
fn no_gpu() -> DeviceError {
    match symbols::usable_driver() {
        Err(error) => error,
        Ok(driver) => DeviceError::Missing {
            what: format!(
                "this version measures only the processor; the NVIDIA driver at {} is not used",
                driver.path().display()
            ),
            hint: symbols::elsewhere(""),
        },
    }
}
