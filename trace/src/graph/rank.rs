//! Ranks, their processors, their steps and groups.

use std::ops::Range;

use kernelgauge_data::Nanos;

use super::task::Timing;
use crate::names::Symbol;
use crate::recording::{Oddities, RankSource, RecordedDevice};

/// A process group of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// A processor of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessorId(pub u32);

/// A device as recorded.
pub type Device = RecordedDevice;

/// One rank.
#[derive(Debug, Clone)]
pub struct Rank {
    /// Its number.
    pub number: u32,
    /// Who said so.
    pub by: RankSource,
    /// The file it was read from.
    pub source: String,
    /// The device it works on, where recorded.
    pub device: Option<Device>,
    /// Ranks of the job, where stated.
    pub world_size: Option<u32>,
    /// Its processors.
    pub processors: Range<u32>,
    /// Its steps; one that spans everything where none was marked.
    pub steps: Vec<Step>,
    /// Whether steps were marked.
    pub steps_marked: bool,
    /// What launching costs on this host.
    pub launching: Launching,
    /// What was set aside or mended while reading.
    pub oddities: Oddities,
}

/// What launching costs on a host, as its recording shows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Launching {
    /// From the start of a launch to the start of the work on an idle stream: lower quartile.
    pub latency: Option<Nanos>,
    /// Between two pieces of work on a stream of which the second was waiting: tenth percentile.
    pub gap: Option<Nanos>,
}

/// A training step of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its number as marked (`ProfilerStep#5` is 5).
    pub number: u64,
    /// When it ran on the host.
    pub timing: Timing,
}

/// Where tasks run one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Processor {
    /// The rank it belongs to, as a place among the ranks.
    pub rank: u32,
    /// What it is.
    pub kind: ProcessorKind,
    /// Its tasks.
    pub tasks: Range<u32>,
    /// Its calls, for a thread.
    pub calls: Range<u32>,
}

/// What a processor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProcessorKind {
    /// A thread of the host.
    Thread {
        /// Process as recorded.
        process: Symbol,
        /// Thread as recorded.
        thread: Symbol,
    },
    /// A stream of a device.
    Stream {
        /// The device.
        device: i64,
        /// The stream.
        stream: i64,
    },
}

impl ProcessorKind {
    /// Whether it is a thread of the host, and no stream of a device.
    pub fn is_thread(self) -> bool {
        matches!(self, ProcessorKind::Thread { .. })
    }
}

/// Ranks that communicate with each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name as recorded; empty where none was.
    pub name: Symbol,
    /// What it is for; empty where not stated.
    pub description: Symbol,
    /// How many ranks it has, where known.
    pub size: Option<u32>,
    /// Its ranks; empty where not known.
    pub ranks: Vec<u32>,
}
