//! One timed event of a recording.

use kernelgauge_data::Nanos;

use super::facts::FactsId;
use crate::names::Symbol;
use crate::time::Moment;

/// No number was stated (correlation, external id, record function id, sequence number).
pub const NONE: i64 = i64::MIN;

/// A thread or stream of a recording, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrackId(pub u32);

/// A row of the timeline: a thread of a process, or a stream of a device.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Track {
    /// Process, as written (`6583`, or a text such as `Spans`); the device for streams in most
    /// recordings.
    pub process: Symbol,
    /// Thread, as written; the stream for streams in most recordings.
    pub thread: Symbol,
}

/// What kind of event it is, whatever the year and vendor called it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// An operator on the host.
    Op,
    /// A range a program or the framework marked on the host, `ProfilerStep#5` included.
    Annotation,
    /// A call of the runtime or driver API of the device.
    Runtime,
    /// A kernel on a device.
    Kernel,
    /// A copy on a device.
    Copy,
    /// A fill of memory on a device.
    Fill,
    /// A synchronisation as the profiler saw it (`Stream Wait Event`, `Event Sync`, ...).
    Sync,
    /// A range projected onto a device: not work.
    DeviceAnnotation,
    /// A Python function.
    Python,
    /// The profiler's own cost.
    Overhead,
}

impl Category {
    /// Work on a device: kernels, copies and fills.
    pub fn is_device_work(self) -> bool {
        matches!(self, Category::Kernel | Category::Copy | Category::Fill)
    }
}

/// One timed event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When it began.
    pub start: Moment,
    /// How long it took.
    pub duration: Nanos,
    /// Number shared by a runtime call and the device work it launched, or [`NONE`].
    pub correlation: i64,
    /// The profiler's number of the enclosing op, or [`NONE`]; in some years a copy of the
    /// correlation.
    pub external: i64,
    /// Number shared with the execution trace, or [`NONE`].
    pub record_function: i64,
    /// Autograd's number shared by a forward op and its backward ops, or [`NONE`].
    pub sequence: i64,
    /// Its name.
    pub name: Symbol,
    /// Its thread or stream.
    pub track: TrackId,
    /// What else it stated, in the table of its category.
    pub facts: Option<FactsId>,
    /// What kind of event it is.
    pub category: Category,
}

impl Event {
    /// When it ended.
    pub fn end(&self) -> Moment {
        self.start + self.duration
    }
}

/// One end of an arrow from a forward op to its backward op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Number of the arrow.
    pub id: i64,
    /// Whether the arrow begins here.
    pub begins: bool,
    /// When, on its thread.
    pub at: Moment,
    /// The thread.
    pub track: TrackId,
}
