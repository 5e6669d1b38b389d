//! What a profiler recorded on one rank, event by event, in nanoseconds and interned texts.
//!
//! This is the common shape of all readers of timed events. What belongs to what (launches,
//! ops, collectives, dependencies) is left to the linker.

mod event;
mod facts;
mod oddities;

use std::collections::HashMap;

pub use event::{Category, Event, Flow, NONE, Track, TrackId};
pub use facts::{CollectiveFacts, DeviceFacts, FactsId, OpFacts, SyncFacts, Table};
pub use oddities::Oddities;

use crate::names::Names;

/// Everything that was recorded on one rank.
#[derive(Debug, Default)]
pub struct Recording {
    /// Where it came from: a path, and the member for an archive.
    pub source: String,
    /// The rank, where the content or the name says so.
    pub rank: Option<StatedRank>,
    /// Ranks of the job, where stated.
    pub world_size: Option<u32>,
    /// Communication library as recorded: `nccl`, `gloo`.
    pub backend: Option<String>,
    /// Version of the communication library, as recorded.
    pub communication_version: Option<String>,
    /// The devices of the host, as recorded.
    pub devices: Vec<RecordedDevice>,
    /// Process groups by name with their ranks, where recorded.
    pub groups: Vec<RecordedGroup>,
    /// The texts of everything below.
    pub names: Names,
    /// Threads and streams.
    pub tracks: Vec<Track>,
    /// Timed events, in the order of the file.
    pub events: Vec<Event>,
    /// Arrows from forward to backward ops.
    pub flows: Vec<Flow>,
    /// What ops stated about their inputs.
    pub ops: Table<OpFacts>,
    /// What events on devices stated.
    pub device_facts: Table<DeviceFacts>,
    /// What synchronisations stated.
    pub syncs: Table<SyncFacts>,
    /// What collectives stated.
    pub collectives: Table<CollectiveFacts>,
    /// What was set aside or mended while reading.
    pub oddities: Oddities,
    /// Versions and switches of the profiler, as written; users, hosts, jobs and paths are left
    /// out.
    pub properties: HashMap<String, String>,
}

/// A rank and who said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatedRank {
    /// The rank.
    pub rank: u32,
    /// Who said so.
    pub by: RankSource,
}

/// Who said which rank a file is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankSource {
    /// The content.
    Content,
    /// The name of the file.
    Name,
    /// The place among the files given.
    Order,
}

/// A GPU as the profiler described it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedDevice {
    /// Its number on the host.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Streaming multiprocessors, where stated.
    pub multiprocessors: Option<u32>,
    /// Memory in bytes, where stated.
    pub memory_bytes: Option<u64>,
    /// Compute capability, where stated.
    pub compute_capability: Option<(u32, u32)>,
}

/// A process group as recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedGroup {
    /// Its name: a number as text in most recordings.
    pub name: String,
    /// What it is for, where stated.
    pub description: String,
    /// How many ranks it has, where stated.
    pub size: Option<u32>,
    /// Its ranks; empty where it has all ranks or the list was cut.
    pub ranks: Vec<u32>,
}
