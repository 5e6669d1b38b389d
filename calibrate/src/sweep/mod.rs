//! Measures the selected points of a plan, one journal line each, until they are done, time is
//! up, or the user stops it.
//!
//! One bad point never stops a run: it is journalled as skipped or failed with its reason. Where
//! the device fails point after point of one family, the rest of that family is not attempted any
//! more, and where it fails whatever comes, the run ends: the rest would be a cascade of one fault
//! and say nothing about the points. A point during which other programs had the processor is measured
//! once more some time later, and the better outcome counts.
//!
//! Left to others: the order (`plan`; under a budget `doubtful`, in the last pass of collectives
//! `bends`), one point (`measure`), durability (`journal`), and what
//! is made of the result (`finish`).

mod bends;
mod doubtful;
pub mod pace;
mod queue;
pub mod sentinel;
mod watcher;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kernelgauge_cuda::random::Random;
use kernelgauge_cuda::{Condition, Device, Timer};
use kernelgauge_data::{
    Bytes, Conditions, Failure, Family, Flag, Flags, InputContent, Manner, Nanos, Outcome, Record,
    SkipReason,
};

use crate::clock::Clock;
use crate::interrupt::Interrupt;
use crate::journal::{Contents, Entry, Journal, JournalError};
use crate::measure::{MeasureOptions, NotTaken, Taken, measure};
use crate::plan::{Candidate, Plan};
use crate::progress::Progress;
use bends::Bends;
use doubtful::Doubtful;
use pace::Pace;
use queue::{Queue, Turn};
use watcher::Watcher;

/// Time for one reading of the sentinel.
const SENTINEL_LIMIT: Nanos = Nanos::new(100_000_000);
/// Device failures in a row after which the device counts as lost, or the family that all of
/// them are of is given up, while others are left and worked so far.
pub const LOST_AFTER: u32 = 3;

/// What a sweep works with.
pub struct Setting<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Indices of the points to measure, in order.
    pub selected: &'a [usize],
    /// How one point is measured.
    pub measuring: MeasureOptions,
    /// When measuring ends, where there is a budget.
    pub until: Option<Duration>,
    /// Whether points that failed earlier are measured again.
    pub retry_failed: bool,
    /// Time since the command began.
    pub clock: &'a Clock,
    /// Whether the user asked to stop.
    pub interrupt: &'a Interrupt,
}

/// How a sweep ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Every selected point has its outcome.
    Finished,
    /// The time was used; points are left for a later run.
    BudgetUsed,
    /// The user stopped it.
    Interrupted,
    /// The device failed point after point, in these words.
    DeviceLost(String),
    /// The device is gone for good, in these words.
    DeviceGone(String),
}

/// Measures what is left of `setting.selected` and appends it to `journal` and `contents`.
///
/// # Errors
/// Only what the journal says: without it, measuring on would be for nothing.
pub fn run(
    setting: &Setting<'_>,
    device: &mut dyn Device,
    journal: &mut Journal,
    contents: &mut Contents,
    progress: &mut Progress<'_>,
) -> Result<End, JournalError> {
    let todo = left_to_do(setting, contents);
    let outcomes = contents.records().into_keys().collect();
    let mut bends = Bends::default();
    for (index, record) in contents.records() {
        bends.note(setting.plan, index, record);
    }
    let todo = bends::in_their_places(setting.plan, setting.selected, todo);
    let queue = Queue::new(&todo, &contended(setting, contents));
    let mut sweep = Sweep {
        setting,
        timer: device.timer(),
        free: device.free_memory(),
        device,
        journal,
        contents,
        watcher: Watcher::new(setting, progress, todo.len()),
        pace: Pace::default(),
        bends,
        doubtful: Doubtful::new(setting),
        outcomes,
        failed_in_a_row: Vec::new(),
        given_up: BTreeMap::new(),
        worked: true,
    };
    sweep.all(queue)
}

/// The selected points without an outcome, or with a failure that shall be tried again.
pub fn left_to_do(setting: &Setting<'_>, contents: &Contents) -> Vec<usize> {
    without(setting, contents, |outcome| {
        !(setting.retry_failed && matches!(outcome, Outcome::Failed(_)))
    })
}

/// The selected points without an outcome. One that was tried again and failed again has one.
pub fn missing(setting: &Setting<'_>, contents: &Contents) -> Vec<usize> {
    without(setting, contents, |_| true)
}

/// The selected points without an outcome that counts.
fn without(
    setting: &Setting<'_>,
    contents: &Contents,
    counts: impl Fn(&Outcome) -> bool,
) -> Vec<usize> {
    let records = contents.records().into_iter();
    let done: BTreeSet<usize> =
        records.filter(|(_, record)| counts(&record.outcome)).map(|(index, _)| index).collect();
    setting.selected.iter().copied().filter(|index| !done.contains(index)).collect()
}

/// The selected points that earlier runs measured while other programs had the processor.
fn contended(setting: &Setting<'_>, contents: &Contents) -> Vec<usize> {
    let records = contents.records();
    let is_contended = |index: &usize| {
        records.get(index).is_some_and(|record| record.flags.contains(Flag::Contended))
    };
    setting.selected.iter().copied().filter(is_contended).collect()
}

/// What a turn led to.
enum After {
    /// The point has its outcome.
    Done,
    /// It has one that may be had better.
    Contended,
    /// The user stopped it.
    Interrupted,
}

/// A sweep under way.
struct Sweep<'s, 'w> {
    setting: &'s Setting<'s>,
    timer: Timer,
    free: Bytes,
    device: &'s mut dyn Device,
    journal: &'s mut Journal,
    contents: &'s mut Contents,
    watcher: Watcher<'s, 'w>,
    pace: Pace,
    bends: Bends,
    /// Whether and when the order is decided anew.
    doubtful: Option<Doubtful>,
    /// Points that have an outcome.
    outcomes: BTreeSet<usize>,
    /// The families of the points that failed since one did not.
    failed_in_a_row: Vec<Family>,
    /// Families that are not attempted any more, with the failure.
    given_up: BTreeMap<Family, String>,
    /// Whether a point was measured since a family was given up.
    worked: bool,
}

impl Sweep<'_, '_> {
    fn all(&mut self, mut queue: Queue) -> Result<End, JournalError> {
        let can = |index| self.skip_reason(index).is_none();
        let sentinel = sentinel::choose(self.setting.plan, self.setting.selected, &can);
        let mut passed_over = false;
        let mut measured = 0;
        self.decide_order(&mut queue);
        while let Some(turn) = self.next(&mut queue) {
            if self.setting.interrupt.requested() {
                return Ok(End::Interrupted);
            }
            if !self.fits(turn.index) {
                passed_over |= !turn.again;
                continue;
            }
            self.watcher.left = self.left(std::iter::once(turn.index).chain(queue.left()));
            if measured % sentinel::EVERY == 0 {
                self.read_sentinel(sentinel)?;
            }
            match self.one(turn)? {
                After::Interrupted => return Ok(End::Interrupted),
                After::Contended => {
                    queue.note(true);
                    if !turn.again {
                        queue.later(turn.index);
                    }
                }
                After::Done => queue.note(false),
            }
            measured += 1;
            self.decide_order(&mut queue);
            if let Condition::Lost(what) = self.device.condition() {
                return Ok(End::DeviceGone(what));
            }
            if self.failed_in_a_row.len() >= LOST_AFTER as usize && !self.gives_up(queue.left()) {
                return Ok(End::DeviceLost(self.last_failure()));
            }
        }
        if measured > 0 {
            self.read_sentinel(sentinel)?;
        }
        Ok(if passed_over { End::BudgetUsed } else { End::Finished })
    }

    /// Puts what is left in the order of doubt, where it is time to.
    fn decide_order(&mut self, queue: &mut Queue) {
        let due = |doubtful: &&mut Doubtful| doubtful.is_due(self.outcomes.len());
        let Some(doubtful) = self.doubtful.as_mut().filter(due) else { return };
        let todo: Vec<usize> = queue.left().collect();
        let (machine, outcomes) = (self.device.machine(), self.outcomes.len());
        queue.arrange(doubtful.order(self.setting, &machine, self.contents, outcomes, &todo));
    }

    /// The next turn; in the last pass what is measured of a curve has a say.
    fn next(&self, queue: &mut Queue) -> Option<Turn> {
        queue.put_first(|todo| self.bends.first(self.setting.plan, todo));
        queue.next()
    }

    /// Gives the family that failed point after point up, where it is one, points of others are
    /// left, and any was measured since the last was given up; whether it did.
    fn gives_up(&mut self, mut left: impl Iterator<Item = usize>) -> bool {
        let Some(family) = self.failed_in_a_row.first().copied() else { return false };
        let alone = self.failed_in_a_row.iter().all(|other| *other == family);
        let others = left.any(|index| {
            let other = self.setting.plan.points[index].point.family();
            other != family && !self.given_up.contains_key(&other)
        });
        if !(alone && others && self.worked) {
            return false;
        }
        let what = format!("{LOST_AFTER} points of {family} in a row: {}", self.last_failure());
        self.given_up.insert(family, what);
        self.failed_in_a_row.clear();
        self.worked = false;
        true
    }

    /// Whether the point at `index` will be done before time is up.
    fn fits(&self, index: usize) -> bool {
        let Some(until) = self.setting.until else { return true };
        self.setting.clock.elapsed() + self.expected(index) <= until
    }

    fn guess(&self, index: usize) -> Duration {
        let limit = self.setting.measuring.time_limit;
        Duration::from_nanos(self.setting.plan.guessed_whole(index, limit).get())
    }

    fn expected(&self, index: usize) -> Duration {
        let family = self.setting.plan.points[index].point.family();
        self.pace.corrected(family, self.guess(index))
    }

    /// Predicted time until measuring ends.
    fn left(&self, todo: impl Iterator<Item = usize>) -> Duration {
        let all: Duration = todo.map(|index| self.expected(index)).sum();
        match self.setting.until {
            Some(until) => all.min(until.saturating_sub(self.setting.clock.elapsed())),
            None => all,
        }
    }

    /// Measures and journals one point. A second outcome that is no better is not kept.
    fn one(&mut self, Turn { index, again }: Turn) -> Result<After, JournalError> {
        let began = self.setting.clock.elapsed();
        self.watcher.begin(&self.setting.plan.points[index].point);
        let Some(record) = self.attempt(index) else { return Ok(After::Interrupted) };
        let family = record.point.family();
        match record.outcome {
            Outcome::Failed(Failure::Device(_)) => self.failed_in_a_row.push(family),
            // A collective that does not end says nothing of the other points.
            Outcome::Failed(Failure::TimedOut(_)) if family != Family::Collective => {
                self.failed_in_a_row.push(family);
            }
            // The device had no part in it.
            Outcome::Skipped(_) | Outcome::Failed(Failure::AfterDeviceLost(_)) => {}
            Outcome::Failed(_) | Outcome::Measured(_) => self.failed_in_a_row.clear(),
        }
        let measured = matches!(record.outcome, Outcome::Measured(_));
        self.worked |= measured;
        let contended = record.flags.contains(Flag::Contended);
        if !again || (measured && !contended) {
            self.bends.note(self.setting.plan, index, &record);
            self.append(Entry::Point { index, record })?;
        }
        self.watcher.done += usize::from(!again);
        self.outcomes.insert(index);
        let took = self.setting.clock.elapsed().saturating_sub(began);
        self.pace.observe(family, self.guess(index), took);
        Ok(if contended { After::Contended } else { After::Done })
    }

    /// What becomes of a point; none when it was interrupted.
    fn attempt(&mut self, index: usize) -> Option<Record> {
        let Candidate { point, cache, manner, .. } = &self.setting.plan.points[index];
        let mut record = Record {
            point: point.clone(),
            conditions: Conditions {
                cache: *cache,
                input: InputContent::Random,
                // What is not even begun says so much of itself.
                kernel: match manner {
                    Manner::Usual => String::new(),
                    other => format!("({other})"),
                },
            },
            outcome: Outcome::Failed(Failure::NoValidSamples("none was taken".to_owned())),
            flags: Flags::NONE,
        };
        if let Some(what) = self.given_up.get(&point.family()) {
            record.outcome = Outcome::Failed(Failure::AfterDeviceLost(what.clone()));
            return Some(record);
        }
        record.outcome = match self.skip_reason(index) {
            Some(reason) => Outcome::Skipped(reason),
            None => match self.take(index, self.setting.measuring, &mut record.conditions.kernel) {
                Ok(taken) => {
                    if taken.throttled {
                        record.flags.insert(Flag::Throttled);
                    }
                    if taken.contended {
                        record.flags.insert(Flag::Contended);
                    }
                    Outcome::Measured(taken.measurement)
                }
                Err(NotTaken::Failed(failure)) => Outcome::Failed(failure),
                Err(NotTaken::Interrupted) => return None,
            },
        };
        Some(record)
    }

    fn skip_reason(&self, index: usize) -> Option<SkipReason> {
        self.setting.plan.points[index].memory_on(self.device, self.free).err()
    }

    fn take(
        &mut self,
        index: usize,
        options: MeasureOptions,
        kernel: &mut String,
    ) -> Result<Taken, NotTaken> {
        let Candidate { point, cache, manner, .. } = &self.setting.plan.points[index];
        let seed = operand_seed(self.setting.plan.seed, index);
        let mut workload = self.device.prepare_in(point, *cache, *manner, seed)?;
        workload.kernel().clone_into(kernel);
        measure(workload.as_mut(), self.timer, options, &mut self.watcher)
    }

    /// Measures the sentinel; a sentinel that cannot be measured says nothing.
    fn read_sentinel(&mut self, sentinel: Option<usize>) -> Result<(), JournalError> {
        let Some(index) = sentinel else { return Ok(()) };
        if self.given_up.contains_key(&self.setting.plan.points[index].point.family()) {
            return Ok(());
        }
        let options = MeasureOptions { time_limit: SENTINEL_LIMIT, samples: None };
        self.watcher.begin(&self.setting.plan.points[index].point);
        match self.take(index, options, &mut String::new()) {
            Ok(taken) => self.append(Entry::Sentinel { index, time: taken.measurement.time }),
            Err(_) => Ok(()),
        }
    }

    fn append(&mut self, entry: Entry) -> Result<(), JournalError> {
        self.journal.append(&entry)?;
        self.contents.entries.push(entry);
        Ok(())
    }

    fn last_failure(&self) -> String {
        let failures = self.contents.entries.iter().rev().filter_map(|entry| match entry {
            Entry::Point { record: Record { outcome: Outcome::Failed(failure), .. }, .. } => {
                Some(failure.to_string())
            }
            _ => None,
        });
        failures.take(1).collect()
    }
}

/// Whether it is the device that failed, and not what it measured.
pub fn is_of_device(failure: &Failure) -> bool {
    matches!(failure, Failure::Device(_) | Failure::TimedOut(_) | Failure::AfterDeviceLost(_))
}

/// The seed of the operands of the point at `index`: the same however the run was cut.
pub fn operand_seed(seed: u64, index: usize) -> u64 {
    Random::stream(seed, index as u64).bits()
}

#[cfg(test)]
mod tests;
