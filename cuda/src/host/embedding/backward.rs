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

use super::super::compare::{Deviation, Precision};
use super::super::operand::{Carver, Operand};
use super::super::real::Real;
use super::super::threads::Threads;
use super::super::workload::Kernel;
use super::reference::Row;
use super::update::{Part, Update};
use super::{Bags, Lengths, sort};

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
    before: HashMap<usize, Row>,
    seed: u64,
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

    /// Row number `row` of all tables as it is now.
    fn row(&self, row: usize) -> Row {
        let weights = self.weights.slot(0)[row * self.dim..][..self.dim].iter();
        let square = self.squares.slot(0).get(row).map(|square| square.wide());
        Row { weights: weights.map(|x| x.wide()).collect(), square }
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
        let tables = self.weights.slot(0).len() / (self.rows * self.dim);
        let lookups = self.bags.lookups(self.rows, self.dim, self.batch);
        let rows = lookups.chosen_rows(tables, self.seed);
        self.before = rows.into_iter().map(|row| (row, self.row(row))).collect();
    }

    fn compare(&self) -> Result<(), Failure> {
        let mut deviation = Deviation::default();
        let lookups = self.bags.lookups(self.rows, self.dim, self.batch);
        let gradients = lookups.gradients(self.before.keys(), &self.gradients.slot(0));
        for (row, gradient) in &gradients {
            let rows = [&self.before[row], &self.row(*row)];
            let precision = Precision::of::<T>();
            gradient.check_row(*row, rows, self.optimizer, precision, &mut deviation);
        }
        deviation.verdict()
    }
}
