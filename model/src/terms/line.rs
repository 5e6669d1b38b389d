//! A line: a constant, and so much more for each of one parameter.
//!
//! `t = constant + each * x` with neither below zero, as launches in a row take time. With
//! `each = 0` it is the constant alone. Fitted by least squares of the relative residuals,
//! reweighted so that a row that was disturbed pulls less. Which form an op has is left to
//! `custom`.

use kernelgauge_data::Point;
use kernelgauge_data::point::{MAX_PARAMETERS, Parameters};
use serde::{Deserialize, Serialize};

use super::{Features, Part, possible};
use crate::math::{ln, round9};
use crate::rows::Row;

/// Residuals beyond this (in log time: 5 %) count linearly, not squared, as in `least_squares`.
const SOFT: f64 = 0.05;

/// Reweighted problems: the loss is convex near its end, and each is solved at once.
const REWEIGHTINGS: usize = 30;

/// Constants of a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LineTerm {
    constant_ns: f64,
    each_ns: f64,
    /// The parameter it runs along, by its place.
    parameter: usize,
}

impl LineTerm {
    fn along(&self, parameters: &Parameters) -> u64 {
        parameters.get(self.parameter).copied().unwrap_or(1).max(1)
    }

    pub(super) fn log_ns(&self, point: &Point, features: &mut Features) -> f64 {
        let parameters = point.parameters();
        for &value in parameters.iter() {
            features.push(value as f64);
        }
        self.log_at(&parameters)
    }

    pub(super) fn log_at(&self, parameters: &Parameters) -> f64 {
        ln(self.constant_ns + self.each_ns * self.along(parameters) as f64)
    }

    pub(super) fn parts(&self, point: &Point) -> Vec<Part> {
        let constant = Part::new("constant", self.constant_ns);
        if self.each_ns == 0.0 {
            return vec![constant.with("the same at every measured point".to_owned())];
        }
        let count = self.along(&point.parameters());
        let names = point.parameter_names();
        let name = names.get(self.parameter).copied().unwrap_or("parameter");
        let detail = format!("a line: {name} {count} x {:.1} ns", self.each_ns);
        vec![constant, Part::new("growing", self.each_ns * count as f64).with(detail)]
    }

    pub(super) fn floor_ns(&self) -> f64 {
        self.constant_ns
    }

    pub(super) fn is_sound(&self) -> bool {
        possible(&[self.constant_ns, self.each_ns])
            && self.constant_ns + self.each_ns > 0.0
            && self.parameter < MAX_PARAMETERS
    }
}

/// The line of `rows`, of which there is at least one, along a parameter.
pub(super) fn fit(rows: &[&Row<'_>], parameter: usize) -> LineTerm {
    fitted(rows, parameter, Weighted::line)
}

/// The constant of `rows`, of which there is at least one.
pub(super) fn constant(rows: &[&Row<'_>]) -> LineTerm {
    fitted(rows, 0, Weighted::constant)
}

fn fitted(rows: &[&Row<'_>], parameter: usize, solve: fn(&Weighted) -> [f64; 2]) -> LineTerm {
    let value = |row: &Row<'_>| row.parameters.get(parameter).copied().unwrap_or(1).max(1) as f64;
    // In units of the fastest row, so that no number is far from one.
    let fastest = rows.iter().map(|row| row.time.as_f64()).fold(f64::INFINITY, f64::min);
    let largest = rows.iter().map(|row| value(row)).fold(1.0, f64::max);
    let relative: Vec<[f64; 2]> = rows
        .iter()
        .map(|row| [1.0, value(row) / largest].map(|count| count * fastest / row.time.as_f64()))
        .collect();
    let mut weights = vec![1.0; rows.len()];
    let mut costs = [0.0; 2];
    for _ in 0..REWEIGHTINGS {
        costs = solve(&Weighted::of(&relative, &weights));
        for (weight, [one, x]) in weights.iter_mut().zip(&relative) {
            let off = ln((costs[0] * one + costs[1] * x).max(1e-9)) / SOFT;
            *weight = 1.0 / (1.0 + off * off).sqrt();
        }
    }
    LineTerm {
        constant_ns: round9(costs[0] * fastest),
        each_ns: round9(costs[1] * fastest / largest),
        parameter,
    }
}

/// Sums of a weighted problem `a * one + b * x = 1` over its rows.
struct Weighted {
    ones: f64,
    mixed: f64,
    xs: f64,
    one: f64,
    x: f64,
}

impl Weighted {
    fn of(rows: &[[f64; 2]], weights: &[f64]) -> Self {
        let sum = |of: fn(&[f64; 2]) -> f64| -> f64 {
            rows.iter().zip(weights).map(|(row, weight)| weight * of(row)).sum()
        };
        Weighted {
            ones: sum(|[one, _]| one * one),
            mixed: sum(|[one, x]| one * x),
            xs: sum(|[_, x]| x * x),
            one: sum(|[one, _]| *one),
            x: sum(|[_, x]| *x),
        }
    }

    fn constant(&self) -> [f64; 2] {
        [self.one / self.ones, 0.0]
    }

    /// Constant and slope; where one of them would be negative, the better of either alone.
    fn line(&self) -> [f64; 2] {
        let determinant = self.ones * self.xs - self.mixed * self.mixed;
        if determinant > 1e-12 * self.ones * self.xs {
            let a = (self.one * self.xs - self.x * self.mixed) / determinant;
            let b = (self.ones * self.x - self.mixed * self.one) / determinant;
            if a >= 0.0 && b >= 0.0 {
                return [a, b];
            }
        }
        // The squares of what either alone explains.
        let (flat, steep) = (self.one * self.one / self.ones, self.x * self.x / self.xs);
        if flat >= steep { self.constant() } else { [0.0, self.x / self.xs] }
    }
}
