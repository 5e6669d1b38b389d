//! Fitting constants that parties share: the search behind the shared terms.
//!
//! The vector that is searched holds the shared constants and then one launch per party, all as
//! logarithms.

use crate::least_squares::{Bounded, Solution, minimise};
use crate::math::{ln, pow};
use crate::rows::Row;

/// Rows that tell a party's constants; more only take time.
const ROWS_OF_A_PARTY: usize = 400;

/// Weight of a constant's distance from the shared one, in log time per log constant. A law alone
/// erred by 8.0 % at 0.3 and by 9.2 % at 1 on few-shot draws of H100 products (425 rows, lenders
/// A100 and L40S); between them nothing was tried.
const PULL: f64 = 0.5;

/// The same for rates: one large point tells a rate, and shall.
const PULL_OF_RATES: f64 = 0.1;

/// Constants that parties share, and the launch of each.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Constants {
    /// Logarithms of what is shared.
    pub shared: Vec<f64>,
    /// Logarithms of each party's launch in nanoseconds.
    pub launches: Vec<f64>,
    /// Mean robust loss.
    pub loss: f64,
}

impl Constants {
    /// The launch of a party; of no party the geometric mean of all.
    pub(super) fn launch(&self, party: Option<usize>) -> f64 {
        let mean = self.launches.iter().sum::<f64>() / self.launches.len().max(1) as f64;
        party.and_then(|party| self.launches.get(party)).copied().unwrap_or(mean)
    }
}

/// At most [`ROWS_OF_A_PARTY`] of a party's rows.
pub(super) fn sampled<'rows, 'data>(rows: &'rows [Row<'data>]) -> Vec<&'rows Row<'data>> {
    super::thinned(rows, ROWS_OF_A_PARTY)
}

/// Bounds of a launch: from a twentieth of the fastest row to all of it.
pub(super) fn launch_bounds(rows: &[&Row<'_>]) -> Bounded {
    let fastest = rows.iter().map(|row| row.time.as_f64()).fold(f64::INFINITY, f64::min);
    let fastest = if fastest.is_finite() { fastest } else { 1.0 };
    Bounded::log(fastest / 20.0, fastest * 0.6, fastest)
}

/// Searches shared constants within `bounds` and one launch per party within `launches`.
/// `log_ns` has the log times of a party's rows for shared constants and a launch.
pub(super) fn search(
    bounds: &[Bounded],
    parties: &[Vec<&Row<'_>>],
    iterations: usize,
    start: Option<&Constants>,
    log_ns: impl Fn(usize, &[f64], f64) -> Vec<f64>,
) -> Constants {
    let mut all = bounds.to_vec();
    all.extend(parties.iter().map(|rows| launch_bounds(rows)));
    let starts: Vec<Vec<f64>> =
        start.map(|start| [&start.shared[..], &start.launches[..]].concat()).into_iter().collect();
    let shared = bounds.len();
    let solution = minimise(&all, &starts, iterations, |parameters| {
        let mut residuals = Vec::new();
        for (party, rows) in parties.iter().enumerate() {
            let times = log_ns(party, &parameters[..shared], parameters[shared + party]);
            residuals.extend(times.iter().zip(rows).map(|(time, row)| time - row.log_ns));
        }
        residuals
    });
    let Solution { parameters, loss } = solution;
    let (shared, launches) = parameters.split_at(shared);
    Constants { shared: shared.to_vec(), launches: launches.to_vec(), loss }
}

/// Moves `constants` (those shared, the first `rates` of which are rates, then the launch)
/// towards what `rows` say, held back where they say little.
pub(super) fn moved(
    constants: &[f64],
    bounds: &[Bounded],
    rates: usize,
    rows: &[&Row<'_>],
    log_ns: impl Fn(&[f64]) -> Vec<f64>,
) -> Vec<f64> {
    let wide: Vec<Bounded> = constants
        .iter()
        .zip(bounds)
        .map(|(constant, bound)| Bounded {
            // What a lender sustains of its peak may be far from what this one does.
            low: bound.low.min(*constant) - 2.0,
            start: *constant,
            high: bound.high.max(*constant) + 2.0,
        })
        .collect();
    let solution = minimise(&wide, &[], 12, |parameters| {
        let times = log_ns(parameters);
        let mut residuals: Vec<f64> =
            times.iter().zip(rows).map(|(time, row)| time - row.log_ns).collect();
        for (index, (value, shared)) in parameters.iter().zip(constants).enumerate() {
            let pull = if index < rates { PULL_OF_RATES } else { PULL };
            residuals.push(pull * (value - shared));
        }
        residuals
    });
    solution.parameters
}

/// Constants with their scale added: `rates[i]` is what the i-th is a share of.
pub(super) fn scaled(shared: &[f64], rates: &[f64]) -> Vec<f64> {
    shared.iter().zip(rates).map(|(share, rate)| share + ln(*rate)).collect()
}

/// The p-norm of two times.
pub(super) fn joined(a: f64, b: f64, exponent: f64) -> f64 {
    let larger = a.max(b);
    if larger <= 0.0 {
        return 0.0;
    }
    let p = exponent;
    let power = |value: f64| pow(value / larger, p);
    larger * pow(power(a) + power(b), 1.0 / p)
}
