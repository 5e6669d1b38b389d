//! The traits between a sweep and whatever it measures.

use kernelgauge_data::{
    Bytes, CacheState, Diagnostic, Environment, ExitStatus, Failure, Machine, Manner, Nanos,
    Origin, Point, SkipReason,
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::world::World;

/// Something that executes points and times them.
pub trait Device: Send {
    /// What the measurements will speak for.
    fn machine(&self) -> Machine;

    /// [`Origin::Measured`] for hardware, [`Origin::Synthetic`] for a simulated device.
    fn origin(&self) -> Origin;

    /// The facts that must agree for measurements of two runs to be mixed.
    fn environment(&self) -> Environment;

    /// File-name-safe keys, one per processor or GPU: two runs that share one must not measure
    /// at the same time.
    fn lock_keys(&self) -> Vec<String>;

    /// Memory a point may use now.
    fn free_memory(&self) -> Bytes;

    /// Resolution and cost of the timer, measured.
    fn timer(&self) -> Timer;

    /// Memory `point` needs in this cache state, operands, copies and reference included.
    fn memory_needed(&self, point: &Point, cache: CacheState) -> Bytes;

    /// Whether the device can execute `point` in this cache state and `manner` at all.
    ///
    /// # Errors
    /// The reason, for the record of the point.
    fn supports_in(
        &self,
        point: &Point,
        cache: CacheState,
        manner: Manner,
    ) -> Result<(), SkipReason>;

    /// Allocates and fills the operands of `point` from `seed`, to be executed in `manner`.
    /// Nothing of this is timed.
    ///
    /// # Errors
    /// Why the point cannot run: the failure belongs to the point, not to the run.
    fn prepare_in<'device>(
        &'device mut self,
        point: &Point,
        cache: CacheState,
        manner: Manner,
        seed: u64,
    ) -> Result<Box<dyn Workload + 'device>, Failure>;

    /// [`Device::supports_in`] the usual manner.
    ///
    /// # Errors
    /// As there.
    fn supports(&self, point: &Point, cache: CacheState) -> Result<(), SkipReason> {
        self.supports_in(point, cache, Manner::Usual)
    }

    /// [`Device::prepare_in`] the usual manner.
    ///
    /// # Errors
    /// As there.
    fn prepare<'device>(
        &'device mut self,
        point: &Point,
        cache: CacheState,
        seed: u64,
    ) -> Result<Box<dyn Workload + 'device>, Failure> {
        self.prepare_in(point, cache, Manner::Usual, seed)
    }

    /// Why work that never ended or failed may have spoilt this process for good, if any did: the
    /// caller does better to go on in a new one.
    fn spoilt(&self) -> Option<String> {
        None
    }

    /// Files of this run beside its measurements, as name and text: what the libraries say of
    /// their own choices.
    fn attachments(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// A fresh id, by which the ranks of one communicator find each other across processes. This
    /// process must live until all of them have joined.
    ///
    /// # Errors
    /// What the library says; unsupported where a device has no collectives.
    fn unique_id(&mut self) -> Result<Vec<u8>, Failure> {
        Err(no_collectives())
    }

    /// Joins the communicator of `world` with this process's GPUs as its ranks; from then on
    /// collectives of so many ranks are executed by all processes together.
    ///
    /// # Errors
    /// What the library says, or that ranks are missing at the deadline; unsupported where a
    /// device has no collectives.
    fn join(&mut self, world: &World) -> Result<(), Failure> {
        let _ = world;
        Err(no_collectives())
    }

    /// Whether it can go on after a failure; asked when nothing is prepared.
    fn condition(&mut self) -> Condition {
        Condition::Sound
    }
}

fn no_collectives() -> Failure {
    Failure::Device("unsupported: this device has no collectives".to_owned())
}

/// What a device is still good for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// It can go on: what failed was the point.
    Sound,
    /// Nothing works any more in this process; a new one may have better luck.
    Broken,
    /// It is gone for every process, in these words.
    Lost(String),
}

/// What a device says that executes points in the usual manner only.
pub(crate) fn usual_only(point: &Point, manner: Manner) -> Result<(), SkipReason> {
    match manner {
        Manner::Usual => Ok(()),
        other => Err(SkipReason::Unsupported(format!("{} {other}", point.family()))),
    }
}

/// A point with its operands in place.
pub trait Workload {
    /// The kernel, library or backend that does the work, for [`kernelgauge_data::Conditions`].
    fn kernel(&self) -> &str;

    /// Executes once and compares the result with a plain reference.
    ///
    /// # Errors
    /// [`Failure::WrongResult`] with the largest deviation, or a device failure.
    fn verify(&mut self) -> Result<(), Failure>;

    /// Whether there is a result that [`Workload::verify`] compares: launching has none.
    fn has_result(&self) -> bool {
        true
    }

    /// Executes `executions` times back to back and times them together.
    ///
    /// # Errors
    /// A device failure, or an elapsed time that is no measurement.
    fn time(&mut self, executions: u32) -> Result<Timing, Failure>;
}

/// One timing: the raw material of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Elapsed time of all executions together.
    pub elapsed: Nanos,
    /// Executions behind it.
    pub executions: u32,
    /// Whether the device reported a lowered clock meanwhile.
    pub throttled: bool,
    /// Whether other programs had the processor meanwhile, so that the time is not the work's.
    pub contended: bool,
    /// Clock of the multiprocessors at its end, in MHz, where the device can tell.
    pub sm_clock_mhz: Option<u32>,
    /// Temperature of the device in degrees Celsius, where it is known.
    pub temperature_c: Option<u32>,
}

impl Timing {
    /// `elapsed` for `executions`, and nothing more to say.
    pub const fn of(elapsed: Nanos, executions: u32) -> Self {
        Timing {
            elapsed,
            executions,
            throttled: false,
            contended: false,
            sm_clock_mhz: None,
            temperature_c: None,
        }
    }
}

/// Resolution and cost of a device's timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    /// Smallest difference the timer can report.
    pub resolution: Nanos,
    /// What reading it twice adds to a timing.
    pub cost: Nanos,
}

/// Why a device cannot be used at all.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceError {
    /// A library or driver is missing.
    #[error("{what}")]
    Missing {
        /// A sentence: what was looked for and not found.
        what: String,
        /// What to do about it.
        hint: String,
    },
    /// The number of threads asked for cannot be had.
    #[error("{what}")]
    Threads {
        /// A sentence: how many, and why not.
        what: String,
        /// What to do about it.
        hint: String,
    },
    /// The devices asked for are not there, or do not go together.
    #[error("{what}")]
    Choice {
        /// A sentence: which, and why not.
        what: String,
        /// What to do about it.
        hint: String,
    },
}

impl Diagnostic for DeviceError {
    fn hint(&self) -> Option<String> {
        match self {
            DeviceError::Missing { hint, .. }
            | DeviceError::Threads { hint, .. }
            | DeviceError::Choice { hint, .. } => Some(hint.clone()),
        }
    }

    fn exit_status(&self) -> ExitStatus {
        match self {
            DeviceError::Missing { .. } => ExitStatus::Environment,
            DeviceError::Threads { .. } | DeviceError::Choice { .. } => ExitStatus::Input,
        }
    }
}
