//! The books: communicators, what was called, what is enqueued.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Answer, IN_PROGRESS, INVALID_ARGUMENT, SUCCESS, faults};

/// How often a launch is asked about before it is done.
const LAUNCH_QUESTIONS: u32 = 2;

/// One rank's end of a communicator.
pub struct Member {
    pub id: Vec<u8>,
    pub rank: i32,
    pub ranks: i32,
    /// Questions until the last call is done.
    pub pending: u32,
    /// Collectives it has enqueued.
    pub enqueued: u64,
}

#[derive(Default)]
pub struct Books {
    pub members: BTreeMap<usize, Member>,
    pub next: usize,
    pub log: Vec<String>,
    pub ids: u32,
}

static BOOKS: Mutex<Books> =
    Mutex::new(Books { members: BTreeMap::new(), next: 0, log: Vec::new(), ids: 0 });

thread_local! {
    pub static GROUPS: Cell<u32> = const { Cell::new(0) };
}

pub fn books() -> MutexGuard<'static, Books> {
    BOOKS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Books {
    /// Whether all ranks of the communicator have joined.
    fn complete(&self, member: &Member) -> bool {
        let joined = self.members.values().filter(|other| other.id == member.id).count();
        joined == member.ranks as usize
    }

    /// What asking about a communicator answers.
    pub fn state(&mut self, handle: usize) -> Answer {
        let Some(member) = self.members.get(&handle) else { return INVALID_ARGUMENT };
        if faults::hangs("INIT") || !self.complete(member) {
            return IN_PROGRESS;
        }
        if let Some(code) = faults::number("INIT").or(faults::number("ASYNC")) {
            return code;
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
    pub fn call(&mut self, handle: usize, line: String) -> Answer {
        if let Some(code) = faults::number("CALL") {
            return code;
        }
        let in_group = GROUPS.get() > 0;
        let Some(member) = self.members.get(&handle) else { return INVALID_ARGUMENT };
        if !self.complete(member) || (member.pending > 0 && !in_group) {
            return INVALID_ARGUMENT;
        }
        let line = format!("{line} rank {} of {}", member.rank, member.ranks);
        self.log.push(line);
        if let Some(member) = self.members.get_mut(&handle) {
            member.enqueued += 1;
            member.pending = LAUNCH_QUESTIONS;
        }
        if in_group { SUCCESS } else { IN_PROGRESS }
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
}
