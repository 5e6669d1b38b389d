//! Choosing the correction of a variant, and how much of the neighbours' residuals to add.
//!
//! Candidates are fitted on part of the rows and judged on the rest, by single points and by
//! whole lines. A richer candidate has to beat a simpler one by 2 %.

use super::folds::{self, Held, SMALL};
use super::train::{Task, train_as};
use crate::correction::Candidate;
use crate::held_out::mean_size;
use crate::math::Stream;
use crate::rows::Row;
use crate::terms::AnalyticalTerm;
use crate::variant::VariantModel;

/// Rows that are enough to tell candidates apart.
const ENOUGH_ROWS: usize = 6000;

/// Trees of a forest: see `TreesParams::default`.
const ROUNDS: usize = 120;

/// So few rows would know a term again that was fitted on all of them: it is fitted anew.
const REMEMBERED: usize = 70;

/// Keeps inner folds apart from outer ones.
const INNER: u64 = 0x5eed;

/// Shares of the neighbours' residuals that may be added.
const BLENDS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// What was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    /// The correction.
    pub candidate: Candidate,
    /// Share of the neighbours' residuals.
    pub blend: f64,
}

/// Candidates that so many rows allow, the simplest first.
fn candidates(rows: usize) -> Vec<Candidate> {
    let mut allowed = vec![Candidate::None];
    if rows >= 12 {
        allowed.push(Candidate::Quadratic { l1_ratio: 0.0 });
        allowed.push(Candidate::Quadratic { l1_ratio: 0.5 });
    }
    if rows >= 200 {
        allowed.push(Candidate::Trees { rounds: ROUNDS });
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
    let mut held: Vec<Held> = folds::point_folds(&sample, seed);
    held.extend(folds::line_folds(&sample, seed));
    let folds: Vec<Inner<'_>> = held
        .iter()
        .map(|held| {
            let (kept, out) = folds::split(&sample, held);
            let term = if sample.len() <= REMEMBERED {
                AnalyticalTerm::fit(task.family, &kept, task.machine, task.cache)
            } else {
                term.clone()
            };
            Inner { kept, out, term }
        })
        .collect();
    let mut best: Option<(f64, Choice)> = None;
    for candidate in candidates(sample.len()) {
        let (loss, blend) = judge(task, candidate, &folds);
        let better = best.as_ref().is_none_or(|(least, _)| loss < least * 0.98);
        if better {
            best = Some((loss, Choice { candidate, blend }));
        }
    }
    best.map_or(Choice { candidate: Candidate::None, blend: 1.0 }, |(_, choice)| choice)
}

/// Held-out residuals of a candidate: the part without the line, and what the line adds.
#[derive(Default)]
struct Judged {
    on_lines: Vec<(f64, f64)>,
    elsewhere: Vec<f64>,
}

/// Loss of a candidate at its best blend, and that blend.
fn judge(task: &Task<'_>, candidate: Candidate, folds: &[Inner<'_>]) -> (f64, f64) {
    let mut judged = Judged::default();
    for fold in folds {
        let choice = Choice { candidate, blend: 1.0 };
        let model = train_as(task, &fold.kept, fold.term.clone(), &choice);
        collect(&model, &fold.out, &mut judged);
    }
    let elsewhere = mean_size(&judged.elsewhere);
    let blended = |blend: f64| {
        let residuals: Vec<f64> =
            judged.on_lines.iter().map(|(residual, line)| residual - blend * line).collect();
        mean_size(&residuals)
    };
    // Held-out points lie in gaps twice as wide as those in use, which makes neighbours look
    // worse than they are. With few points that decides: the largest share within a tenth of
    // the best is taken.
    let slack = if judged.on_lines.len() <= SMALL { 1.1 } else { 1.0 };
    let least = BLENDS.into_iter().map(blended).fold(f64::INFINITY, f64::min);
    let blend = BLENDS.into_iter().rev().find(|blend| blended(*blend) <= least * slack);
    (least + elsewhere, blend.unwrap_or(1.0))
}

fn collect(model: &VariantModel, out: &[Row<'_>], judged: &mut Judged) {
    for row in out {
        let location = model.domain.locate(&row.parameters);
        let estimate = model.estimate(row.point, &row.parameters, location, true);
        let residual = row.log_ns - estimate.analytical - estimate.correction;
        if estimate.place.is_some() {
            judged.on_lines.push((residual, estimate.line));
        } else {
            judged.elsewhere.push(residual);
        }
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
