//! How good models of a data set are on points they never saw.
//!
//! Each variant is fitted anew on part of its points, cross-validation and intervals included,
//! and asked for the rest, in the ways [`Split`] names. Beside it stand the analytical term
//! alone, what a table lookup would say (log-log interpolation between the kept points of the
//! same line), and another measurement of the same points where there is one: what two
//! measurements differ by is the floor of what can be predicted. `splits` says which points are
//! held out, `ask` puts the questions, `metrics` says what is reported, `render` how it is shown;
//! `among` evaluates many machines that lend to each other;
//! `oracle` lets a full table answer for what a sweep would have measured.

mod among;
mod ask;
mod metrics;
mod oracle;
mod render;
mod splits;

pub use among::evaluate_among;
pub use metrics::Errors;
pub use oracle::Oracle;
pub use splits::Split;

use std::collections::BTreeMap;

use kernelgauge_data::point::Parameters;
use kernelgauge_data::{CacheState, DataSet, Family, Machine};
use rayon::prelude::*;
use serde::Serialize;

use crate::borrow::{Lender, fit_variant_borrowing};
use crate::fit::{Detail, Group, Kin, VariantTask, fit_variant, groups, split};
use crate::math::median;
use crate::prediction::BasisChoice;
use crate::rows::Row;
use ask::{Asked, ask};
use splits::Fold;

/// A range of hashes within 0..1, the lower end included.
pub type Band = (f64, f64);

/// Points that take less than this are mostly launch: errors above it are told apart.
const LONG_NS: f64 = 20_000.0;

/// What is held out.
#[derive(Debug, Clone)]
pub struct EvaluateOptions<'data> {
    /// Seed of the fits; other seeds than 0 also draw other points.
    pub seed: u64,
    /// The shares of points or lines held out, as bands of their hashes.
    pub bands: Vec<Band>,
    /// The splits to evaluate.
    pub splits: Vec<Split>,
    /// Other machines, to borrow from.
    pub lenders: &'data [DataSet],
    /// Another measurement of the same points.
    pub repeat: Option<&'data DataSet>,
    /// What answers: the whole model or a part of it.
    pub basis: BasisChoice,
    /// How finely corrections are learned.
    pub detail: Detail,
}

impl EvaluateOptions<'_> {
    /// A fifth each. Published figures of others use the first; nothing here was chosen on any.
    pub const BANDS: [Band; 3] = [(0.0, 0.2), (0.2, 0.4), (0.6, 0.8)];
}

impl Default for EvaluateOptions<'_> {
    fn default() -> Self {
        EvaluateOptions {
            seed: 0,
            bands: Self::BANDS.to_vec(),
            splits: Split::ALL.to_vec(),
            lenders: &[],
            repeat: None,
            basis: BasisChoice::Best,
            detail: Detail::STANDARD,
        }
    }
}

/// Errors by variant and split.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// The machine.
    pub machine: String,
    /// Variants in order, splits in the order asked for; a family of several variants has a row
    /// over all of them at its end.
    pub rows: Vec<EvaluationRow>,
}

/// The variant of a row over all variants of its family.
pub const ALL_VARIANTS: &str = "all";

/// One variant and one split.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluationRow {
    /// Family.
    pub family: Family,
    /// Variant, or [`ALL_VARIANTS`].
    pub variant: String,
    /// State of the operands.
    pub cache: CacheState,
    /// What was held out.
    pub split: Split,
    /// Points fitted on; of several folds the most.
    pub fitted: usize,
    /// Errors of the model, over all folds.
    pub model: Errors,
    /// The same of points that take more than 20 us.
    pub above_20_us: Option<Errors>,
    /// The same by band, where bands drew the points.
    pub bands: Vec<BandErrors>,
    /// Share of held-out points within the stated 90 % interval.
    pub coverage: f64,
    /// Median width of the interval, as a share of the answer.
    pub width: f64,
    /// Errors of the analytical term alone.
    pub analytical: Errors,
    /// Errors of log-log interpolation, where the points have kept neighbours on their line.
    pub interpolation: Option<Errors>,
    /// Errors of another measurement of the same points, taken for answers.
    pub repeat: Option<Errors>,
    /// What others reach on the same split, where the caller knows.
    pub peers: Vec<Peer>,
}

/// Errors on one band.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BandErrors {
    /// The band.
    pub band: Band,
    /// Errors of the model.
    pub model: Errors,
    /// Share of points within the interval.
    pub coverage: f64,
}

/// What another tool reaches.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Peer {
    /// Its name.
    pub name: String,
    /// Mean error, as a share.
    pub mape: Option<f64>,
    /// Median error, as a share.
    pub median: Option<f64>,
    /// 90th percentile, as a share.
    pub p90: Option<f64>,
}

/// Fits and asks, for every variant with enough points.
pub fn evaluate(data: &DataSet, options: &EvaluateOptions<'_>) -> Evaluation {
    let groups = groups(&data.records);
    let lenders: Vec<Lender<'_>> = options.lenders.iter().map(Lender::of).collect();
    let answers = answers(&groups, &data.manifest.machine, &lenders, options);
    let machine = data.manifest.machine.name.clone();
    Evaluation { machine, rows: rows(&groups, &answers) }
}

/// The answers of every variant with enough points, in order of variant and split.
fn answers(
    groups: &[Group<'_>],
    machine: &Machine,
    lenders: &[Lender<'_>],
    options: &EvaluateOptions<'_>,
) -> Vec<Answers> {
    let repeats = repeats(options.repeat);
    let tasks: Vec<(usize, Split, Fold)> = groups
        .iter()
        .enumerate()
        .filter(|(_, group)| group.insufficient().is_none())
        .flat_map(|(index, group)| options.splits.iter().map(move |split| (index, group, *split)))
        .flat_map(|(index, group, split)| {
            let folds = split.folds(&group.rows, options);
            folds.into_iter().map(move |fold| (index, split, fold))
        })
        .collect();
    let mut answers: Vec<Answers> = tasks
        .par_iter()
        .filter_map(|(index, split, fold)| {
            let task = Question { group: &groups[*index], groups, lenders, machine, split: *split };
            let (fitted, asked) = task.answers(fold, &repeats, options)?;
            Some(Answers { group: *index, split: *split, band: fold.band, fitted, asked })
        })
        .collect();
    answers.sort_by_key(|answers| (answers.group, answers.split));
    answers
}

/// Answers of one fold.
struct Answers {
    group: usize,
    split: Split,
    band: Option<Band>,
    fitted: usize,
    asked: Vec<Asked>,
}

/// Log times of another measurement, by family, variant and parameters.
type Repeats = BTreeMap<(Family, String, Parameters), f64>;

fn repeats(data: Option<&DataSet>) -> Repeats {
    let groups = data.map(|data| groups(&data.records)).unwrap_or_default();
    let rows = groups.iter().flat_map(|group| group.rows.iter().map(move |row| (group, row)));
    rows.map(|(group, row)| ((group.family, group.name.clone(), row.parameters), row.log_ns))
        .collect()
}

/// One variant and how it is held out.
struct Question<'question, 'data> {
    group: &'question Group<'data>,
    groups: &'question [Group<'data>],
    lenders: &'question [Lender<'data>],
    machine: &'question Machine,
    split: Split,
}

impl<'data> Question<'_, 'data> {
    /// Points fitted on, and answers; none where too little would be held out or left.
    fn answers(
        &self,
        fold: &Fold,
        repeats: &Repeats,
        options: &EvaluateOptions<'_>,
    ) -> Option<(usize, Vec<Asked>)> {
        let group = self.group;
        let (kept, out) = split(&group.rows, &fold.held);
        let kept = Group { rows: kept, ..group.clone() };
        if out.is_empty() || (kept.insufficient().is_some() && self.lenders.is_empty()) {
            return None;
        }
        let of_few = (self.split == Split::FewPoints).then(|| self.few_of_all(options));
        let mut kin = Kin::of(group, of_few.as_deref().unwrap_or(self.groups), self.machine);
        if self.split == Split::SisterDtype {
            kin = kin.known();
        }
        let task = VariantTask::of(group, self.machine, &kin, options.seed, options.detail);
        let model = if self.lenders.is_empty() && self.split != Split::FewShot {
            fit_variant(&task, &kept.rows)
        } else {
            // Of its own machine no more is known than these rows.
            let own = std::slice::from_ref(&kept);
            fit_variant_borrowing(&task, &kept, own, self.lenders)?
        };
        let repeat = |row: &Row<'_>| {
            repeats.get(&(group.family, group.name.clone(), row.parameters)).copied()
        };
        let asked = out.iter().map(|row| ask(&model, row, options.basis, repeat(row)));
        Some((kept.rows.len(), asked.collect()))
    }

    /// All variants, of none of which more is known than this one's split leaves.
    fn few_of_all(&self, options: &EvaluateOptions<'_>) -> Vec<Group<'data>> {
        let few = |group: &Group<'data>| {
            let fold = self.split.folds(&group.rows, options).pop();
            let rows = fold.map_or_else(Vec::new, |fold| split(&group.rows, &fold.held).0);
            Group { rows, ..group.clone() }
        };
        self.groups.iter().map(few).collect()
    }
}

/// Rows of answers in order of group and split, and a family's own after its variants.
fn rows(groups: &[Group<'_>], answers: &[Answers]) -> Vec<EvaluationRow> {
    let mut rows = Vec::new();
    for of_family in answers.chunk_by(|a, b| groups[a.group].family == groups[b.group].family) {
        let variants = of_family.chunk_by(|a, b| a.group == b.group).count();
        for same in of_family.chunk_by(|a, b| (a.group, a.split) == (b.group, b.split)) {
            let group = &groups[same[0].group];
            rows.extend(row(&group.name, group, &same.iter().collect::<Vec<_>>()));
        }
        if variants < 2 {
            continue;
        }
        let mut splits: Vec<Split> = of_family.iter().map(|answers| answers.split).collect();
        splits.sort_unstable();
        splits.dedup();
        for split in splits {
            let same: Vec<&Answers> =
                of_family.iter().filter(|answers| answers.split == split).collect();
            let group = Group { cache: CacheState::Unstated, ..groups[same[0].group].clone() };
            rows.extend(row(ALL_VARIANTS, &group, &same));
        }
    }
    rows
}

/// One row over `answers`, all of one split.
fn row(name: &str, group: &Group<'_>, answers: &[&Answers]) -> Option<EvaluationRow> {
    let asked: Vec<Asked> = answers.iter().flat_map(|answers| answers.asked.clone()).collect();
    let residuals = |of: fn(&Asked) -> Option<f64>| asked.iter().filter_map(of).collect::<Vec<_>>();
    let long = |asked: &Asked| (asked.measured > LONG_NS).then_some(asked.model);
    let mut bands: Vec<Band> = answers.iter().filter_map(|answers| answers.band).collect();
    bands.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    bands.dedup();
    let of_band = |band: &Band| {
        let within = answers.iter().filter(|answers| answers.band == Some(*band));
        let asked: Vec<&Asked> = within.flat_map(|answers| &answers.asked).collect();
        let residuals: Vec<f64> = asked.iter().map(|asked| asked.model).collect();
        let coverage = covered(asked.iter().copied());
        Some(BandErrors { band: *band, model: Errors::of(&residuals)?, coverage })
    };
    Some(EvaluationRow {
        family: group.family,
        variant: name.to_owned(),
        cache: group.cache,
        split: answers.first()?.split,
        fitted: answers.iter().map(|answers| answers.fitted).max()?,
        model: Errors::of(&residuals(|asked| Some(asked.model)))?,
        above_20_us: Errors::of(&residuals(long)),
        bands: bands.iter().filter_map(of_band).collect(),
        coverage: covered(asked.iter()),
        width: median(asked.iter().map(|asked| asked.width).collect()),
        analytical: Errors::of(&residuals(|asked| Some(asked.analytical)))?,
        interpolation: Errors::of(&residuals(|asked| asked.interpolation)),
        repeat: Errors::of(&residuals(|asked| asked.repeat)),
        peers: Vec::new(),
    })
}

fn covered<'asked>(asked: impl Iterator<Item = &'asked Asked>) -> f64 {
    let (mut all, mut within) = (0_u32, 0_u32);
    for asked in asked {
        all += 1;
        within += u32::from(asked.covered);
    }
    f64::from(within) / f64::from(all.max(1))
}

#[cfg(test)]
mod tests;
