//! A launch floor plus a power law of the parameters.
//!
//! `t = launch + scale * prod(x_i ^ a_i)` with `a_i >= 0`: nothing is known of the op but that
//! more of anything cannot take less time.

use kernelgauge_data::Point;
use kernelgauge_data::point::Parameters;
use serde::{Deserialize, Serialize};

use super::{Features, Part, possible, thinned};
use crate::least_squares::{Bounded, minimise};
use crate::math::{exp, ln, round9};
use crate::rows::Row;

/// Constants of a custom op.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PowerTerm {
    launch_ns: f64,
    scale_ns: f64,
    exponents: Vec<f64>,
}

impl PowerTerm {
    fn of(parameters: &[f64]) -> Self {
        PowerTerm {
            launch_ns: round9(exp(parameters[0])),
            scale_ns: round9(exp(parameters[1])),
            exponents: parameters[2..].iter().copied().map(round9).collect(),
        }
    }

    fn growing_ns(&self, parameters: &Parameters) -> f64 {
        let logs = self.exponents.iter().zip(parameters.iter());
        let power: f64 = logs.map(|(exponent, &x)| exponent * ln((x as f64).max(1.0))).sum();
        self.scale_ns * exp(power)
    }

    pub(super) fn log_ns(&self, point: &Point, features: &mut Features) -> f64 {
        let parameters = point.parameters();
        for &value in parameters.iter() {
            features.push(value as f64);
        }
        ln(self.launch_ns + self.growing_ns(&parameters))
    }

    pub(super) fn parts(&self, point: &Point) -> Vec<Part> {
        vec![
            Part::new("launch", self.launch_ns),
            Part::new("work", self.growing_ns(&point.parameters())),
        ]
    }

    pub(super) fn floor_ns(&self) -> f64 {
        self.launch_ns
    }

    pub(super) fn is_sound(&self) -> bool {
        possible(&[self.launch_ns, self.scale_ns])
            && self.launch_ns + self.scale_ns > 0.0
            && self.exponents.len() <= kernelgauge_data::point::MAX_PARAMETERS
            && self.exponents.iter().all(|exponent| (0.0..=4.0).contains(exponent))
    }
}

/// Fits a custom op; a parameter that never varies gets no exponent.
pub(super) fn fit(rows: &[Row<'_>]) -> PowerTerm {
    let rows = thinned(rows, 2000);
    let fastest = rows.iter().map(|row| row.time.as_f64()).fold(f64::INFINITY, f64::min);
    let mut bounds = vec![
        Bounded::log(fastest / 1e3, fastest / 2.0, fastest),
        Bounded::log(fastest / 1e9, fastest / 1e3, fastest * 1e3),
    ];
    for index in 0..rows[0].parameters.len() {
        let varies = rows.iter().any(|row| row.parameters[index] != rows[0].parameters[index]);
        bounds.push(if varies {
            Bounded { low: 0.0, start: 0.5, high: 4.0 }
        } else {
            Bounded::fixed(0.0)
        });
    }
    let start = |exponent: f64| {
        let mut start: Vec<f64> = bounds.iter().map(|bound| bound.start).collect();
        start[2..].fill(exponent);
        start
    };
    let solution = minimise(&bounds, &[start(1.0), start(2.0)], 60, |parameters| {
        let term = PowerTerm::of(parameters);
        rows.iter()
            .map(|row| ln(term.launch_ns + term.growing_ns(&row.parameters)) - row.log_ns)
            .collect()
    });
    PowerTerm::of(&solution.parameters)
}
