//! Turns a device list into a device that can be measured, or into the reason why not.

use std::time::Instant;

use kernelgauge_cuda::host::HostDevice;
use kernelgauge_cuda::simulated::SimulatedDevice;
use kernelgauge_cuda::{Device, DeviceError};

use crate::clock::Clock;
use crate::device_list::DeviceList;
use crate::plan::Catalogue;
use crate::remote::{Deadlines, ProcessStarter, RemoteDevice};

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

/// What a device is opened for.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// Processor threads, where they were stated.
    pub threads: Option<usize>,
    /// How long a process that has GPUs may take to answer.
    pub deadlines: Deadlines,
    /// Version of this program, git revision included.
    pub tool: &'a str,
    /// When the command began.
    pub began: Instant,
}

/// Opens what `list` names. GPUs are opened in a process of their own.
///
/// # Errors
/// What is missing and what to do about it.
pub fn open(list: &DeviceList, opening: &Opening<'_>) -> Result<Opened, DeviceError> {
    let clock = Clock::Wall(opening.began);
    match list {
        DeviceList::Cpu => Ok(Opened {
            device: Box::new(HostDevice::new(opening.threads)?),
            clock,
            catalogue: Catalogue::Processor,
        }),
        DeviceList::Simulated => {
            let device = SimulatedDevice::new(SIMULATED_SEED);
            let clock = Clock::Virtual(device.clock());
            Ok(Opened { device: Box::new(device), clock, catalogue: Catalogue::Processor })
        }
        DeviceList::AllGpus => gpus(None, opening, clock),
        DeviceList::Gpus(numbers) => gpus(Some(numbers.clone()), opening, clock),
    }
}

fn gpus(
    numbers: Option<Vec<u32>>,
    opening: &Opening<'_>,
    clock: Clock,
) -> Result<Opened, DeviceError> {
    let starter = Box::new(ProcessStarter);
    let tool = opening.tool.to_owned();
    let device = RemoteDevice::open(starter, numbers, tool, opening.deadlines)?;
    Ok(Opened { device: Box::new(device), clock, catalogue: Catalogue::Gpu })
}
