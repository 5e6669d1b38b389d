//! The whole fit of one variant: the model, and what held-out points say about it.

use rayon::prelude::*;

use super::folds;
use super::train::{Task, train, train_as};
use crate::held_out::HeldOut;
use crate::interval::{Held, Intervals, Region, Residuals};
use crate::math::ln;
use crate::rows::Row;
use crate::variant::VariantModel;

/// One repetition of the fit with points held out.
enum Outer {
    /// Choice and fit are repeated on what is left in.
    Nested(folds::Held),
    /// The choice of the whole is fitted to what is left in.
    Again(folds::Held),
    /// The same, with kin at the shapes held out.
    Beside(folds::Held),
}

/// Fits `rows`, of which there are at least four, or two of a collective.
pub(crate) fn fit_variant(task: &Task<'_>, rows: &[Row<'_>]) -> VariantModel {
    let (mut model, choice) = train(task, rows);
    let dealt = folds::dealt(rows.len());
    let mut outers: Vec<Outer> = Vec::new();
    outers.extend(folds::point_folds(rows, task.seed, dealt).into_iter().map(Outer::Nested));
    outers.extend(folds::line_folds(rows, task.seed, dealt).into_iter().map(Outer::Nested));
    let every_second = folds::axis_folds(rows);
    outers.extend(every_second.iter().take(2).cloned().map(Outer::Beside));
    outers.extend(every_second.into_iter().map(Outer::Again));
    outers.extend(folds::frontiers(rows).into_iter().map(Outer::Again));
    let per_fold: Vec<Residuals> = outers
        .par_iter()
        .map(|outer| match outer {
            Outer::Nested(held) => {
                let (kept, out) = folds::split(rows, held);
                residuals(&train(task, &kept).0, &out)
            }
            Outer::Again(held) => {
                let (kept, out) = folds::split(rows, held);
                let term = task.term(&kept);
                residuals(&train_as(task, &kept, term, &choice), &out)
            }
            Outer::Beside(held) => {
                let (kept, out) = folds::split(rows, held);
                let term = task.term_beside(&kept);
                let model = term.map(|term| train_as(task, &kept, term, &choice));
                model.map_or_else(Residuals::default, |model| residuals(&model, &out))
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

/// What held-out rows exceed the model's answers by, in the region each lies in.
pub(crate) fn residuals(model: &VariantModel, out: &[Row<'_>]) -> Residuals {
    let mut residuals = Residuals::default();
    for row in out {
        let location = model.domain.locate(&row.parameters);
        let estimate =
            model.estimate(row.point, &row.parameters, location, model.lines.find(&row.parameters));
        let residual = row.log_ns - estimate.log_ns();
        let held = |gap: f64| Held { gap, log_ns: estimate.log_ns(), residual };
        match estimate.region {
            Region::Known { gap, fresh: true } => residuals.fresh.push(held(gap)),
            Region::Known { gap, fresh: false } => residuals.known.push(held(gap)),
            // Off the end of a line says nothing about lines never measured.
            Region::Unseen { .. } if estimate.place.is_some() => {}
            Region::Unseen { fresh: true } => residuals.strange.push(held(0.0)),
            Region::Unseen { fresh: false } | Region::Borrowed => residuals.unseen.push(held(0.0)),
            Region::Near { octaves } => residuals.near.push(held(octaves)),
            Region::Outside { .. } => continue,
        }
        if !matches!(estimate.region, Region::Near { .. }) {
            residuals.analytical.push(row.log_ns - estimate.analytical);
            if let Some(learned) = &model.learned {
                residuals.learned.push(row.log_ns - learned.predict(&row.parameters));
            }
        }
    }
    residuals
}
