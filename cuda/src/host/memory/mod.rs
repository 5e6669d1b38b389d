//! Memory-bound ops on a matrix: operands, dispatch and verification.
//!
//! The loops are in `elementwise`, `rows` and `rearrange`; what they must yield is in
//! `reference`. Ops whose rows depend on their own elements only (sum, softmax, layer
//! normalisation) are parallel over rows, and so use one thread for a single row; everything
//! else is parallel over elements.

mod elementwise;
mod rearrange;
mod reference;
mod rows;

use kernelgauge_data::{Failure, MemoryOp, MemoryPoint};

use super::operand::{Carver, Operand};
use super::real::Real;
use super::threads::Threads;
use super::workload::Kernel;

/// The factor of [`MemoryOp::Scale`] and the value of [`MemoryOp::Fill`].
const CONSTANT: f64 = 1.5;
/// What keeps the variance of [`MemoryOp::LayerNorm`] from zero (PyTorch's default).
const VARIANCE_FLOOR: f64 = 1e-5;

/// Elements of the two inputs and the result; none on overflow. The second input of layer
/// normalisation holds its weights, then its biases.
pub fn lengths(point: &MemoryPoint) -> Option<[u64; 3]> {
    let matrix = point.rows.checked_mul(point.columns)?;
    Some(match point.op {
        MemoryOp::Add => [matrix; 3],
        MemoryOp::Fill => [0, 0, matrix],
        MemoryOp::Sum => [matrix, 0, point.rows],
        MemoryOp::LayerNorm => [matrix, point.columns.checked_mul(2)?, matrix],
        MemoryOp::Concat => [matrix / 2, matrix / 2, matrix],
        MemoryOp::Scale
        | MemoryOp::Relu
        | MemoryOp::Sigmoid
        | MemoryOp::Gelu
        | MemoryOp::Softmax
        | MemoryOp::Transpose => [matrix, 0, matrix],
    })
}

/// A memory-bound op with its operands.
#[derive(Debug)]
pub struct MemoryKernel<'arena, T> {
    op: MemoryOp,
    rows: usize,
    columns: usize,
    first: Operand<'arena, T>,
    second: Operand<'arena, T>,
    result: Operand<'arena, T>,
    seed: u64,
}

impl<'arena, T: Real> MemoryKernel<'arena, T> {
    /// `slots` copies of the operands of `point`, random from `seed`.
    ///
    /// # Errors
    /// When they do not fit.
    pub fn new(
        point: &MemoryPoint,
        slots: usize,
        seed: u64,
        carver: &mut Carver<'arena>,
    ) -> Result<Self, Failure> {
        let [first, second, result] =
            lengths(point).ok_or_else(|| Failure::Device("operands overflow".to_owned()))?;
        Ok(MemoryKernel {
            op: point.op,
            rows: point.rows as usize,
            columns: point.columns as usize,
            first: carver.random(first, slots, (seed, 0))?,
            second: carver.random(second, slots, (seed, 1))?,
            result: carver.blank(result, slots)?,
            seed,
        })
    }
}

impl<T: Real> Kernel for MemoryKernel<'_, T> {
    fn name(&self) -> &'static str {
        "host"
    }

    fn execute(&mut self, slot: usize, threads: &Threads) {
        let (a, b) = (self.first.slot(slot), self.second.slot(slot));
        let out = self.result.slot_mut(slot);
        let (rows, columns) = (self.rows, self.columns);
        match self.op {
            MemoryOp::Add => elementwise::add(a, b, out, threads),
            MemoryOp::Scale => elementwise::scale(a, T::of(CONSTANT), out, threads),
            MemoryOp::Relu => elementwise::relu(a, out, threads),
            MemoryOp::Sigmoid => elementwise::sigmoid(a, out, threads),
            MemoryOp::Gelu => elementwise::gelu(a, out, threads),
            MemoryOp::Fill => elementwise::fill(T::of(CONSTANT), out, threads),
            MemoryOp::Sum => rows::sum(a, columns, out, threads),
            MemoryOp::Softmax => rows::softmax(a, columns, out, threads),
            MemoryOp::LayerNorm => {
                let (weights, biases) = b.split_at(columns);
                let floor = T::of(VARIANCE_FLOOR);
                rows::layer_norm(a, [weights, biases], floor, columns, out, threads);
            }
            MemoryOp::Transpose => rearrange::transpose(a, rows, columns, out, threads),
            MemoryOp::Concat => rearrange::concat(a, b, columns / 2, out, threads),
        }
    }

    fn compare(&self) -> Result<(), Failure> {
        reference::Reference {
            op: self.op,
            rows: self.rows,
            columns: self.columns,
            first: self.first.slot(0),
            second: self.second.slot(0),
        }
        .compare(self.result.slot(0), self.seed)
    }
}

#[cfg(test)]
mod tests;
