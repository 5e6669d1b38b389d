//! What events state beyond name and time, each different statement kept once.

use std::hash::Hash;
use std::num::NonZeroU32;

use crate::hash::FastMap;
use crate::names::Symbol;

/// A row of a [`Table`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FactsId(NonZeroU32);

impl FactsId {
    /// Its place in the table.
    pub(crate) fn place(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Statements, each different one once.
#[derive(Debug, Clone)]
pub struct Table<T> {
    rows: Vec<T>,
    places: FastMap<T, FactsId>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { rows: Vec::new(), places: FastMap::default() }
    }
}

impl<T: Clone + Eq + Hash> Table<T> {
    /// The row of a statement, which is kept if it is new; none once four thousand million
    /// different ones were seen.
    pub fn row(&mut self, statement: T) -> Option<FactsId> {
        if let Some(&place) = self.places.get(&statement) {
            return Some(place);
        }
        let place = u32::try_from(self.rows.len() + 1).ok().and_then(NonZeroU32::new)?;
        self.rows.push(statement.clone());
        self.places.insert(statement, FactsId(place));
        Some(FactsId(place))
    }

    /// The statement of a row of this table.
    pub fn get(&self, row: FactsId) -> Option<&T> {
        self.rows.get(row.place())
    }

    /// All statements.
    pub fn rows(&self) -> &[T] {
        &self.rows
    }
}

/// What an op or annotation stated: texts are JSON as written, empty where nothing was.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OpFacts {
    /// `Input Dims`: shapes of the inputs.
    pub dims: Symbol,
    /// `Input type`: element types of the inputs.
    pub types: Symbol,
    /// `Concrete Inputs`: values of the inputs that are no tensors.
    pub values: Symbol,
    /// `Input Strides`.
    pub strides: Symbol,
    /// The thread of the forward op, for a backward op; 0 where nothing was stated.
    pub forward_thread: i64,
    /// `kernel_backend`: who made the kernel (`triton`).
    pub backend: Symbol,
    /// What it says of a collective (`record_param_comms`), in the table of collectives.
    pub collective: Option<FactsId>,
}

/// What work on a device stated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeviceFacts {
    /// Device of the host, or [`NONE`](super::NONE).
    pub device: i64,
    /// Stream of the device, or [`NONE`](super::NONE).
    pub stream: i64,
    /// Bytes moved, for copies and fills; [`NONE`](super::NONE) where not stated.
    pub bytes: i64,
    /// Blocks along x, y and z; zeros where not stated.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z; zeros where not stated.
    pub block: [u32; 3],
    /// Registers of a thread; 0 where not stated.
    pub registers: u32,
    /// Shared memory of a block in bytes; 0 where not stated.
    pub shared_bytes: u32,
    /// What it says of a collective, in the table of collectives.
    pub collective: Option<FactsId>,
}

/// What a synchronisation stated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SyncFacts {
    /// The stream that waits, or [`NONE`](super::NONE).
    pub stream: i64,
    /// The stream that is waited for, or [`NONE`](super::NONE).
    pub awaited_stream: i64,
    /// Correlation of the `cudaEventRecord` that is waited for, or [`NONE`](super::NONE).
    pub record_correlation: i64,
    /// The event that is waited for, or [`NONE`](super::NONE).
    pub event: i64,
    /// Device, or [`NONE`](super::NONE).
    pub device: i64,
}

/// What an op or kernel stated of a collective.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CollectiveFacts {
    /// `Collective name` as written: `allreduce`, `all_to_allv`, `_allgather_base`.
    pub name: Symbol,
    /// Element type as written: `Float`, `BFloat16`.
    pub dtype: Symbol,
    /// Elements sent by this rank, or [`NONE`](super::NONE).
    pub elements_in: i64,
    /// Elements received by this rank, or [`NONE`](super::NONE).
    pub elements_out: i64,
    /// Ranks of the group, or [`NONE`](super::NONE).
    pub group_size: i64,
    /// Name of the process group.
    pub group: Symbol,
    /// What the group is for.
    pub description: Symbol,
    /// Ranks of the group as written; may end with `...` for large groups.
    pub ranks: Symbol,
    /// Elements for each rank as written, for uneven all-to-all.
    pub split_in: Symbol,
    /// Elements from each rank as written, for uneven all-to-all.
    pub split_out: Symbol,
    /// Number within the group, or [`NONE`](super::NONE).
    pub sequence: i64,
    /// `Comms Id` as written: the same on all ranks of a communicator; empty where not stated.
    pub communicator: Symbol,
    /// Sending rank of a point-to-point transfer, or [`NONE`](super::NONE).
    pub source: i64,
    /// Receiving rank of a point-to-point transfer, or [`NONE`](super::NONE).
    pub destination: i64,
}
