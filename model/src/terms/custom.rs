//! Custom ops: a constant, a line along the one parameter that varies, or a power law.
//!
//! Which of them is chosen by holding rows out of the rows at hand: every row once, and the top
//! two octaves together. Whoever holds rows out of the whole fit has this choice made anew on
//! the rest, so no row speaks for the form it is judged by. Nothing else is known of such ops.

use super::{AnalyticalTerm, line, power};
use crate::rows::Row;

/// A richer form has to win by a tenth: rows are few.
const MARGIN: f64 = 0.9;
/// And by a thousandth of the time: clocks tick, and times are whole nanoseconds.
const LEAST_GAIN: f64 = 0.001;
/// A residual counts at most this much, so that one disturbed row does not decide.
const MOST: f64 = 0.5;
/// Groups that rows are held out in; so many rows or fewer are held out one by one.
const GROUPS: usize = 10;
/// Fewest rows that a power law is fitted to: it has three constants.
const LEAST_FOR_POWER: usize = 4;

/// The forms, the simplest first.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Constant,
    Line { parameter: usize },
    Power,
}

impl Form {
    fn fit(self, rows: &[Row<'_>]) -> AnalyticalTerm {
        let all = || rows.iter().collect::<Vec<_>>();
        match self {
            Form::Constant => AnalyticalTerm::Line(line::constant(&all())),
            Form::Line { parameter } => AnalyticalTerm::Line(line::fit(&all(), parameter)),
            Form::Power => AnalyticalTerm::Power(power::fit(rows)),
        }
    }
}

/// Fits a custom op to `rows`, of which there is at least one.
pub(super) fn fit(rows: &[Row<'_>]) -> AnalyticalTerm {
    let parameter = match varying(rows).as_slice() {
        [] => return Form::Constant.fit(rows),
        [parameter] => *parameter,
        // Of several parameters nobody knows which add up and which multiply.
        _ => return Form::Power.fit(rows),
    };
    let folds = folds(rows, parameter);
    let mut chosen = (Form::Constant, residuals(Form::Constant, &folds));
    for form in [Form::Line { parameter }, Form::Power] {
        // Nothing wins by so much over what is as good as exact.
        if mean(&chosen.1) <= LEAST_GAIN || (form == Form::Power && rows.len() < LEAST_FOR_POWER) {
            break;
        }
        let residuals = residuals(form, &folds);
        if wins(&residuals, &chosen.1) {
            chosen = (form, residuals);
        }
    }
    chosen.0.fit(rows)
}

/// Whether the residuals of a richer form are so much smaller than those of a simpler one on the
/// same rows: by both margins, and by the standard error of the difference (Breiman et al.,
/// "Classification and Regression Trees", 1984, 3.4.3).
fn wins(richer: &[f64], simpler: &[f64]) -> bool {
    let gains: Vec<f64> = simpler.iter().zip(richer).map(|(simple, rich)| simple - rich).collect();
    let gain = mean(&gains);
    let variance = mean(&gains.iter().map(|one| (one - gain) * (one - gain)).collect::<Vec<_>>());
    let error = (variance / gains.len().max(1) as f64).sqrt();
    gain > error.max((1.0 - MARGIN) * mean(simpler) + LEAST_GAIN)
}

/// The worst there can be without any.
fn mean(residuals: &[f64]) -> f64 {
    if residuals.is_empty() { MOST } else { residuals.iter().sum::<f64>() / residuals.len() as f64 }
}

/// The parameters that differ between rows, by their place.
fn varying(rows: &[Row<'_>]) -> Vec<usize> {
    let differs = |index: &usize| {
        rows.iter().any(|row| row.parameters.get(*index) != rows[0].parameters.get(*index))
    };
    (0..rows[0].parameters.len()).filter(differs).collect()
}

/// Rows left in, and rows held out.
type Fold<'data> = (Vec<Row<'data>>, Vec<Row<'data>>);

fn folds<'data>(rows: &[Row<'data>], parameter: usize) -> Vec<Fold<'data>> {
    let split = |held: &dyn Fn(usize, &Row<'data>) -> bool| -> Fold<'data> {
        let mut fold = (Vec::new(), Vec::new());
        for (index, row) in rows.iter().enumerate() {
            let side = if held(index, row) { &mut fold.1 } else { &mut fold.0 };
            side.push(row.clone());
        }
        fold
    };
    let groups = rows.len().min(GROUPS);
    let mut folds: Vec<Fold<'data>> =
        (0..groups).map(|group| split(&|index, _| index % groups == group)).collect();
    let value = |row: &Row<'_>| row.parameters.get(parameter).copied().unwrap_or(1);
    let largest = rows.iter().map(value).max().unwrap_or(1);
    folds.push(split(&|_, row| value(row) > largest / 4));
    folds.retain(|(kept, out)| kept.len() >= 2 && !out.is_empty());
    folds
}

/// Relative residuals of the rows that are held out.
fn residuals(form: Form, folds: &[Fold<'_>]) -> Vec<f64> {
    let mut features = super::Features::new();
    let mut residuals = Vec::new();
    for (kept, out) in folds {
        let term = form.fit(kept);
        residuals.extend(out.iter().map(|row| {
            let off = term.log_ns(row.point, &mut features) - row.log_ns;
            off.abs().min(MOST)
        }));
    }
    residuals
}

#[cfg(test)]
mod tests;
