//! Turns a device list into a device that can be measured, or into the reason why not.

use std::time::{Duration, Instant};

use kernelgauge_cuda::host::HostDevice;
use kernelgauge_cuda::nvidia::first_pairs;
use kernelgauge_cuda::simulated::SimulatedDevice;
use kernelgauge_cuda::{Device, DeviceError};
use kernelgauge_data::Machine;

use crate::clock::Clock;
use crate::device_list::DeviceList;
use crate::error::CommandError;
use crate::interrupt::Interrupt;
use crate::plan::{Catalogue, Routes};
use crate::ranks::{self, Meeting, Place, SpreadDevice};
use crate::remote::wire::{Facts, Gpus, Wanted};
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
    /// Algorithms of a matrix product to choose from, where that was stated.
    pub gemm_tune: Option<u32>,
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
        DeviceList::AllGpus => gpus(Gpus::All, opening, clock),
        DeviceList::Gpus(numbers) => gpus(Gpus::These(numbers.clone()), opening, clock),
    }
}

/// Opens what `list` names for a run of several processes. Rank 0 has the GPUs of all; any other
/// serves its own until the run is over, and then has none.
///
/// # Errors
/// What is missing, why the ranks do not come together, or that rank 0 has ended.
pub fn open_ranks(
    list: &DeviceList,
    opening: &Opening<'_>,
    place: &Place,
    within: Duration,
) -> Result<Option<Opened>, CommandError> {
    let interrupt = if place.rank > 0 { Interrupt::listen().ok() } else { None };
    let numbers = match list {
        DeviceList::Gpus(numbers) => Some(numbers.clone()),
        _ => None,
    };
    let gpus = match (place.local, numbers) {
        // Several processes on this node: one GPU each.
        (Some((rank, ranks)), numbers) if ranks > 1 => Gpus::Nth(rank as usize, numbers),
        (_, Some(numbers)) => Gpus::These(numbers),
        (_, None) => Gpus::All,
    };
    let wanted = Wanted { gpus, gemm_tune: opening.gemm_tune, is_one_of_several: true };
    let (tool, deadlines) = (opening.tool, opening.deadlines);
    let starter = Box::new(ProcessStarter { least: deadlines.least });
    let mut own = RemoteDevice::open(starter, wanted, tool.to_owned(), deadlines)?;
    let meeting = Meeting { place, facts: Facts::of(&own), tool, within };
    if place.rank > 0 {
        ranks::serve(&meeting, &mut own)?;
        drop(interrupt);
        return Ok(None);
    }
    let (arrived, nodes) = ranks::gather(&meeting)?;
    let device = SpreadDevice::open(own, arrived, nodes, tool, deadlines)?;
    let clock = Clock::Wall(opening.began);
    Ok(Some(opened_gpus(Box::new(device), clock, nodes)))
}

fn gpus(gpus: Gpus, opening: &Opening<'_>, clock: Clock) -> Result<Opened, DeviceError> {
    let starter = Box::new(ProcessStarter { least: opening.deadlines.least });
    let tool = opening.tool.to_owned();
    let wanted = Wanted { gpus, gemm_tune: opening.gemm_tune, is_one_of_several: false };
    let device = RemoteDevice::open(starter, wanted, tool, opening.deadlines)?;
    Ok(opened_gpus(Box::new(device), clock, 1))
}

/// GPUs with the catalogue for so many, linked so, on so many nodes.
fn opened_gpus(device: Box<dyn Device>, clock: Clock, nodes: u32) -> Opened {
    let Machine { count, links, .. } = device.machine();
    let mut routes = Routes::default();
    let environment = device.environment();
    let words = environment.get("gpu_links").unwrap_or_default();
    for (route, pair) in routes.iter_mut().zip(first_pairs(words)) {
        *route = Some(pair);
    }
    Opened { device, clock, catalogue: Catalogue::Gpu { count, links, nodes, routes } }
}
