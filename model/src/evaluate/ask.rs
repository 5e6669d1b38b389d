//! One question about a held-out point, and what it says about the model.

use kernelgauge_data::Nanos;

use crate::lines::{Lines, Position};
use crate::math::{ln, log2};
use crate::prediction::BasisChoice;
use crate::rows::Row;
use crate::variant::VariantModel;

/// What was answered for one held-out point, as `ln(measured / answer)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    /// What was measured, in nanoseconds.
    pub measured: f64,
    pub model: f64,
    pub analytical: f64,
    /// Log-log interpolation, where the point has kept neighbours on its line.
    pub interpolation: Option<f64>,
    /// Another measurement of the same point, taken for an answer.
    pub repeat: Option<f64>,
    pub covered: bool,
    /// Width of the interval as a share of the answer.
    pub width: f64,
}

/// Asks `model` about `row`, which was measured a second time at `repeat`.
pub(super) fn ask(
    model: &VariantModel,
    row: &Row<'_>,
    basis: BasisChoice,
    repeat: Option<f64>,
) -> Asked {
    let answer = |basis| model.predict(row.point, basis, true).ok();
    let residual = |log_ns: f64| row.log_ns - log_ns;
    let best = answer(basis);
    let analytical = answer(BasisChoice::Analytical);
    let log_of = |nanos: Nanos| ln(nanos.as_f64().max(1.0));
    Asked {
        measured: row.time.as_f64(),
        model: best.map_or(0.0, |best| residual(log_of(best.time))),
        analytical: analytical.map_or(0.0, |answer| residual(log_of(answer.time))),
        interpolation: interpolated(&model.lines, row).map(residual),
        repeat: repeat.map(residual),
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
