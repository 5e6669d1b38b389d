//! Memory-bound ops on a matrix: operands, dispatch and verification.
//!
//! The loops are in `elementwise`, `rows` and `rearrange`; what they must yield is in
//! `reference`. Ops whose rows depend on their own elements only (sum, softmax, layer
//! normalisation and its backward pass) are parallel over rows, and so use one thread for a
//! single row; everything else is parallel over elements.

mod elementwise;
pub(crate) mod philox;
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

/// Share of the elements that [`MemoryOp::Dropout`] makes zero: that of the transformer (Vaswani
/// et al., "Attention is all you need", 2017, section 5.4).
const DROPPED: f64 = 0.1;
/// What elements that are kept are multiplied with, so that their mean stays.
pub(crate) const KEPT_SCALE: f64 = 1.0 / (1.0 - DROPPED);

/// Elements whose random word is below this are dropped.
pub(crate) fn dropout_threshold() -> u32 {
    (DROPPED * 2_f64.powi(32)) as u32
}

/// Elements of the two inputs and the result; none on overflow. The second input of layer
/// normalisation holds its weights, then its biases; that of its backward pass, whose first are
/// gradients, the input of the forward pass and then its weights. The result of a cast is counted
/// in elements of what it reads, like everything else.
pub fn lengths(point: &MemoryPoint) -> Option<[u64; 3]> {
    let matrix = point.rows.checked_mul(point.columns)?;
    Some(match point.op {
        MemoryOp::Add => [matrix; 3],
        MemoryOp::Fill => [0, 0, matrix],
        MemoryOp::Sum => [matrix, 0, point.rows],
        MemoryOp::LayerNorm => [matrix, point.columns.checked_mul(2)?, matrix],
        MemoryOp::Concat => [matrix / 2, matrix / 2, matrix],
        MemoryOp::Cast => {
            let bytes = matrix.checked_mul(MemoryPoint::cast_to(point.dtype).size())?;
            [matrix, 0, bytes.div_ceil(point.dtype.size())]
        }
        MemoryOp::Triangle => [matrix.checked_mul(point.columns)?, 0, point.pairs()],
        MemoryOp::LayerNormBackward => [matrix, matrix.checked_add(point.columns)?, matrix],
        MemoryOp::Dropout
        | MemoryOp::Scale
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
    /// Means of all rows, then their factors, for the op that takes them.
    statistics: Option<Operand<'arena, T>>,
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
        let mut kernel = MemoryKernel {
            op: point.op,
            rows: point.rows as usize,
            columns: point.columns as usize,
            first: carver.random(first, slots, (seed, 0))?,
            second: carver.random(second, slots, (seed, 1))?,
            result: carver.blank(result, slots)?,
            statistics: match point.statistics() {
                (0, _) => None,
                (count, _) => Some(carver.blank(count, slots)?),
            },
            seed,
        };
        (0..slots).for_each(|slot| kernel.find_statistics(slot));
        Ok(kernel)
    }

    /// What a forward pass would have left of copy `slot`.
    fn find_statistics(&mut self, slot: usize) {
        let Some(statistics) = &mut self.statistics else { return };
        let a = &self.second.slot(slot)[..self.rows * self.columns];
        let (means, factors) = statistics.slot_mut(slot).split_at_mut(self.rows);
        rows::statistics(a, self.columns, T::of(VARIANCE_FLOOR), [means, factors]);
    }

    /// The result of a cast, which `result` has the bytes of.
    fn narrow(&self) -> &[T::Narrow] {
        &bytemuck::cast_slice(self.result.slot(0))[..self.rows * self.columns]
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
            MemoryOp::Dropout => {
                let law = (dropout_threshold(), T::of(KEPT_SCALE), self.seed);
                elementwise::dropout(a, law, out, threads);
            }
            MemoryOp::Cast => {
                let out = &mut bytemuck::cast_slice_mut(out)[..a.len()];
                elementwise::cast(a, out, threads);
            }
            MemoryOp::Triangle => rearrange::triangle(a, columns, out, threads),
            MemoryOp::LayerNormBackward => {
                let statistics = self.statistics.as_ref().map_or(&[][..], |all| all.slot(slot));
                let (means, factors) = statistics.split_at(rows);
                let (input, weights) = b.split_at(rows * columns);
                let forward = rows::Normalised { a: input, weights, means, factors };
                rows::layer_norm_backward(a, forward, out, threads);
            }
        }
    }

    fn compare(&self) -> Result<(), Failure> {
        let cast = self.op == MemoryOp::Cast;
        let reference = reference::Reference {
            op: self.op,
            rows: self.rows,
            columns: self.columns,
            first: self.first.slot(0),
            second: self.second.slot(0),
            precision: if cast { T::NARROW } else { Precision::of::<T>() },
            seed: self.seed,
        };
        let (result, unit) = (self.result.slot(0), reference.unit());
        let count = if cast { self.narrow().len() } else { result.len() };
        let mut deviation = Deviation::default();
        // Small results are compared whole; of large ones, the first, the last and random units.
        let most = (MOST_COMPARED / reference.cost()).max(2);
        for number in sample(count / unit, most, self.seed) {
            let found: Vec<f64> = match cast {
                true => vec![T::widened(self.narrow()[number])],
                false => result[number * unit..][..unit].iter().map(|x| x.wide()).collect(),
            };
            reference.check(number, &found, &mut deviation);
        }
        deviation.verdict()
    }
}

#[cfg(test)]
mod tests;
