//! How few points would have been enough: a full table stands for the machine, and answers only
//! for the points that a sweep would have measured.
//!
//! Whole lines are held out first, by the last band of [`Split::Line`], and no sweep sees them: they
//! judge the model of whatever was chosen of the rest. Left to the caller: which points to choose.

use kernelgauge_data::{CacheState, DataSet, Family, Machine, Nanos, Point};

use super::{Errors, EvaluateOptions, Split};
use crate::doubt::Committee;
use crate::fit::{Detail, Group, Kin, VariantTask, groups, split, train};
use crate::rows::Row;

/// Fewest points that a choice is made of: of fewer, a few per cent are no table.
const LEAST_POINTS: usize = 1000;

/// One variant whose every time is known.
#[derive(Debug)]
pub struct Oracle<'data> {
    machine: &'data Machine,
    group: Group<'data>,
    held_out: Vec<Row<'data>>,
    seed: u64,
    detail: Detail,
}

impl<'data> Oracle<'data> {
    /// The variants of `data` that have points enough, lines held out.
    pub fn all(data: &'data DataSet, options: &EvaluateOptions<'_>) -> Vec<Oracle<'data>> {
        groups(&data.records)
            .into_iter()
            .filter(|group| group.rows.len() >= LEAST_POINTS && group.insufficient().is_none())
            .filter_map(|group| {
                let held = Split::Line.folds(&group.rows, options).pop()?.held;
                let (rows, held_out) = split(&group.rows, &held);
                let group = Group { rows, ..group };
                let machine = &data.manifest.machine;
                (!group.rows.is_empty() && !held_out.is_empty()).then_some(Oracle {
                    machine,
                    group,
                    held_out,
                    seed: options.seed,
                    detail: options.detail,
                })
            })
            .collect()
    }

    /// Family, variant and state of the operands.
    pub fn variant(&self) -> (Family, &str, CacheState) {
        (self.group.family, &self.group.name, self.group.cache)
    }

    /// The points that may be chosen, with the times that the machine would take.
    pub fn points(&self) -> impl ExactSizeIterator<Item = (&'data Point, Nanos)> + '_ {
        self.group.rows.iter().map(|row| (row.point, row.time))
    }

    /// Points in all, those held out included.
    pub fn table(&self) -> usize {
        self.group.rows.len() + self.held_out.len()
    }

    /// Errors on the lines held out of a model fitted on the points `chosen`, by their places
    /// among [`Oracle::points`]; none where these make no model.
    pub fn errors(&self, chosen: &[usize]) -> Option<Errors> {
        let rows = self.rows(chosen);
        let kept = Group { rows, ..self.group.clone() };
        if kept.insufficient().is_some() {
            return None;
        }
        let kin = Kin::default();
        let (model, _) = train(&self.task(&kin), &kept.rows);
        let residuals: Vec<f64> = self
            .held_out
            .iter()
            .map(|row| {
                let location = model.domain.locate(&row.parameters);
                let place = model.lines.find(&row.parameters);
                row.log_ns - model.estimate(row.point, &row.parameters, location, place).log_ns()
            })
            .collect();
        Errors::of(&residuals)
    }

    /// What models of the points `chosen` would disagree by at every point, as
    /// [`crate::doubts`]; none where they are too few.
    pub fn doubts(&self, chosen: &[usize]) -> Option<Vec<f64>> {
        let kin = Kin::default();
        let committee = Committee::of(&self.task(&kin), &self.rows(chosen))?;
        Some(self.group.rows.iter().map(|row| committee.doubt(row.point)).collect())
    }

    /// In the order of the table, whatever the order of choice.
    fn rows(&self, chosen: &[usize]) -> Vec<Row<'data>> {
        let mut chosen = chosen.to_vec();
        chosen.sort_unstable();
        chosen.iter().filter_map(|place| self.group.rows.get(*place)).cloned().collect()
    }

    fn task<'a>(&'a self, kin: &'a Kin<'a>) -> VariantTask<'a> {
        VariantTask::of(&self.group, self.machine, kin, self.seed, self.detail)
    }
}
