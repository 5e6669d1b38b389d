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
    /// Elements kept and scaled, or zero, by random words that nothing stores: the kernel draws
    /// them anew from a seed, in the backward pass too.
    Dropout,
    /// Into another element type, see [`MemoryPoint::cast_to`].
    Cast,
    /// What lies below the diagonal of each square of `columns` by `columns`, as one row of
    /// `columns (columns - 1) / 2` elements; `rows` squares. The pairs of an interaction of
    /// `columns` features (Naumov et al., "Deep learning recommendation model for
    /// personalization and recommendation systems", 2019).
    Triangle,
    /// The gradient of layer normalisation to its input, from that to its result, the input, the
    /// weights, and the mean and factor that the forward pass left of each row. The gradients to
    /// weights and biases are no part of it.
    LayerNormBackward,
}

impl MemoryOp {
    /// Every op.
    pub const ALL: [MemoryOp; 15] = [
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
        MemoryOp::Dropout,
        MemoryOp::Cast,
        MemoryOp::Triangle,
        MemoryOp::LayerNormBackward,
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
            MemoryOp::Dropout => "dropout",
            MemoryOp::Cast => "cast",
            MemoryOp::Triangle => "triangle",
            MemoryOp::LayerNormBackward => "layer_norm_backward",
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
            | MemoryOp::Fill
            | MemoryOp::Dropout
            | MemoryOp::Cast => true,
            MemoryOp::Sum
            | MemoryOp::Softmax
            | MemoryOp::LayerNorm
            | MemoryOp::Transpose
            | MemoryOp::Concat
            | MemoryOp::Triangle
            | MemoryOp::LayerNormBackward => false,
        }
    }

    /// Columns of a matrix whose rows have `elements` elements each: as many, or the side of a
    /// square; none where they are no square.
    pub fn columns_of(self, elements: u64) -> Option<u64> {
        if self != MemoryOp::Triangle {
            return Some(elements);
        }
        let side = elements.isqrt();
        (side * side == elements).then_some(side)
    }

    /// Operations per element: the reference system's element-wise table (ReLU 1, sigmoid 4,
    /// GELU 175, softmax 174, sum 1, copies 0), 8 for layer normalisation (two passes of
    /// multiply-add for the moments, then subtract, scale, multiply and add), 10 for its
    /// backward pass (3 to weigh and to normalise, 3 for both sums, 4 for the result), 2 for
    /// dropout (compare and scale; drawing words is integer work). Conversions and moves have
    /// none.
    pub const fn flops_per_element(self) -> f64 {
        match self {
            MemoryOp::Add | MemoryOp::Scale | MemoryOp::Relu | MemoryOp::Sum => 1.0,
            MemoryOp::Dropout => 2.0,
            MemoryOp::Sigmoid => 4.0,
            MemoryOp::LayerNorm => 8.0,
            MemoryOp::LayerNormBackward => 10.0,
            MemoryOp::Softmax => 174.0,
            MemoryOp::Gelu => 175.0,
            MemoryOp::Transpose
            | MemoryOp::Concat
            | MemoryOp::Fill
            | MemoryOp::Cast
            | MemoryOp::Triangle => 0.0,
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
    /// Element type; of a cast, what it reads.
    pub dtype: Dtype,
    /// Rows; 1 for ops that do not care about shape. Squares of a triangle.
    pub rows: u64,
    /// Elements of a row (of the result, for concat). Side of the squares of a triangle.
    pub columns: u64,
}

impl MemoryPoint {
    /// `rows * columns`, for a triangle `rows * columns * columns`: those of the first input, or
    /// of the result of concat and fill.
    pub fn elements(&self) -> u64 {
        self.rows.saturating_mul(self.row_elements())
    }

    /// `columns`, for a triangle those of a square.
    fn row_elements(&self) -> u64 {
        match self.op {
            MemoryOp::Triangle => self.columns.saturating_mul(self.columns),
            _ => self.columns,
        }
    }

    /// Elements below the diagonals of all squares of a triangle.
    pub fn pairs(&self) -> u64 {
        let (side, before) = (self.columns, self.columns.saturating_sub(1));
        // One of both is even.
        let pairs = if side % 2 == 0 {
            (side / 2).saturating_mul(before)
        } else {
            (before / 2).saturating_mul(side)
        };
        self.rows.saturating_mul(pairs)
    }

    /// What a cast of this type yields: `f32` of `f64`, `f16` of `f32`, and `f32` of everything
    /// narrower. From `f32` to `bf16` the same bytes move.
    pub const fn cast_to(dtype: Dtype) -> Dtype {
        match dtype {
            Dtype::F32 | Dtype::Tf32 => Dtype::F16,
            _ => Dtype::F32,
        }
    }

    /// Mean and factor of each row, which layer normalisation keeps for its backward pass: the
    /// number of both together, and the bytes of one, as they are computed (`f32`; `f64` for
    /// `f64`).
    pub fn statistics(&self) -> (u64, u64) {
        match self.op {
            MemoryOp::LayerNormBackward => (self.rows.saturating_mul(2), self.dtype.size().max(4)),
            _ => (0, 0),
        }
    }

    /// Bytes read at least once.
    pub fn bytes_read(&self) -> u64 {
        let size = self.dtype.size();
        let matrix = self.elements().saturating_mul(size);
        match self.op {
            MemoryOp::Add => matrix.saturating_mul(2),
            MemoryOp::Fill => 0,
            MemoryOp::LayerNorm => matrix.saturating_add(2 * self.columns * size),
            MemoryOp::Triangle => self.pairs().saturating_mul(size),
            MemoryOp::LayerNormBackward => {
                let (count, bytes) = self.statistics();
                let small =
                    self.columns.saturating_mul(size).saturating_add(count.saturating_mul(bytes));
                matrix.saturating_mul(2).saturating_add(small)
            }
            _ => matrix,
        }
    }

    /// Bytes written at least once.
    pub fn bytes_written(&self) -> u64 {
        let size = self.dtype.size();
        match self.op {
            MemoryOp::Sum => self.rows.saturating_mul(size),
            MemoryOp::Triangle => self.pairs().saturating_mul(size),
            MemoryOp::Cast => {
                self.elements().saturating_mul(MemoryPoint::cast_to(self.dtype).size())
            }
            _ => self.elements().saturating_mul(size),
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
        if self.op == MemoryOp::Triangle && self.columns == 1 {
            return Err(PointError::Inconsistent(
                "a square of 1 column has nothing below its diagonal".to_owned(),
            ));
        }
        // What a cast writes may be wider than what it reads.
        let size =
            if self.op == MemoryOp::Cast { self.dtype.size().max(4) } else { self.dtype.size() };
        let row = if self.op == MemoryOp::Triangle { self.columns } else { 1 };
        fits("rows * columns in bytes", &[self.rows, self.columns, row, size, 2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(op: MemoryOp, dtype: Dtype, rows: u64, columns: u64) -> (u64, u64) {
        let point = MemoryPoint { op, dtype, rows, columns };
        point.check().unwrap();
        (point.bytes_read(), point.bytes_written())
    }

    /// Counted by hand.
    #[test]
    fn bytes_of_ops_that_do_not_copy_a_matrix() {
        use MemoryOp::{Cast, Dropout, LayerNormBackward, Triangle};
        assert_eq!(moved(Dropout, Dtype::F16, 1, 10), (20, 20));
        assert_eq!(moved(Cast, Dtype::F64, 1, 10), (80, 40));
        assert_eq!(moved(Cast, Dtype::F32, 1, 10), (40, 20));
        assert_eq!(moved(Cast, Dtype::Bf16, 1, 10), (20, 40));
        // 27 features have 351 pairs, 4 have 6.
        assert_eq!(moved(Triangle, Dtype::F32, 1, 27), (1404, 1404));
        assert_eq!(moved(Triangle, Dtype::F16, 5, 4), (60, 60));
        // Two matrices of 24 bytes, 4 weights of 2, mean and factor of 3 rows in 4 bytes each.
        assert_eq!(moved(LayerNormBackward, Dtype::Bf16, 3, 4), (48 + 8 + 24, 24));
        assert_eq!(moved(LayerNormBackward, Dtype::F64, 3, 4), (192 + 32 + 48, 96));
    }

    #[test]
    fn triangles_are_of_squares_with_something_below_the_diagonal() {
        let triangle =
            |columns| MemoryPoint { op: MemoryOp::Triangle, dtype: Dtype::F32, rows: 2, columns };
        assert_eq!(triangle(27).elements(), 1458);
        assert!(triangle(1).check().is_err() && triangle(2).check().is_ok());
        assert!(triangle(1 << 31).check().is_err());
        assert_eq!(MemoryOp::Triangle.columns_of(729), Some(27));
        assert_eq!(MemoryOp::Triangle.columns_of(730), None);
        assert_eq!(MemoryOp::Cast.columns_of(730), Some(730));
    }
}
