//! Which points are next under a budget, once as many are measured as the first pass has: those
//! that tell most for what they cost.
//!
//! What was measured so far is fitted by a committee of quick models (`kernelgauge_model::doubts`),
//! and what is left is put in the order of `choice`: points where the committee disagrees come
//! early, dear ones late. Whenever a quarter has been added the committee is fitted anew. When
//! that is, and on which records, follows from the journal alone, and costs are the plan's guesses
//! and not what the clock said: a run that was cut goes on with the same points.
//!
//! Left to others: runs without a budget, which measure everything and keep the plan's order.

use std::collections::{BTreeMap, BTreeSet};

use kernelgauge_data::{CacheState, Family, Machine, Record};
use kernelgauge_model::{Question, doubts};

use super::{Setting, bends};
use crate::choice::{next_after, priority};
use crate::journal::{Contents, Entry};

/// Points that are added at least before doubts are asked for again.
const LEAST_ADDED: usize = 100;

/// When the order is decided anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubtful {
    /// Outcomes at which the order is decided next.
    next: usize,
}

impl Doubtful {
    /// For a sweep with a budget; none without, or without a first pass.
    pub fn new(setting: &Setting<'_>) -> Option<Doubtful> {
        setting.until?;
        let level = |index: &&usize| setting.plan.points[**index].level == 0;
        let first_pass = setting.selected.iter().filter(level).count();
        (first_pass > 0).then_some(Doubtful { next: first_pass })
    }

    /// Whether the order is to be decided where so many points have an outcome.
    pub fn is_due(&self, outcomes: usize) -> bool {
        outcomes >= self.next
    }

    /// `todo` in the order of doubt, where `outcomes` points have an outcome.
    pub fn order(
        &mut self,
        setting: &Setting<'_>,
        machine: &Machine,
        contents: &Contents,
        outcomes: usize,
        todo: &[usize],
    ) -> Vec<usize> {
        let mut decided = self.next;
        while next_after(decided, LEAST_ADDED) <= outcomes {
            decided = next_after(decided, LEAST_ADDED);
        }
        self.next = next_after(decided, LEAST_ADDED);
        let known = first_outcomes(contents, decided);
        let done: BTreeSet<usize> = known.iter().map(|(index, _)| *index).collect();
        let mut order: Vec<usize> = known.iter().map(|(index, _)| *index).collect();
        let records: Vec<Record> = known.into_iter().map(|(_, record)| record.clone()).collect();
        order.extend(by_priority(setting, machine, &records, &done));
        let waiting: BTreeSet<usize> = todo.iter().copied().collect();
        let todo = order.iter().copied().filter(|index| waiting.contains(index)).collect();
        bends::in_their_places(setting.plan, &order, todo)
    }
}

/// The first `count` points that got an outcome, in the order they got it.
fn first_outcomes(contents: &Contents, count: usize) -> Vec<(usize, &Record)> {
    let mut seen = BTreeSet::new();
    let mut first = Vec::new();
    for entry in &contents.entries {
        let Entry::Point { index, record } = entry else { continue };
        if first.len() < count && seen.insert(*index) {
            first.push((*index, record));
        }
    }
    first
}

/// The selected points that are not `done`, in the order that `records` suggest.
fn by_priority(
    setting: &Setting<'_>,
    machine: &Machine,
    records: &[Record],
    done: &BTreeSet<usize>,
) -> Vec<usize> {
    let points = &setting.plan.points;
    let left: Vec<usize> =
        setting.selected.iter().copied().filter(|index| !done.contains(index)).collect();
    let questions: Vec<Question<'_>> =
        left.iter().map(|index| (&points[*index].point, points[*index].cache)).collect();
    let doubts = doubts(machine, records, &questions, setting.plan.seed);
    let numbers = numbers(setting);
    let limit = setting.measuring.time_limit;
    let mut order: Vec<(f64, usize)> = left
        .into_iter()
        .zip(doubts)
        .map(|(index, doubt)| {
            let cost = setting.plan.guessed_whole(index, limit).as_f64();
            let number = numbers.get(&index).copied().unwrap_or(1.0);
            (priority(number, doubt, cost), index)
        })
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    order.into_iter().map(|(_, index)| index).collect()
}

/// Where each selected point lies among those of its variant, between 0 and 1: the plan spreads
/// them evenly, pass by pass.
fn numbers(setting: &Setting<'_>) -> BTreeMap<usize, f64> {
    let mut variants: BTreeMap<(Family, String, CacheState), Vec<usize>> = BTreeMap::new();
    for index in setting.selected {
        let candidate = &setting.plan.points[*index];
        let name = candidate.point.variant().as_str().to_owned();
        variants.entry((candidate.point.family(), name, candidate.cache)).or_default().push(*index);
    }
    let mut numbers = BTreeMap::new();
    for members in variants.into_values() {
        let count = members.len() as f64;
        let placed = members.into_iter().enumerate();
        numbers.extend(placed.map(|(place, index)| (index, (place as f64 + 0.5) / count)));
    }
    numbers
}
