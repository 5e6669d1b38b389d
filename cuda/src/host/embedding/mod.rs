//! Embedding bags over several equal tables: index laws, forward, backward with update.
//!
//! Weights are `tables x rows x dim`, results and gradients `tables x batch x dim`, indices
//! 64-bit with one offset per bag. All positions are computed in 64 bits, so a table may be
//! larger than 2^31 elements.

pub mod backward;
pub mod forward;
pub(crate) mod indices;
pub(crate) mod reference;
mod reuse;
mod sort;
pub(crate) mod update;
mod zipf;

use kernelgauge_data::{Direction, EmbeddingPoint, Failure, Optimizer};

use super::operand::{Carver, Operand};
use super::threads::Threads;

/// Elements of each operand of a point.
#[derive(Debug, Clone, Copy)]
pub struct Lengths {
    /// The tables.
    pub weights: u64,
    /// Results, or gradients of the results.
    pub bags: u64,
    /// Indices, 8 bytes each.
    pub indices: u64,
    /// Offsets, 8 bytes each.
    pub offsets: u64,
    /// Running squares of row-wise adagrad.
    pub squares: u64,
    /// Keys to sort, 8 bytes each, twice.
    pub keys: u64,
}

/// Whether a pass leaves the gradient of the whole table instead of updated rows, for which no
/// device has a kernel.
pub fn writes_a_gradient(point: &EmbeddingPoint) -> bool {
    point.direction == Direction::Backward && point.optimizer == Optimizer::Dense
}

impl Lengths {
    /// Of `point`; none on overflow.
    pub fn of(point: &EmbeddingPoint) -> Option<Self> {
        let bags = point.tables.checked_mul(point.batch)?;
        let rows = point.tables.checked_mul(point.rows)?;
        let indices = bags.checked_mul(point.pooling)?;
        let backward = point.direction == Direction::Backward;
        let adagrad = backward && point.optimizer == Optimizer::RowWiseAdagrad;
        Some(Lengths {
            weights: rows.checked_mul(point.dim)?,
            bags: bags.checked_mul(point.dim)?,
            indices,
            offsets: bags.checked_add(1)?,
            squares: if adagrad { rows } else { 0 },
            keys: if backward { indices } else { 0 },
        })
    }

    /// Bytes of each operand, in the order they are cut.
    pub fn bytes(&self, size: u64) -> Option<Vec<u64>> {
        [
            (self.weights, size),
            (self.bags, size),
            (self.indices, 8),
            (self.offsets, 8),
            (self.squares, size),
            (self.keys, 8),
            (self.keys, 8),
        ]
        .into_iter()
        .map(|(elements, size)| elements.checked_mul(size))
        .collect()
    }

    fn checked(point: &EmbeddingPoint) -> Result<Self, Failure> {
        Lengths::of(point).ok_or_else(|| Failure::Device("operands overflow".to_owned()))
    }
}

/// The rows each bag looks up.
#[derive(Debug)]
struct Bags<'arena> {
    indices: Operand<'arena, i64>,
    offsets: Operand<'arena, i64>,
}

impl<'arena> Bags<'arena> {
    fn new(
        point: &EmbeddingPoint,
        lengths: &Lengths,
        seed: u64,
        carver: &mut Carver<'arena>,
        threads: &Threads,
    ) -> Result<Self, Failure> {
        let mut indices = carver.blank(lengths.indices, 1)?;
        let mut offsets = carver.blank(lengths.offsets, 1)?;
        threads.run(|| {
            indices::fill(point, seed, indices.slot_mut(0), offsets.slot_mut(0));
        });
        Ok(Bags { indices, offsets })
    }

    /// What a reference needs to know.
    fn lookups(&self, rows: usize, dim: usize, batch: usize) -> reference::Lookups<'_> {
        let (indices, offsets) = (self.indices.slot(0), self.offsets.slot(0));
        reference::Lookups { rows, dim, batch, indices, offsets }
    }

    /// The rows that bag `bag` looks up.
    #[inline(always)]
    fn rows(&self, bag: usize) -> &[i64] {
        let offsets = self.offsets.slot(0);
        &self.indices.slot(0)[offsets[bag] as usize..offsets[bag + 1] as usize]
    }
}

#[cfg(test)]
mod tests;
