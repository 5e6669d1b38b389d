//! A GEMM term whose constants several machines share.

use kernelgauge_data::Point;

use super::candidates::{Shape, TILES, ceil};
use super::{GemmTerm, QUANTISED_UNITS};
use crate::borrow::Figures;
use crate::least_squares::Bounded;
use crate::math::{ln, log2};
use crate::rows::Row;
use crate::terms::pooled::{self, Constants, moved, sampled, search};
use crate::terms::shared::Party;

/// Constants but the launch, in the order of [`GemmTerm::of`]: the rates as shares of what the
/// machine sustains, the cache's of what the memory does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SharedGemm {
    constants: Constants,
    form: Form,
}

/// What of a term is no constant.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Form {
    sharpness: u32,
    /// Some libraries take one kernel for all products of a kind.
    only: Option<usize>,
}

/// Bounds of the shared constants; starts and ranges as for one machine.
fn bounds() -> [Bounded; 7] {
    [
        Bounded::log(0.5, 1.0, 1.6),
        Bounded::log(0.3, 1.0, 1.5),
        Bounded::log(1.0, 3.0, 30.0),
        Bounded::log(1e-3, 150.0, 5e3),
        Bounded::log(1.0, 1000.0, 2e4),
        Bounded::log(1e-2, 0.6, 4.0),
        Bounded::log(1e-3, 0.3, 30.0),
    ]
}

/// What the constants are shares of.
fn scales(figures: &Figures) -> [f64; 7] {
    let memory = figures.memory_bytes_per_ns;
    [figures.flops_per_ns, memory, memory, 1.0, 1.0, 1.0, 1.0]
}

fn term(figures: &Figures, form: Form, shared: &[f64], launch: f64) -> GemmTerm {
    let mut parameters = vec![launch];
    parameters.extend(pooled::scaled(shared, &scales(figures)));
    let term = GemmTerm::of(figures.units, form.sharpness, &parameters);
    GemmTerm { only: form.only, ..term }
}

fn log_times(term: &GemmTerm, shapes: &[Shape]) -> Vec<f64> {
    let log_ns = |shape: &Shape| {
        let all = term.candidates(shape);
        ln(term.launch_ns + all.total_ns[all.best])
    };
    shapes.iter().map(log_ns).collect()
}

/// The rows that are products, and their shapes.
fn shaped<'rows, 'data>(rows: &'rows [Row<'data>]) -> (Vec<&'rows Row<'data>>, Vec<Shape>) {
    sampled(rows)
        .into_iter()
        .filter_map(|row| match row.point {
            Point::Gemm(point) => Some((row, Shape::of(point))),
            _ => None,
        })
        .unzip()
}

/// Fits the constants of `parties`. Three sharpnesses are tried, then each tile as the only one,
/// which has to halve the loss; the best is finished.
pub(in crate::terms) fn shared(parties: &[Party<'_, '_>]) -> SharedGemm {
    let (rows, shapes): (Vec<_>, Vec<_>) = parties.iter().map(|party| shaped(party.rows)).unzip();
    let searched = |form: Form, start: Option<&Constants>, iterations: usize| {
        search(&bounds(), &rows, iterations, start, |party, constants, launch| {
            let term = term(&parties[party].figures, form, constants, launch);
            log_times(&term, &shapes[party])
        })
    };
    let tried = |form: Form| (form, searched(form, None, 8));
    let better =
        |a: (Form, Constants), b: (Form, Constants)| if b.1.loss < a.1.loss { b } else { a };
    let free = |sharpness| tried(Form { sharpness, only: None });
    let free = [2, 3].into_iter().fold(free(1), |best, sharpness| better(best, free(sharpness)));
    let quantised = parties.iter().all(|party| party.figures.units >= QUANTISED_UNITS);
    let whole = TILES.iter().enumerate().filter(|(_, tile)| quantised && tile.split == 0);
    let alone = whole.map(|(only, _)| tried(Form { only: Some(only), ..free.0 })).reduce(better);
    let best = match alone {
        Some(alone) if alone.1.loss < free.1.loss / 2.0 => alone,
        _ => free,
    };
    SharedGemm { constants: searched(best.0, Some(&best.1), 16), form: best.0 }
}

impl SharedGemm {
    /// The term of a machine with these figures; with a launch of its own where it is a party.
    pub(in crate::terms) fn of(&self, figures: &Figures, party: Option<usize>) -> GemmTerm {
        term(figures, self.form, &self.constants.shared, self.constants.launch(party))
    }

    /// The term of a machine whose own rows move the constants as far as they tell.
    pub(in crate::terms) fn adapted(&self, figures: &Figures, rows: &[Row<'_>]) -> GemmTerm {
        let (rows, shapes) = shaped(rows);
        let mut constants = self.constants.shared.clone();
        let launch = pooled::launch_bounds(&rows);
        constants.push(self.constants.launch(None).min(launch.high));
        let mut all = bounds().to_vec();
        all.push(launch);
        let found = moved(&constants, &all, 2, &rows, |parameters| {
            let (launch, shared) = parameters.split_last().unwrap_or((&0.0, &[]));
            log_times(&term(figures, self.form, shared, *launch), &shapes)
        });
        let (launch, shared) = found.split_last().unwrap_or((&0.0, &[]));
        term(figures, self.form, shared, *launch)
    }
}

impl GemmTerm {
    /// Smooth coordinates of a product: sizes, how full waves of several tiles are, and where
    /// the term lies over the roofline.
    pub(in crate::terms) fn coordinates(&self, point: &Point) -> Vec<f64> {
        let Point::Gemm(gemm) = point else { return Vec::new() };
        let shape = Shape::of(gemm);
        let all = self.candidates(&shape);
        let total = self.launch_ns + all.total_ns[all.best];
        let memory = shape.bytes * self.prepared.memory_ns_per_byte;
        let roofline = (shape.flops / self.flops_per_ns).max(memory);
        let waves = |rows, columns| shape.tiles_over(rows, columns) * self.prepared.per_unit;
        let full = |waves: f64| waves / ceil(waves);
        let sizes = [gemm.batch, gemm.m, gemm.n, gemm.k].map(|size| log2(size as f64));
        let mut coordinates = sizes.to_vec();
        coordinates.extend([(6, 6), (7, 6), (7, 7), (7, 8)].map(|(r, c)| full(waves(r, c))));
        coordinates.push(log2(ceil(waves(7, 7))));
        coordinates.push(full(all.tiles[all.best] * self.prepared.per_unit));
        coordinates.push(log2(shape.flops / shape.bytes));
        coordinates.push(ln(total));
        coordinates.push(ln(total / roofline));
        coordinates
    }
}
