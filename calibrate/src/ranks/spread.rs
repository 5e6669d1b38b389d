//! The GPUs of all processes as one [`Device`].
//!
//! A collective of all ranks is prepared, verified and timed by every process at once, and its
//! time is the least of any rank: from the arrival of the last. Everything else is measured by
//! rank 0's own GPUs alone. What fails on one rank has failed; the others give their operands up
//! and the ranks join anew before the next collective. Where that fails twice in a row, collectives
//! of all ranks are given up and the rest goes on. A rank that is gone ends the run: NCCL has no
//! ranks to spare.

use std::cell::RefCell;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use kernelgauge_cuda::{Condition, Device, DeviceError, Timer, Timing, Workload, World};
use kernelgauge_data::{
    Bytes, CacheState, Environment, Failure, Machine, Manner, Nanos, Origin, Point, SkipReason,
};

use super::gathering::Arrived;
use super::tcp::Come;
use crate::remote::wire::{Answer, Facts, Gpus, Request};
use crate::remote::{Conversation, Deadlines, RemoteDevice, Stuck};
use crate::sweep::is_of_device;

/// Whether collectives of all ranks can be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Joined {
    /// They can, with rank 0's process of this number.
    Yes(u32),
    /// After the ranks have joined once more: a collective has failed.
    Anew,
    /// They cannot, in these words.
    Never(String),
}

/// The GPUs of all processes.
pub struct SpreadDevice {
    facts: Facts,
    /// Rank 0's own process first, then the other ranks in order.
    parts: RefCell<Vec<Conversation>>,
    /// GPUs of each.
    gpus: Vec<u32>,
    nodes: u32,
    joined: Joined,
    stuck: Stuck,
}

impl SpreadDevice {
    /// Joins `own`, the GPUs of rank 0, and those of the ranks that have come.
    ///
    /// # Errors
    /// A rank that does not answer, or whose GPU is locked by another run.
    pub fn open(
        own: RemoteDevice,
        arrived: Vec<Arrived>,
        nodes: u32,
        tool: &str,
        deadlines: Deadlines,
    ) -> Result<Self, DeviceError> {
        let own_facts = Facts::of(&own);
        let mut gpus = vec![own_facts.machine.count];
        let mut parts = vec![own.into_conversation()];
        for Arrived { claim, link } in arrived {
            gpus.push(claim.facts.machine.count);
            let starter = Box::new(Come { rank: claim.rank, link: Mutex::new(Some(link)) });
            let mut part = Conversation::new(starter, Gpus::All.into(), tool.to_owned(), deadlines);
            part.open()?;
            parts.push(part);
        }
        let facts = whole(own_facts, &gpus, nodes);
        let parts = RefCell::new(parts);
        let mut device = SpreadDevice {
            facts,
            parts,
            gpus,
            nodes,
            joined: Joined::Anew,
            stuck: Stuck::default(),
        };
        // Where it fails, every collective of all ranks says so.
        let _ = device.join_all();
        Ok(device)
    }

    fn ranks(&self) -> u32 {
        self.gpus.iter().sum()
    }

    fn is_of_all(&self, point: &Point) -> bool {
        matches!(point, Point::Collective(collective) if collective.ranks == u64::from(self.ranks()))
    }

    /// Lets every process join the ranks, and once more where that fails: what was left over from
    /// an earlier failure may have been in the way. After that it is not tried again.
    fn join_all(&mut self) -> Result<(), Failure> {
        let mut joined = self.join_once();
        if joined.is_err() && self.gone().is_none() {
            joined = self.join_once();
        }
        if let Err(failure) = &joined {
            self.joined = Joined::Never(format!("the ranks cannot join: {failure}"));
        }
        joined
    }

    /// Lets every process join the ranks, with a fresh id.
    fn join_once(&mut self) -> Result<(), Failure> {
        let (ranks, nodes) = (self.ranks(), self.nodes);
        let parts = self.parts.get_mut();
        let Some(first) = parts.first_mut() else { return Err(none_there()) };
        let within = first.deadlines.join();
        let id = match first.ask(&Request::UniqueId, within)? {
            Answer::UniqueId(id) => id,
            answer => return Err(first.unexpected(&Request::UniqueId, &answer)),
        };
        let mut first_rank = 0;
        let worlds = self.gpus.iter().map(|gpus| {
            let world = World { id: id.clone(), ranks, first_rank, local_ranks: *gpus, nodes };
            first_rank += gpus;
            Request::Join(world)
        });
        let requests: Vec<Request> = worlds.collect();
        for part in parts.iter_mut() {
            part.ready()?;
        }
        ask_all(parts, &requests, within)?;
        self.joined = Joined::Yes(parts.first().map_or(0, |own| own.opened));
        Ok(())
    }

    /// Whether the processes that are there have joined. Rank 0's may have been replaced by what
    /// is no collective.
    fn is_joined(&self) -> bool {
        let own = self.parts.borrow().first().map(|own| own.opened);
        matches!(self.joined, Joined::Yes(process) if Some(process) == own)
    }

    /// A rank that is gone, in words.
    fn gone(&self) -> Option<String> {
        let parts = self.parts.borrow();
        let gone = parts.iter().skip(1).find(|part| !part.is_connected());
        gone.map(|part| format!("{} is gone", part.name()))
    }

    /// Asks rank 0's own process.
    fn ask_own(&self, request: &Request) -> Result<Answer, Failure> {
        let mut parts = self.parts.borrow_mut();
        let Some(own) = parts.first_mut() else { return Err(none_there()) };
        let within = own.deadlines.prepare(Bytes::default());
        own.ask(request, within)
    }

    fn memory(&self, request: &Request) -> Bytes {
        match self.ask_own(request) {
            Ok(Answer::Memory(bytes)) => bytes,
            _ => Bytes::default(),
        }
    }
}

impl Device for SpreadDevice {
    fn machine(&self) -> Machine {
        self.facts.machine.clone()
    }

    fn origin(&self) -> Origin {
        self.facts.origin
    }

    fn environment(&self) -> Environment {
        self.facts.environment.clone()
    }

    /// Those of rank 0: every other process locks its own.
    fn lock_keys(&self) -> Vec<String> {
        self.facts.lock_keys.clone()
    }

    fn free_memory(&self) -> Bytes {
        self.memory(&Request::FreeMemory)
    }

    fn timer(&self) -> Timer {
        self.facts.timer
    }

    fn memory_needed(&self, point: &Point, cache: CacheState) -> Bytes {
        self.memory(&Request::MemoryNeeded(point.into(), cache))
    }

    fn supports_in(
        &self,
        point: &Point,
        cache: CacheState,
        manner: Manner,
    ) -> Result<(), SkipReason> {
        if self.is_of_all(point) {
            match &self.joined {
                Joined::Never(why) => return Err(SkipReason::Unsupported(why.clone())),
                // A process that has not joined knows of no such ranks.
                _ if !self.is_joined() => return Ok(()),
                _ => {}
            }
        }
        match self.ask_own(&Request::Supports(point.into(), cache, manner)) {
            Ok(Answer::Supports(Some(reason))) => Err(reason),
            _ => Ok(()),
        }
    }

    fn prepare_in<'device>(
        &'device mut self,
        point: &Point,
        cache: CacheState,
        manner: Manner,
        seed: u64,
    ) -> Result<Box<dyn Workload + 'device>, Failure> {
        for part in self.parts.get_mut() {
            part.ready()?;
        }
        if !self.is_of_all(point) {
            let Some(own) = self.parts.get_mut().first_mut() else { return Err(none_there()) };
            return own.prepare(point, cache, manner, seed);
        }
        self.stuck.refuse(point)?;
        if let Joined::Never(why) = &self.joined {
            return Err(Failure::AfterDeviceLost(why.clone()));
        }
        if !self.is_joined() {
            self.join_all()?;
        }
        let operands = self.memory_needed(point, cache);
        let longer = self
            .parts
            .get_mut()
            .first()
            .map_or(Duration::ZERO, |own| own.deadlines.for_ranks(point));
        let SpreadDevice { parts, joined, stuck, .. } = self;
        let mut workload = SpreadWorkload {
            kernel: String::new(),
            operands,
            longer,
            each: None,
            parts: parts.get_mut(),
            joined,
            stuck,
        };
        let within = workload.within();
        let request = Request::Prepare(point.into(), cache, manner, seed);
        match workload.ask(&request, within)?.into_iter().next() {
            Some(Answer::Prepared(kernel, _)) => workload.kernel = kernel,
            _ => return Err(none_there()),
        }
        Ok(Box::new(workload))
    }

    fn condition(&mut self) -> Condition {
        if let Some(gone) = self.gone() {
            return Condition::Lost(gone);
        }
        self.parts.get_mut().first().map_or(Condition::Sound, Conversation::condition)
    }

    fn attachments(&self) -> Vec<(String, String)> {
        match self.ask_own(&Request::Attachments) {
            Ok(Answer::Attachments(files)) => files,
            _ => Vec::new(),
        }
    }
}

impl Drop for SpreadDevice {
    fn drop(&mut self) {
        // Where a rank is gone, the others shall know that this is no ordinary end.
        if self.gone().is_none() {
            for part in self.parts.get_mut().iter_mut().skip(1) {
                part.send(&Request::Farewell);
            }
        }
    }
}

/// A collective whose operands are in place on every rank.
struct SpreadWorkload<'device> {
    kernel: String,
    operands: Bytes,
    each: Option<Nanos>,
    longer: Duration,
    parts: &'device mut Vec<Conversation>,
    joined: &'device mut Joined,
    stuck: &'device mut Stuck,
}

impl SpreadWorkload<'_> {
    fn within(&self) -> Duration {
        self.parts.first().map_or(Duration::ZERO, |own| own.deadlines.prepare(self.operands))
            + self.longer
    }

    /// Asks every rank at once; after a failure of any, the ranks must join anew.
    fn ask(&mut self, request: &Request, within: Duration) -> Result<Vec<Answer>, Failure> {
        let requests = vec![request.clone(); self.parts.len()];
        let answers = ask_all(self.parts, &requests, within);
        // That operands are in place says nothing of whether a collective ends.
        if answers.is_err() || !matches!(request, Request::Prepare(..)) {
            self.stuck.note(&answers);
        }
        match &answers {
            // A rank says that it tries no more.
            Err(Failure::AfterDeviceLost(why)) => *self.joined = Joined::Never(why.clone()),
            Err(failure) if is_of_device(failure) => *self.joined = Joined::Anew,
            _ => {}
        }
        answers
    }
}

impl Workload for SpreadWorkload<'_> {
    fn kernel(&self) -> &str {
        &self.kernel
    }

    fn verify(&mut self) -> Result<(), Failure> {
        let within = self.within();
        self.ask(&Request::Verify, within).map(|_| ())
    }

    /// The least time of any rank; lowered clocks and other programs count on all of them.
    fn time(&mut self, executions: u32) -> Result<Timing, Failure> {
        let Some(own) = self.parts.first() else { return Err(none_there()) };
        let within = own.deadlines.time(executions, self.each, self.operands);
        let answers = self.ask(&Request::Time(executions), within + self.longer)?;
        let timings = answers.into_iter().filter_map(|answer| match answer {
            Answer::Timed(timing) => Some(timing),
            _ => None,
        });
        let together = timings.reduce(|one, other| Timing {
            throttled: one.throttled || other.throttled,
            contended: one.contended || other.contended,
            ..if other.elapsed < one.elapsed { other } else { one }
        });
        let timing = together.ok_or_else(none_there)?;
        self.each = Some(Nanos::new(timing.elapsed.get() / u64::from(timing.executions.max(1))));
        Ok(timing)
    }
}

impl Drop for SpreadWorkload<'_> {
    fn drop(&mut self) {
        let within = self.within();
        let requests = vec![Request::Release; self.parts.len()];
        // A process that is gone has released everything.
        let _ = ask_all(self.parts, &requests, within);
    }
}

/// Asks every process, then waits for all answers; the first failure, with its rank. Another rank
/// may have to replace a process of its own first, which takes as long as to open GPUs.
fn ask_all(
    parts: &mut [Conversation],
    requests: &[Request],
    within: Duration,
) -> Result<Vec<Answer>, Failure> {
    let until = Instant::now() + within;
    for (part, request) in parts.iter_mut().zip(requests) {
        part.send(request);
    }
    let mut answers = Vec::with_capacity(parts.len());
    for (rank, (part, request)) in parts.iter_mut().zip(requests).enumerate() {
        let later = if rank > 0 { part.deadlines.open() } else { Duration::ZERO };
        let answer = part.collect(request, until + later).and_then(|answer| {
            if answer.is_to(request) { Ok(answer) } else { Err(part.unexpected(request, &answer)) }
        });
        answers.push(answer.map_err(|failure| of_rank(rank, failure)));
    }
    answers.into_iter().collect()
}

/// A failure of another rank, by its number.
fn of_rank(rank: usize, failure: Failure) -> Failure {
    let named = |what: String| {
        if rank == 0 || what.starts_with("rank ") { what } else { format!("rank {rank}: {what}") }
    };
    match failure {
        Failure::Device(what) => Failure::Device(named(what)),
        Failure::TimedOut(what) => Failure::TimedOut(named(what)),
        Failure::WrongResult(what) => Failure::WrongResult(named(what)),
        other => other,
    }
}

fn none_there() -> Failure {
    Failure::Device("no process is there".to_owned())
}

/// The facts of all GPUs together: `h200-x8` of eight processes with one each, `h200-x8-n2` of
/// two nodes.
fn whole(own: Facts, gpus: &[u32], nodes: u32) -> Facts {
    let Facts { mut machine, mut environment, .. } = own.clone();
    let total: u32 = gpus.iter().sum();
    let suffix = format!("-x{}", machine.count);
    let kind = machine.name.strip_suffix(&suffix).unwrap_or(&machine.name).to_owned();
    machine.count = total / nodes.max(1);
    machine.name = match machine.count {
        0 | 1 => kind,
        count => format!("{kind}-x{count}"),
    };
    if nodes > 1 {
        machine.name = format!("{}-n{nodes}", machine.name);
        environment.set("nodes", nodes.to_string());
    }
    environment.set("gpus", total.to_string());
    environment.set("processes", gpus.len().to_string());
    Facts { machine, environment, ..own }
}
