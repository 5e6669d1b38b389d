//! What each memory-bound op must yield, computed plainly in `f64`.
//!
//! Small results are compared whole. Of large ones, the first, the last and random elements
//! (for row ops: rows) are compared, about [`MOST_COMPARED`] elements in all.

use kernelgauge_data::{Failure, MemoryOp};

use super::super::compare::{Deviation, MOST_COMPARED, sample};
use super::super::real::Real;
use super::{CONSTANT, VARIANCE_FLOOR};

/// An op and its inputs.
#[derive(Debug)]
pub struct Reference<'operands, T> {
    /// The op.
    pub op: MemoryOp,
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub columns: usize,
    /// First input.
    pub first: &'operands [T],
    /// Second input.
    pub second: &'operands [T],
}

impl<T: Real> Reference<'_, T> {
    /// Compares `result` with what the op must yield, sampled from `seed`.
    ///
    /// # Errors
    /// [`Failure::WrongResult`].
    pub fn compare(&self, result: &[T], seed: u64) -> Result<(), Failure> {
        let mut deviation = Deviation::default();
        match self.op {
            MemoryOp::Sum | MemoryOp::Softmax | MemoryOp::LayerNorm => {
                let most = (MOST_COMPARED / self.columns).max(2);
                for row in sample(self.rows, most, seed) {
                    self.compare_row(row, result, &mut deviation);
                }
            }
            _ => {
                for index in sample(result.len(), MOST_COMPARED, seed) {
                    let expected = self.element(index);
                    let tolerance = 8.0 * T::EPSILON * expected.abs();
                    deviation.check(result[index].wide(), expected, tolerance, || {
                        format!("element {index}")
                    });
                }
            }
        }
        deviation.verdict()
    }

    /// Element `index` of the result of an element-wise or rearranging op.
    fn element(&self, index: usize) -> f64 {
        let a = |index: usize| self.first[index].wide();
        match self.op {
            MemoryOp::Add => a(index) + self.second[index].wide(),
            MemoryOp::Scale => CONSTANT * a(index),
            MemoryOp::Relu => a(index).max(0.0),
            MemoryOp::Sigmoid => 1.0 / (1.0 + (-a(index)).exp()),
            MemoryOp::Gelu => gelu(a(index)),
            MemoryOp::Transpose => {
                let (column, row) = (index / self.rows, index % self.rows);
                a(row * self.columns + column)
            }
            MemoryOp::Concat => {
                let half = self.columns / 2;
                let (row, column) = (index / self.columns, index % self.columns);
                match column.checked_sub(half) {
                    None => a(row * half + column),
                    Some(column) => self.second[row * half + column].wide(),
                }
            }
            MemoryOp::Fill | MemoryOp::Sum | MemoryOp::Softmax | MemoryOp::LayerNorm => CONSTANT,
        }
    }

    /// Compares one row of a row op. Sums of `n` terms may be off by the error of a plain
    /// sequential sum, `n` epsilon times a term; what is divided by them, by its square root.
    fn compare_row(&self, row: usize, result: &[T], deviation: &mut Deviation) {
        let columns = self.columns;
        let a: Vec<f64> = self.first[row * columns..][..columns].iter().map(|x| x.wide()).collect();
        if self.op == MemoryOp::Sum {
            let tolerance = T::EPSILON * (columns as f64 + 1.0);
            let (found, expected) = (result[row].wide(), a.iter().sum());
            deviation.check(found, expected, tolerance, || format!("row {row}"));
            return;
        }
        let expected = if self.op == MemoryOp::Softmax { softmax(&a) } else { self.normalised(&a) };
        let relative = T::EPSILON * (64.0 + (columns as f64).sqrt());
        let floor = if self.op == MemoryOp::Softmax { 0.0 } else { 1.0 };
        let found = &result[row * columns..][..columns];
        for (column, (found, expected)) in found.iter().zip(expected).enumerate() {
            let tolerance = relative * (expected.abs() + floor);
            deviation
                .check(found.wide(), expected, tolerance, || format!("row {row}, column {column}"));
        }
    }

    fn normalised(&self, a: &[f64]) -> Vec<f64> {
        let (weights, biases) = self.second.split_at(self.columns);
        let count = a.len() as f64;
        let mean = a.iter().sum::<f64>() / count;
        let variance = a.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let deviation = (variance + VARIANCE_FLOOR).sqrt();
        a.iter()
            .zip(weights.iter().zip(biases))
            .map(|(x, (weight, bias))| (x - mean) / deviation * weight.wide() + bias.wide())
            .collect()
    }
}

fn gelu(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
    0.5 * x * (1.0 + inner.tanh())
}

fn softmax(a: &[f64]) -> Vec<f64> {
    let largest = a.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = a.iter().map(|x| (x - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}
