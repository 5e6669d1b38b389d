//! Gather and pool: each bag is the sum of the rows it looks up.

use kernelgauge_data::{EmbeddingPoint, Failure};

use super::super::compare::{Deviation, MOST_COMPARED, Precision, sample};
use super::super::operand::{Carver, Operand};
use super::super::real::Real;
use super::super::threads::Threads;
use super::super::workload::Kernel;
use super::{Bags, Lengths};

/// A forward pass with its operands.
#[derive(Debug)]
pub struct ForwardKernel<'arena, T> {
    rows: usize,
    dim: usize,
    batch: usize,
    weights: Operand<'arena, T>,
    out: Operand<'arena, T>,
    bags: Bags<'arena>,
    seed: u64,
}

impl<'arena, T: Real> ForwardKernel<'arena, T> {
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
        Ok(ForwardKernel {
            rows: point.rows as usize,
            dim: point.dim as usize,
            batch: point.batch as usize,
            weights: carver.random(lengths.weights, 1, (seed, 0))?,
            out: carver.blank(lengths.bags, 1)?,
            bags: Bags::new(point, &lengths, seed, carver, threads)?,
            seed,
        })
    }
}

#[cfg(test)]
impl<T: Real> ForwardKernel<'_, T> {
    /// The pooled rows.
    pub fn result(&self) -> &[T] {
        self.out.slot(0)
    }

    /// The pooled rows, to spoil.
    pub fn result_mut(&mut self) -> &mut [T] {
        self.out.slot_mut(0)
    }
}

impl<T: Real> Kernel for ForwardKernel<'_, T> {
    fn name(&self) -> &'static str {
        "host"
    }

    fn execute(&mut self, _slot: usize, threads: &Threads) {
        let ForwardKernel { dim, rows, batch, weights, bags, out, .. } = self;
        let (dim, table_size) = (*dim, *rows * *dim);
        let weights = weights.slot(0);
        let traffic = size_of_val(bags.indices.slot(0)) * (1 + dim * size_of::<T>() / 8);
        let split = threads.worth(traffic);
        threads.pieces(out.slot_mut(0), dim, split, |first, piece| {
            threads.vectorise(
                #[inline(always)]
                || {
                    for (bag, out) in (first..).zip(piece.chunks_exact_mut(dim)) {
                        let table = &weights[bag / *batch * table_size..][..table_size];
                        pool(table, bags.rows(bag), out);
                    }
                },
            );
        });
    }

    fn compare(&self) -> Result<(), Failure> {
        let mut deviation = Deviation::default();
        let lookups = self.bags.lookups(self.rows, self.dim, self.batch);
        let bags = lookups.bags();
        let pooling = (lookups.indices.len() / bags).max(1);
        for bag in sample(bags, (MOST_COMPARED / (pooling * self.dim)).max(2), self.seed) {
            let found: Vec<f64> =
                self.out.slot(0)[bag * self.dim..][..self.dim].iter().map(|x| x.wide()).collect();
            let (weights, precision) = (self.weights.slot(0), Precision::of::<T>());
            lookups.check_bag(&weights, bag, &found, precision, &mut deviation);
        }
        deviation.verdict()
    }
}

/// `out` = the sum of the `rows` of `table`.
#[inline(always)]
fn pool<T: Real>(table: &[T], rows: &[i64], out: &mut [T]) {
    let dim = out.len();
    out.fill(T::ZERO);
    for row in rows {
        let row = &table[*row as usize * dim..][..dim];
        for (sum, x) in out.iter_mut().zip(row) {
            *sum += *x;
        }
    }
}
