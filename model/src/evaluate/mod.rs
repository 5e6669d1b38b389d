//! How good models of a data set are on points they never saw.
//!
//! Each variant is fitted anew on part of its points, cross-validation and intervals included,
//! and asked for the rest: single points ([`Split::Point`]), whole lines ([`Split::Line`]),
//! every second value of the axis ([`Split::EverySecond`]) and the top three octaves of the axis
//! ([`Split::Frontier`]). Beside it stand the analytical term alone and what a table lookup
//! would say: log-log interpolation between the kept points of the same line. `splits` says
//! which points are held out, `metrics` what is reported, `render` how it is shown.

mod metrics;
mod oracle;
mod render;
mod splits;

pub use metrics::Errors;
pub use oracle::Oracle;
pub use splits::Split;

use kernelgauge_data::{CacheState, DataSet, Family, Machine};
use rayon::prelude::*;
use serde::Serialize;

use crate::fit::{Group, Kin, VariantTask, fit_variant, groups};
use crate::lines::{Lines, Position};
use crate::math::{ln, log2};
use crate::prediction::BasisChoice;
use crate::rows::Row;
use crate::variant::VariantModel;

/// What is held out.
#[derive(Debug, Clone)]
pub struct EvaluateOptions {
    /// Seed of the fits; other seeds than 0 also draw other points.
    pub seed: u64,
    /// The share of points or lines held out, as a band of their hashes within 0..1.
    pub band: (f64, f64),
    /// The splits to evaluate.
    pub splits: Vec<Split>,
}

impl Default for EvaluateOptions {
    fn default() -> Self {
        EvaluateOptions { seed: 0, band: (0.2, 0.4), splits: Split::ALL.to_vec() }
    }
}

/// Errors by variant and split.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// The machine.
    pub machine: String,
    /// Variants in order, splits in the order asked for.
    pub rows: Vec<EvaluationRow>,
}

/// One variant and one split.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluationRow {
    /// Family.
    pub family: Family,
    /// Variant.
    pub variant: String,
    /// State of the operands.
    pub cache: CacheState,
    /// What was held out.
    pub split: Split,
    /// Points fitted on.
    pub fitted: usize,
    /// Errors of the model.
    pub model: Errors,
    /// Share of held-out points within the stated 90 % interval.
    pub coverage: f64,
    /// Median width of the interval, as a share of the answer.
    pub width: f64,
    /// Errors of the analytical term alone.
    pub analytical: Errors,
    /// Errors of log-log interpolation, where the points have kept neighbours on their line.
    pub interpolation: Option<Errors>,
}

/// Fits and asks, for every variant with enough points.
pub fn evaluate(data: &DataSet, options: &EvaluateOptions) -> Evaluation {
    let machine = &data.manifest.machine;
    let groups = groups(&data.records);
    let tasks: Vec<(&Group<'_>, Split)> = groups
        .iter()
        .filter(|group| group.insufficient().is_none())
        .flat_map(|group| options.splits.iter().map(move |split| (group, *split)))
        .collect();
    let rows = tasks
        .par_iter()
        .filter_map(|(group, split)| evaluate_split(group, *split, &groups, machine, options))
        .collect();
    Evaluation { machine: machine.name.clone(), rows }
}

/// None where too little would be held out or left.
fn evaluate_split(
    group: &Group<'_>,
    split: Split,
    groups: &[Group<'_>],
    machine: &Machine,
    options: &EvaluateOptions,
) -> Option<EvaluationRow> {
    let held = split.held(&group.rows, options);
    let pick = |wanted: bool| -> Vec<Row<'_>> {
        let rows = group.rows.iter().zip(&held).filter(|(_, held)| **held == wanted);
        rows.map(|(row, _)| row.clone()).collect()
    };
    let kept = Group { rows: pick(false), ..group.clone() };
    let out = pick(true);
    if out.is_empty() || kept.rows.is_empty() || kept.insufficient().is_some() {
        return None;
    }
    let kin = Kin::of(group, groups, machine);
    let task = VariantTask {
        family: group.family,
        name: &group.name,
        cache: group.cache,
        machine,
        kin: &kin,
        seed: options.seed,
    };
    let model = fit_variant(&task, &kept.rows);
    let asked: Vec<Asked> = out.iter().map(|row| ask(&model, row)).collect();
    let residuals = |of: fn(&Asked) -> Option<f64>| asked.iter().filter_map(of).collect::<Vec<_>>();
    let covered = asked.iter().filter(|asked| asked.covered).count();
    Some(EvaluationRow {
        family: group.family,
        variant: group.name.clone(),
        cache: group.cache,
        split,
        fitted: kept.rows.len(),
        model: Errors::of(&residuals(|asked| Some(asked.model)))?,
        coverage: covered as f64 / asked.len() as f64,
        width: crate::math::median(asked.iter().map(|asked| asked.width).collect()),
        analytical: Errors::of(&residuals(|asked| Some(asked.analytical)))?,
        interpolation: Errors::of(&residuals(|asked| asked.interpolation)),
    })
}

/// What was answered for one held-out point, as `ln(measured / answer)`.
struct Asked {
    model: f64,
    analytical: f64,
    interpolation: Option<f64>,
    covered: bool,
    width: f64,
}

fn ask(model: &VariantModel, row: &Row<'_>) -> Asked {
    let answer = |basis| model.predict(row.point, basis, true).ok();
    let residual = |log_ns: f64| row.log_ns - log_ns;
    let best = answer(BasisChoice::Best);
    let analytical = answer(BasisChoice::Analytical);
    let log_of = |nanos: kernelgauge_data::Nanos| ln(nanos.as_f64().max(1.0));
    Asked {
        model: best.map_or(0.0, |best| residual(log_of(best.time))),
        analytical: analytical.map_or(0.0, |answer| residual(log_of(answer.time))),
        interpolation: interpolated(&model.lines, row).map(residual),
        covered: best.is_some_and(|best| (best.low..=best.high).contains(&row.time)),
        width: best.map_or(0.0, |best| {
            (best.high.as_f64() - best.low.as_f64()) / best.time.as_f64().max(1.0)
        }),
    }
}

/// Log time between the neighbours on the line, linear in the logarithm of the axis.
fn interpolated(lines: &Lines, row: &Row<'_>) -> Option<f64> {
    let place = lines.find(&row.parameters)?;
    if place.position != Position::Between {
        return None;
    }
    let octave = log2(row.parameters[lines.axis()].max(1) as f64);
    let low = lines.octave(place.point);
    let weight = (octave - low) / (lines.octave(place.point + 1) - low);
    let log_ns = |point: usize| ln(lines.time(point).as_f64());
    Some((1.0 - weight) * log_ns(place.point) + weight * log_ns(place.point + 1))
}

#[cfg(test)]
mod tests;
