//! What each memory-bound op must yield, computed plainly in `f64`.
//!
//! A result is compared unit by unit: an element, or a whole row where its elements depend on
//! each other. Which units, and where the result lies, is left to the device.

use kernelgauge_data::MemoryOp;

use super::super::compare::{Deviation, Precision, Values};
use super::{CONSTANT, KEPT_SCALE, VARIANCE_FLOOR, dropout_threshold, philox};

/// An op and its inputs.
#[derive(Debug)]
pub struct Reference<A> {
    /// The op.
    pub op: MemoryOp,
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub columns: usize,
    /// First input.
    pub first: A,
    /// Second input.
    pub second: A,
    /// How exactly the result was computed and stored.
    pub precision: Precision,
    /// What random words of the op are drawn from.
    pub seed: u64,
}

impl<A: Values> Reference<A> {
    /// Elements of the result that are compared together.
    pub fn unit(&self) -> usize {
        match self.op {
            MemoryOp::Softmax | MemoryOp::LayerNorm | MemoryOp::LayerNormBackward => self.columns,
            _ => 1,
        }
    }

    /// Elements that are read to compare one unit.
    pub fn cost(&self) -> usize {
        match self.op {
            MemoryOp::Sum => self.columns,
            _ => self.unit(),
        }
    }

    /// Compares unit number `unit` of the result, which is `found`.
    pub fn check(&self, unit: usize, found: &[f64], deviation: &mut Deviation) {
        match self.op {
            MemoryOp::Sum | MemoryOp::Softmax | MemoryOp::LayerNorm => {
                self.check_row(unit, found, deviation);
            }
            MemoryOp::LayerNormBackward => self.check_gradients(unit, found, deviation),
            _ => {
                let expected = self.element(unit);
                let error = 8.0 * self.precision.epsilon * expected.abs();
                self.close(found, &[(expected, error)], deviation, |_| format!("element {unit}"));
            }
        }
    }

    /// Compares each value with what it must be and how far it may be computed from that.
    fn close(
        &self,
        found: &[f64],
        expected: &[(f64, f64)],
        deviation: &mut Deviation,
        place: impl Fn(usize) -> String,
    ) {
        for (at, (found, (expected, error))) in found.iter().zip(expected).enumerate() {
            let tolerance = self.precision.stored(*expected, *error);
            deviation.check(*found, *expected, tolerance, || place(at));
        }
    }

    /// Element `index` of the result of an element-wise or rearranging op.
    fn element(&self, index: usize) -> f64 {
        let a = |index: usize| self.first.at(index);
        match self.op {
            MemoryOp::Add => a(index) + self.second.at(index),
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
                    Some(column) => self.second.at(row * half + column),
                }
            }
            MemoryOp::Dropout => {
                let dropped = philox::word(index as u64, self.seed) < dropout_threshold();
                if dropped { 0.0 } else { KEPT_SCALE * a(index) }
            }
            MemoryOp::Cast => a(index),
            MemoryOp::Triangle => {
                let pairs = self.columns * (self.columns - 1) / 2;
                let (square, mut column) = (index / pairs, index % pairs);
                let mut row = 1;
                while column >= row {
                    (row, column) = (row + 1, column - row);
                }
                a((square * self.columns + row) * self.columns + column)
            }
            MemoryOp::Fill
            | MemoryOp::Sum
            | MemoryOp::Softmax
            | MemoryOp::LayerNorm
            | MemoryOp::LayerNormBackward => CONSTANT,
        }
    }

    /// Compares one row of a row op. Sums of `n` terms may be off by the error of a plain
    /// sequential sum, `n` epsilon times a term; what is divided by them, by its square root.
    fn check_row(&self, row: usize, found: &[f64], deviation: &mut Deviation) {
        let (columns, epsilon) = (self.columns, self.precision.epsilon);
        let a: Vec<f64> = (row * columns..(row + 1) * columns).map(|i| self.first.at(i)).collect();
        if self.op == MemoryOp::Sum {
            let expected = (a.iter().sum(), epsilon * (columns as f64 + 1.0));
            return self.close(found, &[expected], deviation, |_| format!("row {row}"));
        }
        let values = if self.op == MemoryOp::Softmax { softmax(&a) } else { self.normalised(&a) };
        let relative = epsilon * (64.0 + (columns as f64).sqrt());
        let floor = if self.op == MemoryOp::Softmax { 0.0 } else { 1.0 };
        let expected: Vec<(f64, f64)> =
            values.into_iter().map(|value| (value, relative * (value.abs() + floor))).collect();
        self.close(found, &expected, deviation, |column| format!("row {row}, column {column}"));
    }

    /// Compares one row of gradients. The error of a normalised element is that of a mean times
    /// the factor, and it is multiplied with the factor once more.
    fn check_gradients(&self, row: usize, found: &[f64], deviation: &mut Deviation) {
        let (first, count) = (row * self.columns, self.columns as f64);
        let weights = self.rows * self.columns;
        let a: Vec<f64> = (first..first + self.columns).map(|i| self.second.at(i)).collect();
        let (mean, factor) = moments(&a);
        let x: Vec<f64> = a.iter().map(|a| (a - mean) * factor).collect();
        let g: Vec<f64> = (0..self.columns)
            .map(|column| self.first.at(first + column) * self.second.at(weights + column))
            .collect();
        let sum = g.iter().sum::<f64>() / count;
        let product = g.iter().zip(&x).map(|(g, x)| g * x).sum::<f64>() / count;
        let relative = self.precision.epsilon * (64.0 + count.sqrt());
        let expected = g.iter().zip(&x).map(|(g, x)| {
            let error = relative * factor * (1.0 + factor) * (1.0 + x.abs());
            (factor * (g - sum - x * product), error)
        });
        let expected: Vec<(f64, f64)> = expected.collect();
        self.close(found, &expected, deviation, |column| format!("row {row}, column {column}"));
    }

    fn normalised(&self, a: &[f64]) -> Vec<f64> {
        let (mean, factor) = moments(a);
        let shifted = |(column, x): (usize, &f64)| {
            let (weight, bias) = (self.second.at(column), self.second.at(self.columns + column));
            (x - mean) * factor * weight + bias
        };
        a.iter().enumerate().map(shifted).collect()
    }
}

/// Mean, and what deviations from it are multiplied with.
fn moments(a: &[f64]) -> (f64, f64) {
    let count = a.len() as f64;
    let mean = a.iter().sum::<f64>() / count;
    let variance = a.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    (mean, 1.0 / (variance + VARIANCE_FLOOR).sqrt())
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
