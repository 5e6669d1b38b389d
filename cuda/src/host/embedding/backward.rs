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

use super::super::compare::{Deviation, sample};
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
            squares: carver.zeroed(lengths.squares, 1)?,
            keys: carver.zeroed(lengths.keys, 1)?,
            scratch: carver.zeroed(lengths.keys, 1)?,
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

    /// For each remembered row, how many lookups it has and the sum of their gradients.
    fn expected_gradients(&self) -> HashMap<usize, (f64, Vec<f64>)> {
        let mut sums: HashMap<usize, (f64, Vec<f64>)> =
            self.before.keys().map(|row| (*row, (0.0, vec![0.0; self.dim]))).collect();
        for (bag, gradient) in self.gradients.slot(0).chunks_exact(self.dim).enumerate() {
            for index in self.bags.rows(bag) {
                let row = bag / self.batch * self.rows + *index as usize;
                if let Some((lookups, sum)) = sums.get_mut(&row) {
                    *lookups += 1.0;
                    sum.iter_mut().zip(gradient).for_each(|(sum, x)| *sum += x.wide());
                }
            }
        }
        sums
    }

    /// Compares one row with its plain update. A sum of `lookups` gradients below 1 may be off
    /// by as many epsilon; the new weight by the rounding of the difference.
    fn compare_row(
        &self,
        row: usize,
        (lookups, gradient): &(f64, Vec<f64>),
        deviation: &mut Deviation,
    ) {
        let before = &self.before[&row];
        let mean_square = gradient.iter().map(|x| x * x).sum::<f64>() / self.dim as f64;
        let square = before.square + mean_square;
        let scale = match self.optimizer {
            Optimizer::Sgd => RATE,
            Optimizer::RowWiseAdagrad => RATE / (square.sqrt() + ROOT_FLOOR),
        };
        let slack = T::EPSILON * (lookups + 64.0);
        if let Some(found) = self.squares.slot(0).get(row) {
            deviation.check(found.wide(), square, slack * square, || {
                format!("running square of row {row}")
            });
        }
        let found = &self.weights.slot(0)[row * self.dim..][..self.dim];
        for (element, (x, found)) in gradient.iter().zip(found).enumerate() {
            let old = before.weights[element];
            let expected = old - scale * x;
            let rounding = T::EPSILON * (old.abs() + expected.abs());
            // A row that nothing looks up must be what it was.
            let moved = if *lookups > 0.0 { 1.0 } else { 0.0 };
            let tolerance = moved * (rounding + scale * slack * (1.0 + x.abs()));
            deviation.check(found.wide(), expected, tolerance, || {
                format!("row {row}, element {element}")
            });
        }
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
