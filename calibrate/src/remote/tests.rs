//! Conversations with a process that is played by a script, and with a device over a socket.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kernelgauge_cuda::simulated::{Fault, SimulatedDevice};
use kernelgauge_cuda::{Condition, Device, DeviceError};
use kernelgauge_data::{CacheState, CopyDirection, CopyPoint, Failure, Point, SkipReason};

use super::threads::{TOOL, Threads};
use super::wire::{Answer, Facts, Gpus, Hello, PROTOCOL, line};
use super::{Deadlines, Link, NoLine, RemoteDevice, Starter};

/// What one process says, line by line; then it has ended.
type Script = Vec<Result<String, NoLine>>;

/// Plays one script per process.
struct Played(Arc<Mutex<VecDeque<Script>>>);

struct PlayedLink(VecDeque<Result<String, NoLine>>);

impl Starter for Played {
    fn start(&self) -> Result<Box<dyn Link>, DeviceError> {
        let script = self.0.lock().unwrap().pop_front();
        let none = || DeviceError::Missing { what: "no more".to_owned(), hint: String::new() };
        Ok(Box::new(PlayedLink(script.ok_or_else(none)?.into())))
    }

    fn name(&self) -> String {
        "the process".to_owned()
    }
}

impl Link for PlayedLink {
    fn send(&mut self, _line: &str) -> io::Result<()> {
        Ok(())
    }

    fn receive(&mut self, _until: Instant) -> Result<String, NoLine> {
        self.0.pop_front().unwrap_or(Err(NoLine::Ended))
    }

    fn end(&mut self, _patience: Duration) -> String {
        "it ended".to_owned()
    }
}

fn said(answer: &Answer) -> Result<String, NoLine> {
    Ok(line(answer).unwrap().trim_end().to_owned())
}

fn hello(tool: &str) -> Result<String, NoLine> {
    Ok(line(&Hello { protocol: PROTOCOL, tool: tool.to_owned() }).unwrap())
}

fn facts() -> Facts {
    Facts::of(&SimulatedDevice::new(0))
}

/// A process that opens, and says `more`.
fn opens(more: Vec<Result<String, NoLine>>) -> Script {
    let mut script = vec![hello(TOOL), said(&Answer::Opened(Box::new(facts())))];
    script.extend(more);
    script
}

fn opened(scripts: Vec<Script>) -> Result<RemoteDevice, DeviceError> {
    let starter = Box::new(Played(Arc::new(Mutex::new(scripts.into()))));
    RemoteDevice::open(starter, Gpus::All.into(), TOOL.to_owned(), Deadlines::default())
}

fn point() -> Point {
    let direction = CopyDirection::HostToHost;
    Point::Copy(CopyPoint { direction, pinned: false, bytes: 4096 })
}

/// What becomes of preparing and verifying a point.
fn attempt(device: &mut RemoteDevice) -> Result<(), Failure> {
    device.prepare(&point(), CacheState::Hot, 1)?.verify()
}

#[test]
fn a_process_that_is_not_of_this_program_is_refused() {
    for (script, words) in [
        (vec![hello("0.0.9")], "the process was given up: it is of version 0.0.9, not 0.1.0"),
        (vec![Ok("Welcome!".to_owned())], "to `start` it said `Welcome!`"),
        (vec![hello(TOOL), said(&Answer::Verified)], "to `open` it said `Verified`"),
        (vec![hello(TOOL), Err(NoLine::Late)], "timed out: the process did not answer `open`"),
        (vec![], "the process is gone: it ended"),
    ] {
        let error = opened(vec![script]).err().unwrap().to_string();
        assert!(
            error.starts_with("the GPUs cannot be opened: ") && error.contains(words),
            "{error}"
        );
    }
    let refusal = DeviceError::Choice { what: "no GPU 9".to_owned(), hint: "use 0".to_owned() };
    let script = vec![hello(TOOL), said(&Answer::NotOpened(refusal.clone()))];
    assert_eq!(opened(vec![script]).err(), Some(refusal));
}

#[test]
fn whatever_a_process_does_costs_one_point_and_the_next_has_a_new_one() {
    let memory = || said(&Answer::Memory(kernelgauge_data::Bytes::new(4096)));
    let prepared = || said(&Answer::Prepared("copy".to_owned(), true));
    let sticky = Failure::Device("CUDA_ERROR_ILLEGAL_ADDRESS".to_owned());
    let good = || opens(vec![memory(), prepared(), said(&Answer::Verified)]);
    for (last, words) in [
        (Err(NoLine::Ended), "device error: the process is gone: it ended"),
        (Err(NoLine::Late), "timed out: the process did not answer `verify`"),
        (Ok("NCCL version 2".to_owned()), "given up: to `verify` it said `NCCL version 2`"),
        (said(&Answer::Failed(sticky, Condition::Broken)), "CUDA_ERROR_ILLEGAL_ADDRESS"),
        (prepared(), "to `verify` it said `Prepared"),
    ] {
        let first = opens(vec![memory(), prepared(), last]);
        let mut device = opened(vec![first, good()]).unwrap();
        let failure = attempt(&mut device).unwrap_err().to_string();
        assert!(failure.contains(words), "{failure}");
        assert_eq!(attempt(&mut device), Ok(()), "{words}");
        assert_eq!(device.condition(), Condition::Sound);
    }
}

#[test]
fn a_lost_device_and_a_changed_one_are_not_asked_again() {
    let failure = Failure::Device("CUDA_ERROR_UNKNOWN".to_owned());
    let lost = Answer::Failed(failure.clone(), Condition::Lost("gone".to_owned()));
    let memory = || said(&Answer::Memory(kernelgauge_data::Bytes::new(4096)));
    let mut device = opened(vec![opens(vec![memory(), said(&lost)]), opens(vec![])]).unwrap();
    assert_eq!(attempt(&mut device), Err(failure));
    assert_eq!(attempt(&mut device), Err(Failure::AfterDeviceLost("gone".to_owned())));
    assert_eq!(device.condition(), Condition::Lost("gone".to_owned()));

    let other = Facts { lock_keys: vec!["gpu-other".to_owned()], ..facts() };
    let second = vec![hello(TOOL), said(&Answer::Opened(Box::new(other)))];
    let mut device = opened(vec![opens(vec![]), second]).unwrap();
    for words in ["the process is gone", "finds other GPUs"] {
        let failure = attempt(&mut device).unwrap_err().to_string();
        assert!(failure.contains(words), "{failure}");
    }
    assert!(matches!(device.condition(), Condition::Lost(what) if what.contains("other GPUs")));
}

fn simulated(faults: fn(&Point) -> Option<Fault>) -> RemoteDevice {
    let starter = Box::new(Threads(move || SimulatedDevice::new(5).with_faults(faults)));
    RemoteDevice::open(starter, Gpus::All.into(), TOOL.to_owned(), Deadlines::default()).unwrap()
}

#[test]
fn a_device_over_there_answers_as_the_same_one_here() {
    let (mut there, mut here) = (simulated(|_| None), SimulatedDevice::new(5));
    assert_eq!(Facts::of(&there), Facts::of(&here));
    assert_eq!(there.free_memory(), here.free_memory());
    for _ in 0..2 {
        let needs = there.memory_needed(&point(), CacheState::Hot);
        assert_eq!(needs, here.memory_needed(&point(), CacheState::Hot));
        assert_eq!(there.supports(&point(), CacheState::Hot), Ok(()));
        let mut far = there.prepare(&point(), CacheState::Hot, 7).unwrap();
        let mut near = here.prepare(&point(), CacheState::Hot, 7).unwrap();
        assert_eq!((far.verify(), far.kernel()), (near.verify(), near.kernel()));
        for executions in [1, 100] {
            assert_eq!(far.time(executions), near.time(executions));
        }
    }
    let unstated = there.supports(&point(), CacheState::Unstated);
    assert_eq!(unstated, here.supports(&point(), CacheState::Unstated));
    assert!(matches!(unstated, Ok(()) | Err(SkipReason::Unsupported(_))));
}

#[test]
fn failures_of_a_device_over_there_come_with_their_kind() {
    let mut device = simulated(|_| Some(Fault::WrongResult));
    assert!(matches!(attempt(&mut device), Err(Failure::WrongResult(_))));
    let mut device = simulated(|_| Some(Fault::DeviceError));
    for _ in 0..3 {
        let mut workload = device.prepare(&point(), CacheState::Hot, 1).unwrap();
        assert_eq!(workload.verify(), Ok(()));
        assert!(matches!(workload.time(1), Err(Failure::Device(_))));
    }
}
