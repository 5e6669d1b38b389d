//! One fit of one variant on given rows: term, correction, line residuals.

use kernelgauge_data::point::Parameters;
use kernelgauge_data::{CacheState, Family, Machine};

use super::detail::Detail;
use super::groups::Group;
use super::kin::Kin;
use super::select::{Choice, select};
use crate::correction::{Candidate, Lessons, QuadraticParams};
use crate::domain::Domain;
use crate::held_out::HeldOut;
use crate::interval::{Intervals, Residuals};
use crate::lines::Lines;
use crate::rows::Row;
use crate::terms::{AnalyticalTerm, Features};
use crate::variant::VariantModel;

/// What stays the same over all fits of a variant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task<'task> {
    pub family: Family,
    pub name: &'task str,
    pub cache: CacheState,
    pub machine: &'task Machine,
    /// Rows of variants that share this one's costs.
    pub kin: &'task Kin<'task>,
    pub seed: u64,
    /// How finely corrections are learned.
    pub detail: Detail,
}

impl<'task> Task<'task> {
    /// The fits of `group`, which was measured on `machine`.
    pub(crate) fn of(
        group: &'task Group<'_>,
        machine: &'task Machine,
        kin: &'task Kin<'task>,
        seed: u64,
        detail: Detail,
    ) -> Self {
        let (family, name, cache) = (group.family, &group.name, group.cache);
        Task { family, name, cache, machine, kin, seed, detail }
    }
}

impl Task<'_> {
    /// Fits the term to `rows` and the kin that may stand beside them.
    pub(crate) fn term(&self, rows: &[Row<'_>]) -> AnalyticalTerm {
        self.term_of(rows, &self.kin.beside(rows))
    }

    fn term_of(&self, rows: &[Row<'_>], kin: &[Row<'_>]) -> AnalyticalTerm {
        if self.family == Family::Collective {
            return AnalyticalTerm::fit_curves(rows, kin, &self.kin.guides(), self.machine);
        }
        AnalyticalTerm::fit(self.family, rows, kin, self.machine, self.cache)
    }

    /// The same where kin were measured at just the shapes that are not in `rows`; none where
    /// there are no such kin, or they tell nothing about a shape alone.
    pub(super) fn term_beside(&self, rows: &[Row<'_>]) -> Option<AnalyticalTerm> {
        let beside = self.kin.complement(rows);
        (self.family == Family::Collective && !beside.is_empty())
            .then(|| self.term_of(rows, &beside))
    }

    /// Fits the constants of `term` to `rows` and their kin, as [`Task::term`]; what was found
    /// about the processor stays.
    pub(super) fn term_again(&self, term: &AnalyticalTerm, rows: &[Row<'_>]) -> AnalyticalTerm {
        term.again(rows, &self.kin.beside(rows)).unwrap_or_else(|| self.term(rows))
    }
}

/// Fits the term, chooses and fits the correction, all on `rows`.
pub(crate) fn train(task: &Task<'_>, rows: &[Row<'_>]) -> (VariantModel, Choice) {
    let term = task.term(rows);
    // The curves of collectives run through their points: there is nothing left to learn.
    let choice = match task.family {
        Family::Collective => Choice::with_neighbours(Candidate::None),
        _ => select(task, rows, &term),
    };
    (with_learned(train_as(task, rows, term, &choice), rows), choice)
}

/// Fits the correction that was chosen.
pub(super) fn train_as(
    task: &Task<'_>,
    rows: &[Row<'_>],
    term: AnalyticalTerm,
    choice: &Choice,
) -> VariantModel {
    let lessons = lessons(rows, &term);
    VariantModel {
        family: task.family,
        name: task.name.to_owned(),
        cache: task.cache,
        domain: Domain::of(rows),
        correction: choice.candidate.fit(&lessons),
        learned: None,
        blend: choice.blend,
        confined: choice.confined,
        lines: Lines::of(rows),
        intervals: Intervals::of(&Residuals::default()),
        held_out: HeldOut::default(),
        borrowed: None,
        term,
    }
}

/// What a correction is fitted on.
pub(crate) fn lessons(rows: &[Row<'_>], term: &AnalyticalTerm) -> Lessons {
    let mut lessons = Lessons::default();
    learn(&mut lessons, rows, term);
    lessons
}

/// Adds `rows` to what a correction is fitted on.
pub(crate) fn learn<'row, 'data: 'row>(
    lessons: &mut Lessons,
    rows: impl IntoIterator<Item = &'row Row<'data>>,
    term: &AnalyticalTerm,
) {
    let mut features = Features::new();
    for row in rows {
        let analytical = term.log_ns(row.point, &mut features);
        lessons.push(&features, &row.parameters, row.log_ns - analytical);
    }
}

/// Adds to a model the regression of the time itself, which stands beside the rest.
pub(super) fn with_learned(mut model: VariantModel, rows: &[Row<'_>]) -> VariantModel {
    let parameters: Vec<Parameters> = rows.iter().map(|row| row.parameters).collect();
    let log_times: Vec<f64> = rows.iter().map(|row| row.log_ns).collect();
    model.learned = QuadraticParams::default().fit(&parameters, &log_times);
    model
}
