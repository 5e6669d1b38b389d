//! The books: communicators, what was called, what is enqueued, and the data that moves.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::driver::{Driver, driver};
use super::exchange::{Exchange, is_shared};
use super::op::{Kind, Op};
use super::{Answer, IN_PROGRESS, INVALID_ARGUMENT, REMOTE_ERROR, SUCCESS, faults};

/// How often a launch is asked about before it is done.
const LAUNCH_QUESTIONS: u32 = 2;

/// What is in the exchange once a communicator has ended.
pub const ENDED: &str = "ended";

/// One rank's end of a communicator.
pub struct Member {
    pub id: String,
    pub rank: i32,
    pub ranks: i32,
    /// All ranks have joined.
    formed: bool,
    /// Questions until the last call is done.
    pub pending: u32,
    /// Collectives it has enqueued.
    pub enqueued: u64,
    /// What it has enqueued that has not ended, each with its number.
    queue: VecDeque<(u64, Op)>,
    posted: bool,
    sequence: u64,
    passed: BTreeMap<(usize, usize), u64>,
    /// The last call that ended, how much it received, and a few bytes of that.
    last: Option<(Op, usize, [u8; 3])>,
}

impl Member {
    pub fn new(id: String, rank: i32, ranks: i32) -> Self {
        Member {
            id,
            rank,
            ranks,
            formed: false,
            pending: LAUNCH_QUESTIONS,
            enqueued: 0,
            queue: VecDeque::new(),
            posted: false,
            sequence: 0,
            passed: BTreeMap::new(),
            last: None,
        }
    }

    /// Whether the next call did the same last time and its result is still there: then moving
    /// the data again would change nothing.
    fn repeats(&self) -> bool {
        match (self.queue.front(), &self.last) {
            (Some((_, op)), Some((last, bytes, probe))) => op == last && op.probe(*bytes) == *probe,
            _ => false,
        }
    }
}

pub struct Books {
    pub members: BTreeMap<usize, Member>,
    pub next: usize,
    pub log: Vec<String>,
    pub ids: u32,
    /// The last number given to something enqueued.
    issued: u64,
    pub exchange: Exchange,
}

static BOOKS: Mutex<Books> = Mutex::new(Books {
    members: BTreeMap::new(),
    next: 0,
    log: Vec::new(),
    ids: 0,
    issued: 0,
    exchange: Exchange::new(),
});

thread_local! {
    pub static GROUPS: Cell<u32> = const { Cell::new(0) };
}

pub fn books() -> MutexGuard<'static, Books> {
    BOOKS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Books {
    /// Whether all ranks of the communicator have joined.
    fn complete(&self, member: &Member) -> bool {
        if is_shared() {
            let joined = |rank: i32| self.exchange.get(&format!("{}-join-{rank}", member.id));
            return (0..member.ranks).all(|rank| joined(rank).is_some());
        }
        let joined = self.members.values().filter(|other| other.id == member.id).count();
        joined == member.ranks as usize
    }

    /// Whether the process of a rank has ended without leaving.
    fn lost(&self, member: &Member) -> bool {
        let gone = |rank: i32| {
            let joined = self.exchange.get(&format!("{}-join-{rank}", member.id))?;
            let process = std::str::from_utf8(&joined).ok()?;
            let left = self.exchange.get(&format!("{}-left-{rank}", member.id)).is_some();
            let path = format!("/proc/{process}/stat");
            let state = std::fs::read_to_string(path).unwrap_or_default();
            let zombie = state.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'));
            Some(!left && (state.is_empty() || zombie))
        };
        is_shared() && (0..member.ranks).any(|rank| gone(rank).unwrap_or(false))
    }

    /// What asking about a communicator answers.
    pub fn state(&mut self, handle: usize) -> Answer {
        self.progress();
        let Some(member) = self.members.get(&handle) else { return INVALID_ARGUMENT };
        if !faults::hangs("PEER") && self.lost(member) {
            return REMOTE_ERROR;
        }
        let hangs = faults::hangs("INIT")
            || !member.formed && faults::hangs_later(|| self.exchange.get(ENDED).is_some());
        if hangs || !self.complete(member) {
            return IN_PROGRESS;
        }
        if let Some(code) = faults::number("INIT").or(faults::number("ASYNC")) {
            return code;
        }
        if let Some(member) = self.members.get_mut(&handle) {
            member.formed = true;
        }
        match self.members.get_mut(&handle) {
            Some(member) if member.pending > 0 => {
                member.pending -= u32::from(!faults::hangs("LAUNCH"));
                IN_PROGRESS
            }
            _ => SUCCESS,
        }
    }

    /// A call of `handle` that may be made only when nothing is in progress, as in NCCL.
    pub fn call(&mut self, handle: usize, op: Op, line: String) -> Answer {
        if let Some(code) = faults::number("CALL") {
            return code;
        }
        let in_group = GROUPS.get() > 0;
        let Some(member) = self.members.get(&handle) else { return INVALID_ARGUMENT };
        if !self.complete(member) || (member.pending > 0 && !in_group) {
            return INVALID_ARGUMENT;
        }
        let line = format!("{line} rank {} of {}", member.rank, member.ranks);
        // Nobody reads the log of a whole program.
        if driver().is_none() {
            self.log.push(line);
        }
        if let Some(member) = self.members.get_mut(&handle) {
            member.enqueued += 1;
            member.pending = LAUNCH_QUESTIONS;
            if driver().is_some() && op.kind != Kind::Nothing {
                self.issued += 1;
                member.queue.push_back((self.issued, op));
            }
        }
        if in_group {
            return SUCCESS;
        }
        self.progress();
        IN_PROGRESS
    }

    /// Whether all that was enqueued has ended: every rank has enqueued as much.
    pub fn ended(&self) -> bool {
        let even = self.members.values().all(|member| {
            self.members
                .values()
                .filter(|other| other.id == member.id)
                .all(|other| other.enqueued == member.enqueued)
        });
        even && !faults::hangs("COLLECTIVE")
    }

    /// Does what can be done of what is enqueued, and tells the driver whether anything is left.
    pub fn progress(&mut self) {
        let Some(driver) = driver() else { return };
        let handles: Vec<usize> = self.members.keys().copied().collect();
        self.tell(driver);
        let step = |books: &mut Books, handle: usize| {
            let changed = books.step(handle);
            books.tell(driver);
            changed
        };
        while handles.iter().filter(|handle| step(self, **handle)).count() > 0 {}
    }

    fn tell(&self, driver: Driver) {
        let queued = self.members.values().flat_map(|member| &member.queue);
        driver.pending(self.issued, queued.map(|(number, _)| *number).min().unwrap_or(u64::MAX));
    }

    /// Whether this is the rank of its communicator here that passes time for all of them.
    fn is_lowest(&self, handle: usize) -> bool {
        let Some(member) = self.members.get(&handle) else { return false };
        let mut same = self.members.iter().filter(|(_, other)| other.id == member.id);
        same.next().is_some_and(|(first, _)| *first == handle)
    }

    /// Does the next call of a rank if all it needs is there; whether anything changed.
    fn step(&mut self, handle: usize) -> bool {
        let Some(member) = self.members.get(&handle) else { return false };
        let Some((_, op)) = member.queue.front().copied() else { return false };
        match op.kind {
            Kind::Send | Kind::Receive => self.pass(handle),
            _ => self.collective(handle, op),
        }
    }

    fn collective(&mut self, handle: usize, op: Op) -> bool {
        let Some(member) = self.members.get(&handle) else { return false };
        let (rank, ranks) = (member.rank as usize, member.ranks as usize);
        let (id, sequence, posted) = (member.id.clone(), member.sequence, member.posted);
        if self.all_repeat(&id, ranks) {
            return self.repeat(&id);
        }
        let name = |rank: usize| format!("{id}-{sequence}-{rank}");
        let mut changed = false;
        if !posted {
            if let Some(data) = op.sent(rank, ranks) {
                self.exchange.put(&name(rank), data);
            }
            changed = true;
            if let Some(member) = self.members.get_mut(&handle) {
                member.posted = true;
            }
        }
        let sent: Vec<_> = (0..ranks)
            .map(|other| if op.needs(rank, other) { self.exchange.get(&name(other)) } else { None })
            .collect();
        let missing = |other: &usize| op.needs(rank, *other) && sent[*other].is_none();
        if (0..ranks).any(|other| missing(&other)) || is_stuck(&op) {
            return changed;
        }
        let result = op.result(rank, &sent);
        self.finish(handle, op, result, op.duration(ranks));
        // What all ranks of this process are through with is of no more use.
        let oldest = self.members.values().filter(|m| m.id == id).map(|m| m.sequence).min();
        if oldest > Some(sequence) {
            self.exchange.forget(&format!("{id}-{sequence}-"));
        }
        true
    }

    /// Whether every rank is here and would do again what it did last.
    fn all_repeat(&self, id: &str, ranks: usize) -> bool {
        let here = self.members.values().filter(|member| member.id == id);
        let count = here.clone().filter(|member| !member.posted && member.repeats()).count();
        count == ranks && !faults::is_set("COLLECTIVE")
    }

    fn repeat(&mut self, id: &str) -> bool {
        let members = self.members.values_mut().filter(|member| member.id == id);
        for (index, member) in members.enumerate() {
            let Some((_, op)) = member.queue.pop_front() else { continue };
            member.sequence += 1;
            if let (0, Some(driver)) = (index, driver()) {
                driver.work(op.duration(member.ranks as usize));
            }
        }
        true
    }

    fn finish(&mut self, handle: usize, op: Op, result: Option<Vec<u8>>, duration: f64) {
        if let (true, Some(driver)) = (self.is_lowest(handle), driver()) {
            driver.work(duration);
        }
        let wrong = faults::is("COLLECTIVE", "wrong");
        let Some(member) = self.members.get_mut(&handle) else { return };
        member.queue.pop_front();
        member.posted = false;
        member.sequence += 1;
        let mut data = result.unwrap_or_default();
        if let (true, Some(byte)) = (wrong, data.first_mut()) {
            *byte ^= 0x41;
        }
        op.write(&data);
        member.last = Some((op, data.len(), op.probe(data.len())));
    }

    /// Sends and receives among the first calls of a rank, in whatever order their peers come.
    fn pass(&mut self, handle: usize) -> bool {
        let Some(member) = self.members.get(&handle) else { return false };
        let (rank, ranks, id) = (member.rank as usize, member.ranks as usize, member.id.clone());
        let is_passing = |op: &Op| matches!(op.kind, Kind::Send | Kind::Receive);
        let queue = member.queue.iter().map(|(_, op)| *op);
        let queue: Vec<Op> = queue.take_while(is_passing).collect();
        for (place, op) in queue.into_iter().enumerate() {
            let way = if op.kind == Kind::Send { (rank, op.peer) } else { (op.peer, rank) };
            let Some(member) = self.members.get(&handle) else { return false };
            let key = (way.0 * 2 * ranks + way.1) * 2 + usize::from(op.kind == Kind::Send);
            let number = member.passed.get(&(key, 0)).copied().unwrap_or_default();
            let name = format!("{id}-pass-{}-{}-{number}", way.0, way.1);
            if op.kind == Kind::Send {
                let data = op.sent(rank, ranks).unwrap_or_default();
                self.exchange.put(&name, data);
            } else {
                if is_stuck(&op) {
                    return false;
                }
                let Some(data) = self.exchange.get(&name) else { continue };
                op.write(&data);
                self.exchange.forget(&name);
            }
            if let (true, Some(driver)) = (self.is_lowest(handle), driver()) {
                driver.work(op.duration(ranks));
            }
            let Some(member) = self.members.get_mut(&handle) else { return false };
            member.passed.insert((key, 0), number + 1);
            member.queue.remove(place);
            return true;
        }
        false
    }
}

/// Whether this call never ends.
fn is_stuck(op: &Op) -> bool {
    let counts = faults::nth("COLLECTIVE", "hang");
    counts.is_some_and(|count| count == 0 || count == op.count as u64)
}
