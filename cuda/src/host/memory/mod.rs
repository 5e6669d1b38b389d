//! Memory-bound ops on a matrix: operands, dispatch and verification.
//!
//! The loops are in `elementwise`, `rows` and `rearrange`; what they must yield is in
//! `reference`. Ops whose rows depend on their own elements only (sum, softmax, layer
//! normalisation) are parallel over rows, and so use one thread for a single row; everything
//! else is parallel over elements.

mod elementwise;
mod rearrange;
pub(crate) mod reference;
mod rows;

use kernelgauge_data::{Failure, MemoryOp, MemoryPoint};

use super::compare::{Deviation, MOST_COMPARED, Precision, sample};
use super::operand::{Carver, Operand};
use super::real::Real;
use super::threads::Threads;
use super::workload::Kernel;

/// The factor of [`MemoryOp::Scale`] and the value of [`MemoryOp::Fill`].
pub(crate) const CONSTANT: f64 = 1.5;
/// What keeps the variance of [`MemoryOp::LayerNorm`] from zero (PyTorch's default).
pub(crate) const VARIANCE_FLOOR: f64 = 1e-5;

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
        let reference = reference::Reference {
            op: self.op,
            rows: self.rows,
            columns: self.columns,
            first: self.first.slot(0),
            second: self.second.slot(0),
            precision: Precision::of::<T>(),
        };
        let (result, unit) = (self.result.slot(0), reference.unit());
        let mut deviation = Deviation::default();
        // Small results are compared whole; of large ones, the first, the last and random units.
        let most = (MOST_COMPARED / reference.cost()).max(2);
        for number in sample(result.len() / unit, most, self.seed) {
            let found: Vec<f64> =
                result[number * unit..][..unit].iter().map(|x| x.wide()).collect();
            reference.check(number, &found, &mut deviation);
        }
        deviation.verdict()
    }
}

#[cfg(test)]
mod tests;
