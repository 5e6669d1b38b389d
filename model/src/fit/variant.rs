//! The whole fit of one variant: the model, and what held-out points say about it.

use rayon::prelude::*;

use super::folds::{self, Held, SMALL};
use super::select::Choice;
use super::train::{Task, train, train_as};
use crate::held_out::HeldOut;
use crate::interval::{Intervals, Region, Residuals};
use crate::math::ln;
use crate::rows::Row;
use crate::terms::AnalyticalTerm;
use crate::variant::VariantModel;

/// One repetition of the fit with points held out.
enum Outer {
    /// Choice and fit are repeated on what is left in.
    Nested(Held),
    /// The choice of the whole is fitted to what is left in, for what it says about wide gaps.
    Strided(Held),
    /// The same, for what it says about points beyond the rest.
    Frontier(Held),
}

/// Fits `rows`, of which there are at least four.
pub(crate) fn fit_variant(task: &Task<'_>, rows: &[Row<'_>]) -> VariantModel {
    let (mut model, choice) = train(task, rows);
    let mut outers: Vec<Outer> = Vec::new();
    outers.extend(folds::point_folds(rows, task.seed).into_iter().map(Outer::Nested));
    outers.extend(folds::line_folds(rows, task.seed).into_iter().map(Outer::Nested));
    if rows.len() <= SMALL {
        outers.extend(folds::stride_folds(rows).into_iter().map(Outer::Strided));
    }
    outers.extend(folds::frontier(rows).map(Outer::Frontier));
    let per_fold: Vec<Residuals> = outers
        .par_iter()
        .map(|outer| match outer {
            Outer::Nested(held) => {
                let (kept, out) = folds::split(rows, held);
                residuals(&train(task, &kept).0, &out)
            }
            Outer::Strided(held) => {
                let (kept, out) = folds::split(rows, held);
                let strided = residuals(&train_again(task, &kept, &choice), &out).known;
                Residuals { strided, ..Residuals::default() }
            }
            Outer::Frontier(held) => {
                let (kept, out) = folds::split(rows, held);
                residuals(&train_again(task, &kept, &choice), &out)
            }
        })
        .collect();
    let mut all = Residuals::default();
    for fold in per_fold {
        all.extend(fold);
    }
    all.repeats = rows
        .iter()
        .filter_map(|row| row.range)
        .map(|(low, high)| (ln(high.as_f64()) - ln(low.as_f64().max(1.0))) / 2.0)
        .collect();
    model.intervals = Intervals::of(&all);
    model.held_out = HeldOut::of(&all);
    model
}

/// Fits the term and the correction that was chosen to other rows.
fn train_again(task: &Task<'_>, rows: &[Row<'_>], choice: &Choice) -> VariantModel {
    let term = AnalyticalTerm::fit(task.family, rows, task.machine, task.cache);
    train_as(task, rows, term, choice)
}

/// What held-out rows exceed the model's answers by, in the region each lies in.
fn residuals(model: &VariantModel, out: &[Row<'_>]) -> Residuals {
    let mut residuals = Residuals::default();
    for row in out {
        let location = model.domain.locate(&row.parameters);
        let estimate = model.estimate(row.point, &row.parameters, location, true);
        let residual = row.log_ns - estimate.log_ns();
        match estimate.region {
            Region::Known { gap } => residuals.known.push((gap, residual)),
            Region::Unseen => residuals.unseen.push(residual),
            Region::Near => residuals.near.push(residual),
            Region::Outside { .. } => continue,
        }
        if estimate.region != Region::Near {
            residuals.analytical.push(row.log_ns - estimate.analytical);
            if let Some(learned) = &model.learned {
                residuals.learned.push(row.log_ns - learned.predict(&row.parameters));
            }
        }
    }
    residuals
}
