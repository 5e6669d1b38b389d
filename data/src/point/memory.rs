//! Memory-bound ops over a matrix of `rows` by `columns` elements.

use std::fmt;
use std::str::FromStr;

use crate::dtype::Dtype;
use crate::nearest::{self, UnknownName};
use crate::point::parts::{Parameters, PointError, VariantName, Work, at_least_one, fits};

/// A memory-bound op.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryOp {
    /// `c = a + b`.
    Add,
    /// `b = s * a`.
    Scale,
    /// `b = max(a, 0)`.
    Relu,
    /// `b = 1 / (1 + exp(-a))`.
    Sigmoid,
    /// `b = a / 2 * (1 + tanh(...))`.
    Gelu,
    /// Sum of each row.
    Sum,
    /// Softmax of each row.
    Softmax,
    /// Layer normalisation of each row.
    LayerNorm,
    /// `b[j,i] = a[i,j]`.
    Transpose,
    /// Two matrices of half the columns side by side.
    Concat,
    /// `a = s`.
    Fill,
}

impl MemoryOp {
    /// Every op.
    pub const ALL: [MemoryOp; 11] = [
        MemoryOp::Add,
        MemoryOp::Scale,
        MemoryOp::Relu,
        MemoryOp::Sigmoid,
        MemoryOp::Gelu,
        MemoryOp::Sum,
        MemoryOp::Softmax,
        MemoryOp::LayerNorm,
        MemoryOp::Transpose,
        MemoryOp::Concat,
        MemoryOp::Fill,
    ];

    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            MemoryOp::Add => "add",
            MemoryOp::Scale => "scale",
            MemoryOp::Relu => "relu",
            MemoryOp::Sigmoid => "sigmoid",
            MemoryOp::Gelu => "gelu",
            MemoryOp::Sum => "sum",
            MemoryOp::Softmax => "softmax",
            MemoryOp::LayerNorm => "layer_norm",
            MemoryOp::Transpose => "transpose",
            MemoryOp::Concat => "concat",
            MemoryOp::Fill => "fill",
        }
    }

    /// Whether only the number of elements matters; such points are written with one row.
    pub const fn is_elementwise(self) -> bool {
        match self {
            MemoryOp::Add
            | MemoryOp::Scale
            | MemoryOp::Relu
            | MemoryOp::Sigmoid
            | MemoryOp::Gelu
            | MemoryOp::Fill => true,
            MemoryOp::Sum
            | MemoryOp::Softmax
            | MemoryOp::LayerNorm
            | MemoryOp::Transpose
            | MemoryOp::Concat => false,
        }
    }

    /// Operations per element: the reference system's element-wise table (ReLU 1, sigmoid 4,
    /// GELU 175, softmax 174, sum 1, copies 0), 8 for layer normalisation (two passes of
    /// multiply-add for the moments, then subtract, scale, multiply and add).
    pub const fn flops_per_element(self) -> f64 {
        match self {
            MemoryOp::Add | MemoryOp::Scale | MemoryOp::Relu | MemoryOp::Sum => 1.0,
            MemoryOp::Sigmoid => 4.0,
            MemoryOp::LayerNorm => 8.0,
            MemoryOp::Softmax => 174.0,
            MemoryOp::Gelu => 175.0,
            MemoryOp::Transpose | MemoryOp::Concat | MemoryOp::Fill => 0.0,
        }
    }
}

impl fmt::Display for MemoryOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for MemoryOp {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        MemoryOp::ALL
            .into_iter()
            .find(|op| op.name() == text)
            .ok_or_else(|| nearest::unknown("memory op", text, MemoryOp::ALL.map(MemoryOp::name)))
    }
}

/// A memory-bound op on a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryPoint {
    /// The op.
    pub op: MemoryOp,
    /// Element type.
    pub dtype: Dtype,
    /// Rows; 1 for ops that do not care about shape.
    pub rows: u64,
    /// Elements of a row (of the result, for concat).
    pub columns: u64,
}

impl MemoryPoint {
    /// `rows * columns`.
    pub fn elements(&self) -> u64 {
        self.rows.saturating_mul(self.columns)
    }

    /// Bytes read at least once.
    pub fn bytes_read(&self) -> u64 {
        let matrix = self.elements().saturating_mul(self.dtype.size());
        match self.op {
            MemoryOp::Add => matrix.saturating_mul(2),
            MemoryOp::Fill => 0,
            MemoryOp::LayerNorm => matrix.saturating_add(2 * self.columns * self.dtype.size()),
            _ => matrix,
        }
    }

    /// Bytes written at least once.
    pub fn bytes_written(&self) -> u64 {
        match self.op {
            MemoryOp::Sum => self.rows.saturating_mul(self.dtype.size()),
            _ => self.elements().saturating_mul(self.dtype.size()),
        }
    }

    pub(super) fn variant(&self) -> VariantName {
        VariantName::join(&[self.op.name(), self.dtype.name()])
    }

    pub(super) fn parameter_names(&self) -> [&'static str; 2] {
        ["rows", "columns"]
    }

    pub(super) fn parameters(&self) -> Parameters {
        Parameters::new(&[self.rows, self.columns])
    }

    /// Rows, except for the ops that do not care about shape: their sweeps keep one row.
    pub(super) fn axis(&self) -> usize {
        usize::from(self.op.is_elementwise())
    }

    pub(super) fn work(&self) -> Work {
        Work {
            flops: self.elements() as f64 * self.op.flops_per_element(),
            bytes_read: self.bytes_read() as f64,
            bytes_written: self.bytes_written() as f64,
        }
    }

    pub(super) fn check(&self) -> Result<(), PointError> {
        at_least_one(&[("rows", self.rows), ("columns", self.columns)])?;
        if self.op == MemoryOp::Concat && !self.columns.is_multiple_of(2) {
            let columns = self.columns;
            return Err(PointError::Inconsistent(format!(
                "concat joins two equal halves, and {columns} columns do not halve"
            )));
        }
        fits("rows * columns in bytes", &[self.rows, self.columns, self.dtype.size(), 2])
    }
}
