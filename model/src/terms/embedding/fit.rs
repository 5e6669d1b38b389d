//! Fitting the constants of an embedding bag, around what the machine's maker states.

use kernelgauge_data::{CacheState, Direction, EmbeddingPoint, Machine, Optimizer, Point};

use super::EmbeddingTerm;
use super::traffic::UNSORTED;
use crate::least_squares::{Bounded, minimise};
use crate::math::ln;
use crate::rows::Row;
use crate::terms::thinned;

/// Rows that the constants beside launch and bandwidth are fitted to at the least.
const ENOUGH: usize = 12;

/// The logarithm of a cost that the rows say nothing about: nothing.
const NOTHING: f64 = -60.0;

/// A pass with its distinct rows.
type Timed<'rows> = (&'rows EmbeddingPoint, f64, &'rows Row<'rows>);

/// Fits the term: from a bandwidth-bound, a cache-bound and an instruction-bound start.
pub(in crate::terms) fn fit(
    rows: &[Row<'_>],
    machine: &Machine,
    cache: CacheState,
) -> EmbeddingTerm {
    let timed: Vec<Timed<'_>> = thinned(rows, 1500)
        .into_iter()
        .filter_map(|row| match row.point {
            Point::Embedding(point) => Some((point, point.distinct_rows(), row)),
            _ => None,
        })
        .collect();
    let cold = cache == CacheState::Cold;
    let bounds = bounds(&timed, machine);
    let mut by_lookup: Vec<f64> = bounds.iter().map(|bound| bound.start).collect();
    by_lookup[4] = ln(2.0);
    by_lookup[1] += 1.0;
    let mut by_element = by_lookup.clone();
    by_element[4] = ln(1e-3);
    by_element[5] = ln(0.01);
    by_element[6] = ln(0.01);
    let solution = minimise(&bounds, &[by_lookup, by_element], 60, |parameters| {
        let term = EmbeddingTerm::of(cold, parameters);
        timed
            .iter()
            .map(|(point, distinct, row)| {
                ln(term.total_ns(&term.traffic(point, *distinct))) - row.log_ns
            })
            .collect()
    });
    EmbeddingTerm::of(cold, &solution.parameters)
}

/// Bounds in the order of [`EmbeddingTerm::of`]. What the rows cannot tell is fixed where it
/// does nothing.
fn bounds(timed: &[Timed<'_>], machine: &Machine) -> [Bounded; 9] {
    let fastest = timed.iter().map(|(_, _, row)| row.time.as_f64()).fold(f64::INFINITY, f64::min);
    let rate = timed
        .iter()
        .map(|(_, _, row)| row.point.work().bytes() / row.time.as_f64())
        .fold(1e-9, f64::max);
    let capacity = machine.hardware.cache_bytes.map_or(8e6, |bytes| bytes as f64).max(1.0);
    let enough = timed.len() >= ENOUGH;
    let fit_if = |fit: bool, bounded: Bounded, otherwise: f64| {
        if fit && enough { bounded } else { Bounded::fixed(otherwise) }
    };
    let any = |of: fn(&EmbeddingPoint) -> bool| timed.iter().any(|(point, _, _)| of(point));
    let backward = any(|point| point.direction == Direction::Backward);
    let dense = backward && any(|point| point.optimizer == Optimizer::Dense);
    let unsorted = dense && any(|point| point.lookups() <= UNSORTED);
    [
        Bounded::log((fastest / 100.0).max(1e-3), fastest / 2.0, fastest),
        Bounded::log(rate / 50.0, rate * 1.2, rate * 20.0),
        fit_if(true, Bounded::log(0.01, 0.3, 1.0), 0.0),
        fit_if(true, Bounded::log(capacity / 64.0, capacity, capacity * 8.0), ln(capacity)),
        fit_if(true, Bounded::log(1e-6, 0.1, 1e3), NOTHING),
        fit_if(true, Bounded::log(1e-9, 1e-4, 1.0), NOTHING),
        fit_if(backward, Bounded::log(1e-9, 1e-4, 1.0), NOTHING),
        fit_if(dense, Bounded::log(0.1 / rate.max(1.0), 1.0 / rate, 100.0 / rate), -ln(rate)),
        fit_if(unsorted, Bounded::log(1.0, fastest, fastest * 100.0), NOTHING),
    ]
}
