//! What attributes are called, and their values whatever type a writer chose.

use super::list::BoolList;
use super::message::ChakraNode;
use super::value::{Attribute, AttributeValue};

/// Whether the host does it; required on every node.
pub const IS_CPU_OP: &str = "is_cpu_op";
/// What a collective does, as a number of [`CollectiveType`](super::CollectiveType).
pub const COMMUNICATION_TYPE: &str = "comm_type";
/// Bytes that this rank puts in.
pub const COMMUNICATION_SIZE: &str = "comm_size";
/// The rank that sends.
pub const COMMUNICATION_SOURCE: &str = "comm_src";
/// The rank that receives.
pub const COMMUNICATION_DESTINATION: &str = "comm_dst";
/// What tells transfers between the same two ranks apart.
pub const COMMUNICATION_TAG: &str = "comm_tag";
/// The process group: an integer as a text, `0` or nothing for all ranks.
pub const GROUP: &str = "pg_name";
/// Stream of the device.
pub const STREAM: &str = "stream";
/// Thread of the host.
pub const THREAD: &str = "tid";
/// Ours: when it began, in nanoseconds since the first node of the rank.
pub const EXACT_START: &str = "start_time_ns";
/// Ours: how long it takes of its own, in nanoseconds: what it waits for other nodes is not in it.
pub const EXACT_DURATION: &str = "duration_ns";
/// Ours: how long it took when it was recorded, waiting included, in nanoseconds.
pub const RECORDED_DURATION: &str = "recorded_duration_ns";
/// Ours: what kind of task it is, `kernel` or `gap` for example.
pub const TASK_KIND: &str = "task_kind";
/// Ours: the step of training.
pub const STEP: &str = "step";

impl ChakraNode {
    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&AttributeValue> {
        self.attributes.iter().find(|attribute| attribute.name == name)?.value.as_ref()
    }

    /// An attribute as an integer, from any integer type or a text of one.
    pub fn integer(&self, name: &str) -> Option<i64> {
        match self.attribute(name)? {
            AttributeValue::Int32(value)
            | AttributeValue::Sint32(value)
            | AttributeValue::Sfixed32(value) => Some(i64::from(*value)),
            AttributeValue::Int64(value)
            | AttributeValue::Sint64(value)
            | AttributeValue::Sfixed64(value) => Some(*value),
            AttributeValue::Uint32(value) | AttributeValue::Fixed32(value) => {
                Some(i64::from(*value))
            }
            AttributeValue::Uint64(value) | AttributeValue::Fixed64(value) => {
                i64::try_from(*value).ok()
            }
            AttributeValue::Bool(value) => Some(i64::from(*value)),
            AttributeValue::String(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// An attribute as a size or rank.
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.attribute(name)? {
            AttributeValue::Uint64(value) | AttributeValue::Fixed64(value) => Some(*value),
            _ => self.integer(name).and_then(|value| u64::try_from(value).ok()),
        }
    }

    /// An attribute as a text, from a text or an integer.
    pub fn text(&self, name: &str) -> Option<String> {
        match self.attribute(name)? {
            AttributeValue::String(text) => Some(text.clone()),
            _ => self.integer(name).map(|value| value.to_string()),
        }
    }

    /// The stream of work on a device; its thread where only that is stated, as older writers do.
    pub fn stream(&self) -> Option<i64> {
        self.integer(STREAM).or_else(|| self.integer(THREAD))
    }

    /// When it began, in nanoseconds: exactly where we wrote it, to the microsecond otherwise.
    pub fn exact_start(&self) -> u64 {
        let rounded = self.start_time_micros.saturating_mul(1000);
        self.count(EXACT_START).unwrap_or(rounded)
    }

    /// How long it took, in nanoseconds: exactly where we wrote it, to the microsecond otherwise.
    pub fn exact_duration(&self) -> u64 {
        let rounded = self.duration_micros.saturating_mul(1000);
        self.count(EXACT_DURATION).unwrap_or(rounded)
    }

    /// Whether the host does it; none where the writer did not say.
    pub fn is_cpu_op(&self) -> Option<bool> {
        self.integer(IS_CPU_OP).map(|value| value != 0)
    }
}

impl Attribute {
    /// A number that may be negative.
    pub fn int64(name: &str, value: i64) -> Self {
        Attribute::new(name, AttributeValue::Int64(value))
    }

    /// A number of 32 bits.
    pub fn int32(name: &str, value: i32) -> Self {
        Attribute::new(name, AttributeValue::Int32(value))
    }

    /// A number without sign.
    pub fn uint64(name: &str, value: u64) -> Self {
        Attribute::new(name, AttributeValue::Uint64(value))
    }

    /// Yes or no.
    pub fn bool(name: &str, value: bool) -> Self {
        Attribute::new(name, AttributeValue::Bool(value))
    }

    /// Yes or no, many times.
    pub fn bools(name: &str, values: Vec<bool>) -> Self {
        Attribute::new(name, AttributeValue::BoolList(BoolList { values }))
    }

    /// A text.
    pub fn string(name: &str, value: impl Into<String>) -> Self {
        Attribute::new(name, AttributeValue::String(value.into()))
    }

    /// A value of any type.
    pub fn new(name: &str, value: AttributeValue) -> Self {
        Attribute { name: name.to_owned(), description: String::new(), value: Some(value) }
    }
}
