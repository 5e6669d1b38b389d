//! Scatter gradients and update rows, exactly: all gradients of a row are summed before its one
//! update, as fused optimizers on GPUs do it.
//!
//! From indices to updated tables, all of it timed: lookups become keys, keys are sorted by row
//! (one table per thread), and runs of equal rows are applied. Threads own ranges of rows, and
//! gradients of a row are added in the order of the bags, so the result is the same to the bit
//! for any number of threads.

use std::collections::HashMap;

use kernelgauge_data::{EmbeddingPoint, Failure, Optimizer};
use rayon::prelude::*;

use super::super::compare::{Deviation, sample, sum_error};
use super::super::operand::{Carver, Operand};
use super::super::real::Real;
use super::super::threads::Threads;
use super::super::workload::Kernel;
use super::update::{Part, RATE, ROOT_FLOOR, Update};
use super::{Bags, Lengths, sort};

/// Rows whose update is verified.
const COMPARED_ROWS: usize = 256;

/// A backward pass with its operands.
#[derive(Debug)]
pub struct BackwardKernel<'arena, T> {
    rows: usize,
    dim: usize,
    batch: usize,
    optimizer: Optimizer,
    weights: Operand<'arena, T>,
    gradients: Operand<'arena, T>,
    bags: Bags<'arena>,
    squares: Operand<'arena, T>,
    keys: Operand<'arena, u64>,
    scratch: Operand<'arena, u64>,
    before: HashMap<usize, RowBefore>,
    seed: u64,
}

/// A row before the update, for verification.
#[derive(Debug)]
struct RowBefore {
    weights: Vec<f64>,
    square: f64,
}

impl<'arena, T: Real> BackwardKernel<'arena, T> {
    /// Operands of `point`, random from `seed`.
    ///
    /// # Errors
    /// When they do not fit.
    pub fn new(
        point: &EmbeddingPoint,
        seed: u64,
        carver: &mut Carver<'arena>,
        threads: &Threads,
    ) -> Result<Self, Failure> {
        let lengths = Lengths::checked(point)?;
        Ok(BackwardKernel {
            rows: point.rows as usize,
            dim: point.dim as usize,
            batch: point.batch as usize,
            optimizer: point.optimizer,
            weights: carver.random(lengths.weights, 1, (seed, 0))?,
            gradients: carver.random(lengths.bags, 1, (seed, 1))?,
            bags: Bags::new(point, &lengths, seed, carver, threads)?,
            squares: carver.blank(lengths.squares, 1)?,
            keys: carver.blank(lengths.keys, 1)?,
            scratch: carver.blank(lengths.keys, 1)?,
            before: HashMap::new(),
            seed,
        })
    }

    /// Writes one key per lookup and sorts the keys of each table.
    fn sort_lookups(&mut self, split: bool, threads: &Threads) {
        let BackwardKernel { rows, batch, bags, keys, scratch, .. } = self;
        let (rows, batch, bags) = (*rows, *batch, &*bags);
        let (keys, scratch) = (keys.slot_mut(0), scratch.slot_mut(0));
        let per_table = bags.rows(0).len() * batch;
        let sort_table = |table: usize, keys: &mut [u64], scratch: &mut [u64]| {
            let first_row = table * rows;
            let mut slots = keys.iter_mut();
            for bag in table * batch..(table + 1) * batch {
                for (index, slot) in bags.rows(bag).iter().zip(&mut slots) {
                    *slot = sort::key((first_row + *index as usize) as u32, bag as u32);
                }
            }
            sort::by_row(keys, scratch, first_row, rows);
        };
        if split && threads.count() > 1 {
            keys.par_chunks_mut(per_table)
                .zip(scratch.par_chunks_mut(per_table))
                .enumerate()
                .for_each(|(table, (keys, scratch))| sort_table(table, keys, scratch));
        } else {
            let tables = keys.chunks_mut(per_table).zip(scratch.chunks_mut(per_table));
            for (table, (keys, scratch)) in tables.enumerate() {
                sort_table(table, keys, scratch);
            }
        }
    }

    /// The gradient of each remembered row, from all bags.
    fn expected_gradients(&self) -> HashMap<usize, Gradient> {
        let mut gradients: HashMap<usize, Gradient> =
            self.before.keys().map(|row| (*row, Gradient::zero(self.dim))).collect();
        for (bag, values) in self.gradients.slot(0).chunks_exact(self.dim).enumerate() {
            for index in self.bags.rows(bag) {
                let row = bag / self.batch * self.rows + *index as usize;
                if let Some(gradient) = gradients.get_mut(&row) {
                    gradient.add(values);
                }
            }
        }
        gradients
    }

    /// Compares one row, and its running square, with the plain update.
    fn compare_row(&self, row: usize, gradient: &Gradient, deviation: &mut Deviation) {
        let before = &self.before[&row];
        let square = before.square + gradient.mean_square();
        let square_error = gradient.mean_square_error::<T>() + 4.0 * T::EPSILON * square;
        let (scale, scale_error) = match self.optimizer {
            Optimizer::Sgd => (RATE, 0.0),
            Optimizer::RowWiseAdagrad => {
                let scale = RATE / (square.sqrt() + ROOT_FLOOR);
                (scale, scale * (square_error / square.max(f64::MIN_POSITIVE)))
            }
        };
        if let Some(found) = self.squares.slot(0).get(row) {
            deviation.check(found.wide(), square, square_error, || {
                format!("running square of row {row}")
            });
        }
        let found = &self.weights.slot(0)[row * self.dim..][..self.dim];
        for (element, found) in found.iter().enumerate() {
            let (old, x) = (before.weights[element], gradient.sums[element]);
            let expected = old - scale * x;
            // A row that nothing looks up must be what it was.
            let rounding = if gradient.lookups > 0.0 { T::EPSILON } else { 0.0 };
            let tolerance = rounding * (old.abs() + expected.abs() + 2.0 * (scale * x).abs())
                + scale * gradient.error::<T>(element)
                + scale_error * x.abs();
            deviation.check(found.wide(), expected, tolerance, || {
                format!("row {row}, element {element}")
            });
        }
    }
}

/// The plain gradient of a row, and how far a sum in the type measured may be from it.
#[derive(Debug)]
struct Gradient {
    lookups: f64,
    sums: Vec<f64>,
    sizes: Vec<f64>,
}

impl Gradient {
    fn zero(dim: usize) -> Self {
        Gradient { lookups: 0.0, sums: vec![0.0; dim], sizes: vec![0.0; dim] }
    }

    fn add<T: Real>(&mut self, values: &[T]) {
        self.lookups += 1.0;
        for ((sum, size), x) in self.sums.iter_mut().zip(&mut self.sizes).zip(values) {
            *sum += x.wide();
            *size += x.wide().abs();
        }
    }

    fn error<T: Real>(&self, element: usize) -> f64 {
        sum_error::<T>(self.lookups, self.sizes[element])
    }

    fn mean_square(&self) -> f64 {
        self.sums.iter().map(|x| x * x).sum::<f64>() / self.sums.len() as f64
    }

    /// `(x + d)^2 - x^2` at most, on average, and the error of that average itself.
    fn mean_square_error<T: Real>(&self) -> f64 {
        let dim = self.sums.len() as f64;
        let carried = self.sums.iter().enumerate().map(|(element, x)| {
            let error = self.error::<T>(element);
            (2.0 * x.abs() + error) * error
        });
        carried.sum::<f64>() / dim + sum_error::<T>(dim + 4.0, self.mean_square())
    }
}

#[cfg(test)]
impl<T: Real> BackwardKernel<'_, T> {
    /// The tables.
    pub fn result(&self) -> &[T] {
        self.weights.slot(0)
    }

    /// The tables, to spoil.
    pub fn result_mut(&mut self) -> &mut [T] {
        self.weights.slot_mut(0)
    }
}

impl<T: Real> Kernel for BackwardKernel<'_, T> {
    fn name(&self) -> &'static str {
        "host"
    }

    fn execute(&mut self, _slot: usize, threads: &Threads) {
        let lookups = self.keys.slot(0).len();
        if lookups == 0 {
            return;
        }
        let split = threads.worth(2 * lookups * self.dim * size_of::<T>());
        self.sort_lookups(split, threads);
        let update = Update {
            dim: self.dim,
            gradients: self.gradients.slot(0),
            adagrad: self.optimizer == Optimizer::RowWiseAdagrad,
            threads,
        };
        let part = Part {
            keys: self.keys.slot(0),
            first_row: 0,
            weights: self.weights.slot_mut(0),
            squares: self.squares.slot_mut(0),
        };
        update.apply(part, if split { threads.piece_count() } else { 1 });
    }

    fn remember(&mut self) {
        let (weights, squares) = (self.weights.slot(0), self.squares.slot(0));
        let lookups = self.bags.indices.slot(0);
        let per_table = (lookups.len() / (weights.len() / (self.rows * self.dim))).max(1);
        let looked_up = sample(lookups.len(), COMPARED_ROWS, self.seed)
            .into_iter()
            .map(|lookup| lookup / per_table * self.rows + lookups[lookup] as usize);
        // Among rows at random there are some that nothing looks up: they must not change.
        let any = sample(weights.len() / self.dim, COMPARED_ROWS, self.seed);
        self.before = looked_up
            .chain(any)
            .map(|row| {
                let weights = weights[row * self.dim..][..self.dim].iter();
                let square = squares.get(row).map_or(0.0, |square| square.wide());
                (row, RowBefore { weights: weights.map(|x| x.wide()).collect(), square })
            })
            .collect();
    }

    fn compare(&self) -> Result<(), Failure> {
        let mut deviation = Deviation::default();
        for (row, gradient) in &self.expected_gradients() {
            self.compare_row(*row, gradient, &mut deviation);
        }
        deviation.verdict()
    }
}
