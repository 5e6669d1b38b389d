//! Choosing the correction of a variant, and how much of the neighbours' residuals to add.
//!
//! Candidates are fitted on part of the rows and judged on the rest, by single points and by
//! whole lines. A richer candidate has to beat a simpler one by 2 %.

use kernelgauge_data::Family;
use rayon::prelude::*;

use super::folds::{self, Held, SMALL};
use super::train::{Task, train_as};
use crate::correction::{Candidate, Noise};
use crate::held_out::mean_size;
use crate::lines::Position;
use crate::math::Stream;
use crate::rows::Row;
use crate::terms::AnalyticalTerm;
use crate::variant::VariantModel;

/// Rows that are enough to tell candidates apart.
const ENOUGH_ROWS: usize = 6000;

/// So few rows would know a term again that was fitted on all of them: it is fitted anew.
const REMEMBERED: usize = 70;

/// Keeps inner folds apart from outer ones.
const INNER: u64 = 0x5eed;

/// Shares of the neighbours' residuals that may be added.
const BLENDS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// What was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Choice {
    /// The correction.
    pub candidate: Candidate,
    /// How measured neighbours on the line are used.
    pub blend: f64,
    /// Whether answers between them are kept in the range of their times.
    pub confined: bool,
}

impl Choice {
    /// A correction with all that neighbours give.
    pub(super) fn with_neighbours(candidate: Candidate) -> Self {
        Choice { candidate, blend: 1.0, confined: true }
    }
}

/// Candidates that so many rows allow, the simplest first.
fn candidates(rows: usize, task: &Task<'_>) -> Vec<Candidate> {
    let mut allowed = vec![Candidate::None];
    if rows >= 12 {
        allowed.push(Candidate::Quadratic { l1_ratio: 0.0 });
        allowed.push(Candidate::Quadratic { l1_ratio: 0.5 });
    }
    if rows >= 200 {
        let (trees, leaves) = (task.detail.trees(), task.detail.leaves());
        let noise = match task.family {
            // Tables of products have throttled rows and features by the hundred.
            Family::Gemm => Noise::Throttled,
            // Repeats of an embedding agree in the median and not in the mean.
            Family::Embedding => Noise::HeavyTailed,
            _ => Noise::Even,
        };
        allowed.push(Candidate::Trees { trees, leaves, noise });
    }
    allowed
}

/// Rows left in, rows held out, and the term fitted on the former.
struct Inner<'data> {
    kept: Vec<Row<'data>>,
    out: Vec<Row<'data>>,
    term: AnalyticalTerm,
}

/// Chooses by cross-validation within `rows`.
pub(super) fn select(task: &Task<'_>, rows: &[Row<'_>], term: &AnalyticalTerm) -> Choice {
    let sample = sampled(rows, task.seed);
    let seed = task.seed ^ INNER;
    let mut held: Vec<Held> = folds::point_folds(&sample, seed, folds::DEALT);
    held.extend(folds::line_folds(&sample, seed, folds::DEALT));
    let folds: Vec<Inner<'_>> = held
        .iter()
        .map(|held| {
            let (kept, out) = folds::split(&sample, held);
            let term = if sample.len() <= REMEMBERED {
                task.term_again(term, &kept)
            } else {
                term.clone()
            };
            Inner { kept, out, term }
        })
        .collect();
    let mut best: Option<(f64, Choice)> = None;
    for candidate in candidates(sample.len(), task) {
        let (loss, choice) = judge(task, candidate, &folds);
        if best.as_ref().is_none_or(|(least, _)| loss < least * 0.98) {
            best = Some((loss, choice));
        }
    }
    best.map_or(Choice::with_neighbours(Candidate::None), |(_, choice)| choice)
}

/// A held-out point on a measured line.
struct OnLine {
    /// What the measured log time exceeds term and correction by.
    residual: f64,
    /// What the neighbours say it does.
    line: f64,
    /// Where the range of the neighbours' times lies, relative to term and correction.
    range: Option<(f64, f64)>,
}

impl OnLine {
    fn error(&self, blend: f64, confined: bool) -> f64 {
        let added = blend * self.line;
        let added = match self.range {
            Some((low, high)) if confined => added.clamp(low, high),
            _ => added,
        };
        self.residual - added
    }
}

/// Held-out points of a candidate, and the residuals of those on no measured line.
#[derive(Default)]
struct Judged {
    on_lines: Vec<OnLine>,
    elsewhere: Vec<f64>,
}

/// Loss of a candidate with the best use of neighbours, and that use.
fn judge(task: &Task<'_>, candidate: Candidate, folds: &[Inner<'_>]) -> (f64, Choice) {
    let mut judged = Judged::default();
    let all = Choice { confined: false, ..Choice::with_neighbours(candidate) };
    let models: Vec<VariantModel> =
        folds.par_iter().map(|fold| train_as(task, &fold.kept, fold.term.clone(), &all)).collect();
    for (model, fold) in models.iter().zip(folds) {
        collect(model, &fold.out, &mut judged);
    }
    let loss = |blend: f64, confined: bool| {
        mean_size(&judged.on_lines.iter().map(|p| p.error(blend, confined)).collect::<Vec<_>>())
    };
    // More sequences never take less time: what lies outside the times of both neighbours would
    // be no answer, however often it happens to be nearer.
    let ways: &[bool] = if task.family == Family::Attention { &[true] } else { &[true, false] };
    let uses: Vec<(f64, Choice)> = BLENDS
        .into_iter()
        .rev()
        .flat_map(|blend| ways.iter().map(move |confined| (blend, *confined)))
        .map(|(blend, confined)| (loss(blend, confined), Choice { candidate, blend, confined }))
        .collect();
    // Held-out points lie in gaps twice as wide as those in use, which makes neighbours look
    // worse than they are. With few points that decides: the fullest use within a tenth of the
    // best is taken.
    let slack = if judged.on_lines.len() <= SMALL { 1.1 } else { 1.0 };
    let least = uses.iter().map(|(loss, _)| *loss).fold(f64::INFINITY, f64::min);
    let chosen = uses.iter().find(|(loss, _)| *loss <= least * slack);
    let choice = chosen.map_or(Choice::with_neighbours(candidate), |(_, choice)| *choice);
    (least + mean_size(&judged.elsewhere), choice)
}

fn collect(model: &VariantModel, out: &[Row<'_>], judged: &mut Judged) {
    for row in out {
        let location = model.domain.locate(&row.parameters);
        let estimate =
            model.estimate(row.point, &row.parameters, location, model.lines.find(&row.parameters));
        let without = estimate.analytical + estimate.correction;
        let residual = row.log_ns - without;
        let Some(place) = estimate.place else {
            judged.elsewhere.push(residual);
            continue;
        };
        let range = (place.position == Position::Between).then(|| {
            let (low, high) = model.between_neighbours(&place);
            (low - without, high - without)
        });
        judged.on_lines.push(OnLine { residual, line: estimate.line, range });
    }
}

/// Whole lines, in seeded order, until there are enough rows.
fn sampled<'data>(rows: &[Row<'data>], seed: u64) -> Vec<Row<'data>> {
    if rows.len() <= ENOUGH_ROWS {
        return rows.to_vec();
    }
    let axis = rows[0].point.axis();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let key = |index: &usize| crate::shape::replaced(&rows[*index].parameters, axis, 0);
    order.sort_by_key(key);
    let mut lines: Vec<Vec<usize>> =
        order.chunk_by(|a, b| key(a) == key(b)).map(<[usize]>::to_vec).collect();
    Stream::new(seed).shuffle(&mut lines);
    let mut picked: Vec<usize> = Vec::new();
    for line in lines {
        if picked.len() >= ENOUGH_ROWS {
            break;
        }
        picked.extend(line);
    }
    picked.sort_unstable();
    picked.into_iter().map(|index| rows[index].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::{Detail, Kin, groups};
    use crate::tests::gemm_table;

    #[test]
    fn trees_are_told_what_the_rows_of_a_family_are_off_by() {
        let data = gemm_table();
        let machine = &data.manifest.machine;
        let groups = groups(&data.records);
        let kin = Kin::of(&groups[0], &groups, machine);
        let task = Task::of(&groups[0], machine, &kin, 1, Detail::STANDARD);
        for (family, noise) in [
            (Family::Gemm, Noise::Throttled),
            (Family::Embedding, Noise::HeavyTailed),
            (Family::Attention, Noise::Even),
        ] {
            let trees = Candidate::Trees { trees: 175, leaves: 127, noise };
            let task = Task { family, ..task };
            assert_eq!(candidates(200, &task).last(), Some(&trees));
            assert!(!candidates(199, &task).contains(&trees));
        }
    }
}
