//! What the two processes say to each other: a greeting, then one answer to every request.
//!
//! Each is a JSON object on a line of its own, at most [`LONGEST_LINE`] bytes. A point travels as
//! its fields, as in a journal. Times and sizes travel as whole numbers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kernelgauge_cuda::{Condition, Device, DeviceError, Timer, Timing, World};
use kernelgauge_data::{
    Bytes, CacheState, Environment, Failure, Family, Machine, Manner, Origin, Point, SkipReason,
    fields,
};
use serde::{Deserialize, Serialize};

/// Version of the protocol.
pub const PROTOCOL: u32 = 1;

/// Bytes of a line at most: a point has a few hundred, the facts of a machine a few thousand.
pub const LONGEST_LINE: usize = 1 << 20;

/// The first line of whoever has the GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its [`PROTOCOL`].
    pub protocol: u32,
    /// Version and revision of the tool.
    pub tool: String,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Open GPUs.
    Open(Wanted),
    /// Memory that is free now.
    FreeMemory,
    /// Whether a point can be executed.
    Supports(WirePoint, CacheState, Manner),
    /// Memory a point needs.
    MemoryNeeded(WirePoint, CacheState),
    /// Put the operands of a point in place, from a seed.
    Prepare(WirePoint, CacheState, Manner, u64),
    /// Compare the result of the prepared point with a reference.
    Verify,
    /// Time so many executions of the prepared point.
    Time(u32),
    /// Give the operands up.
    Release,
    /// What the libraries say of their own choices.
    Attachments,
    /// A fresh id for ranks of several processes.
    UniqueId,
    /// Join these ranks.
    Join(World),
    /// The run is over, in order.
    Farewell,
}

/// What to open, and how to measure with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Which GPUs.
    pub gpus: Gpus,
    /// Algorithms of a matrix product to choose from, where that was stated.
    pub gemm_tune: Option<u32>,
    /// Whether the process is one of several whose ranks come together.
    pub is_one_of_several: bool,
}

impl From<Gpus> for Wanted {
    fn from(gpus: Gpus) -> Self {
        Wanted { gpus, gemm_tune: None, is_one_of_several: false }
    }
}

/// Which GPUs to open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gpus {
    /// Every one that the process sees.
    All,
    /// Those with these numbers.
    These(Vec<u32>),
    /// For the process that is the nth of its node, one: the nth of a list, or of those it sees;
    /// counted from the first again where there are fewer.
    Nth(usize, Option<Vec<u32>>),
}

impl Request {
    /// Its name, for sentences.
    pub fn name(&self) -> &'static str {
        match self {
            Request::Open(_) => "open",
            Request::FreeMemory => "free memory",
            Request::Supports(..) => "supports",
            Request::MemoryNeeded(..) => "memory needed",
            Request::Prepare(..) => "prepare",
            Request::Verify => "verify",
            Request::Time(_) => "time",
            Request::Release => "release",
            Request::Attachments => "attachments",
            Request::UniqueId => "unique id",
            Request::Join(_) => "join",
            Request::Farewell => "farewell",
        }
    }
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The GPUs are open.
    Opened(Box<Facts>),
    /// They cannot be used.
    NotOpened(DeviceError),
    /// To [`Request::FreeMemory`] and [`Request::MemoryNeeded`].
    Memory(Bytes),
    /// To [`Request::Supports`]: why not, or nothing.
    Supports(Option<SkipReason>),
    /// The operands are in place, for this kernel; whether there is a result to compare.
    Prepared(String, bool),
    /// The result is right.
    Verified,
    /// To [`Request::Time`].
    Timed(Timing),
    /// Nothing is prepared any more.
    Released,
    /// To [`Request::Attachments`]: names and texts.
    Attachments(Vec<(String, String)>),
    /// To [`Request::UniqueId`].
    UniqueId(Vec<u8>),
    /// To [`Request::Join`].
    Joined,
    /// It failed, and what the device is good for now. After a device failure nothing is
    /// prepared any more.
    Failed(Failure, Condition),
}

impl Answer {
    /// Whether it fits `request`; a failure fits all.
    pub fn is_to(&self, request: &Request) -> bool {
        match self {
            Answer::Opened(_) | Answer::NotOpened(_) => matches!(request, Request::Open(_)),
            Answer::Memory(_) => {
                matches!(request, Request::FreeMemory | Request::MemoryNeeded(..))
            }
            Answer::Supports(_) => matches!(request, Request::Supports(..)),
            Answer::Prepared(..) => matches!(request, Request::Prepare(..)),
            Answer::Verified => matches!(request, Request::Verify),
            Answer::Timed(_) => matches!(request, Request::Time(_)),
            Answer::Released => matches!(request, Request::Release),
            Answer::Attachments(_) => matches!(request, Request::Attachments),
            Answer::UniqueId(_) => matches!(request, Request::UniqueId),
            Answer::Joined => matches!(request, Request::Join(_)),
            Answer::Failed(..) => true,
        }
    }
}

/// What is known of the device once it is open, and does not change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// As [`Device::machine`].
    pub machine: Machine,
    /// As [`Device::origin`].
    pub origin: Origin,
    /// As [`Device::environment`].
    pub environment: Environment,
    /// As [`Device::lock_keys`].
    pub lock_keys: Vec<String>,
    /// As [`Device::timer`]; measured anew by every process.
    pub timer: Timer,
}

impl Facts {
    /// The facts of `device`.
    pub fn of(device: &dyn Device) -> Self {
        Facts {
            machine: device.machine(),
            origin: device.origin(),
            environment: device.environment(),
            lock_keys: device.lock_keys(),
            timer: device.timer(),
        }
    }

    /// Whether these are the facts of the same devices in the same state.
    pub fn same_device(&self, other: &Facts) -> bool {
        self.lock_keys == other.lock_keys && self.environment == other.environment
    }
}

/// A point as its fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WirePoint {
    family: Family,
    fields: BTreeMap<Cow<'static, str>, String>,
}

impl From<&Point> for WirePoint {
    fn from(point: &Point) -> Self {
        WirePoint {
            family: point.family(),
            fields: fields::write_point(point).into_iter().collect(),
        }
    }
}

impl WirePoint {
    /// The point.
    ///
    /// # Errors
    /// What is wrong with its fields: the other side is not to be trusted with that.
    pub fn point(&self) -> Result<Point, Failure> {
        let get = |name: &str| self.fields.get(name).map(String::as_str);
        fields::read_point(self.family, &get)
            .map_err(|error| Failure::Stated(format!("a point came garbled: {error}")))
    }
}

/// A message as a line, newline included.
///
/// # Errors
/// Never in practice: every message has a JSON form.
pub fn line<T: Serialize>(message: &T) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string(message)?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use kernelgauge_cuda::simulated::SimulatedDevice;
    use kernelgauge_data::Links;

    use super::*;
    use crate::plan::{Catalogue, Plan};

    #[test]
    fn every_point_of_both_plans_travels_unchanged() {
        let (links, routes) = (Links::Nvlink, Default::default());
        let gpus = Catalogue::Gpu { count: 8, links, nodes: 2, routes };
        for catalogue in [Catalogue::Processor, gpus] {
            for candidate in Plan::of(catalogue, 0).points {
                let request = Request::Prepare(
                    (&candidate.point).into(),
                    candidate.cache,
                    candidate.manner,
                    u64::MAX,
                );
                let text = line(&request).unwrap();
                assert!(text.ends_with("}\n") && text.matches('\n').count() == 1);
                let back: Request = serde_json::from_str(&text).unwrap();
                assert_eq!(back, request);
                let Request::Prepare(point, ..) = back else { panic!("{text}") };
                assert_eq!(point.point().unwrap(), candidate.point);
            }
        }
    }

    #[test]
    fn answers_travel_unchanged_and_garbled_points_are_refused() {
        let failure = Failure::Device("cuCtxSetCurrent: \"odd\"\nlines".to_owned());
        for answer in [
            Answer::Opened(Box::new(Facts::of(&SimulatedDevice::new(0)))),
            Answer::Supports(None),
            Answer::Supports(Some(SkipReason::Unsupported("f16".to_owned()))),
            Answer::Failed(failure, Condition::Lost("gone".to_owned())),
        ] {
            let back: Answer = serde_json::from_str(&line(&answer).unwrap()).unwrap();
            assert_eq!(back, answer);
        }
        let garbled = r#"{"family":"copy","fields":{"direction":"d2d","bytes":"-1"}}"#;
        let garbled: WirePoint = serde_json::from_str(garbled).unwrap();
        assert!(matches!(garbled.point(), Err(Failure::Stated(_))));
    }
}
