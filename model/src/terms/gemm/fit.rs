//! Fitting the constants of a GEMM term.

use kernelgauge_data::{Machine, Point};

use super::candidates::Shape;
use super::{GemmTerm, QUANTISED_UNITS};
use crate::least_squares::{Bounded, minimise};
use crate::math::ln;
use crate::rows::Row;
use crate::terms::thinned;

/// Fits the term: three sharpnesses are tried, the best is finished.
pub(in crate::terms) fn fit(rows: &[Row<'_>], machine: &Machine) -> GemmTerm {
    let rows = thinned(rows, 1000);
    let units = machine.hardware.units.unwrap_or(0);
    let bounds = bounds(&rows, machine, units >= QUANTISED_UNITS);
    let shaped: Vec<(Shape, f64)> = rows
        .iter()
        .filter_map(|row| match row.point {
            Point::Gemm(point) => Some((Shape::of(point), row.log_ns)),
            _ => None,
        })
        .collect();
    let searched = |sharpness: u32, start: &[Vec<f64>], iterations: usize| {
        minimise(&bounds, start, iterations, |parameters| {
            let term = GemmTerm::of(units, sharpness, parameters);
            let log_ns = |shape: &Shape| {
                let all = term.candidates(shape);
                ln(term.launch_ns + all.total_ns[all.best])
            };
            shaped.iter().map(|(shape, measured)| log_ns(shape) - measured).collect()
        })
    };
    let tried = [1, 2, 3].map(|sharpness| (sharpness, searched(sharpness, &[], 6)));
    let [first, rest @ ..] = &tried;
    let best = rest.iter().fold(first, |a, b| if b.1.loss < a.1.loss { b } else { a });
    let solution = searched(best.0, std::slice::from_ref(&best.1.parameters), 16);
    GemmTerm::of(units, best.0, &solution.parameters)
}

/// Bounds in the order of [`GemmTerm::of`]: from published figures where there are any, else
/// from the fastest rows.
fn bounds(rows: &[&Row<'_>], machine: &Machine, quantised: bool) -> Vec<Bounded> {
    let fastest = rows.iter().map(|row| row.time.as_f64()).fold(f64::INFINITY, f64::min);
    let seen = |work: fn(&Point) -> f64| {
        rows.iter().map(|row| work(row.point) / row.time.as_f64()).fold(1e-9, f64::max)
    };
    let flops_seen = seen(|point| point.work().flops);
    let bytes_seen = seen(|point| point.work().bytes());
    let dtype = rows.first().and_then(|row| row.point.dtype());
    let peak = dtype.and_then(|dtype| machine.hardware.peak_tflop_s.get(dtype.name()));
    let flops = peak.map_or(flops_seen * 1.2, |peak| (peak * 1e3).max(flops_seen));
    let bytes = machine.hardware.memory_gb_s.map_or(bytes_seen, |peak| peak.max(bytes_seen / 4.0));
    // Without tiles, operands that stay in the cache move far faster than memory's peak.
    let over_peak = if quantised { 1.5 } else { 8.0 };
    let mut bounds = vec![
        Bounded::log(fastest / 20.0, fastest * 0.6, fastest),
        Bounded::log(flops / 30.0, flops * 0.8, flops * 1.1),
        Bounded::log(bytes / 10.0, bytes * 0.85, bytes * over_peak),
        Bounded::log(bytes, bytes * 3.0, bytes * 30.0),
        Bounded::log(1e-3, if quantised { 150.0 } else { 1.0 }, 5e3),
        Bounded::log(1.0, 1000.0, 2e4),
        Bounded::log(1e-2, 0.6, 4.0),
        Bounded::log(1e-3, 0.3, 30.0),
    ];
    for index in unused_constants(quantised, rows.len()) {
        bounds[index] = Bounded::fixed(bounds[index].start);
    }
    bounds
}

/// Constants that this data cannot tell: all about tiles without tiles, and with few rows all
/// but launch, arithmetic and memory.
fn unused_constants(quantised: bool, rows: usize) -> Vec<usize> {
    match (quantised, rows) {
        (_, 0..24) => vec![3, 4, 5, 6, 7],
        (false, _) => vec![3, 5, 6, 7],
        (true, _) => Vec::new(),
    }
}
