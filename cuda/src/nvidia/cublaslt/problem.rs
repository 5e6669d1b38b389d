//! From row-major operands to the column-major product that BLAS computes.
//!
//! A row-major matrix is the transpose of what BLAS sees in the same memory, so it is asked for
//! `cᵀ = bᵀ aᵀ`: its first operand is our `b`, its second our `a`, its `m` our `n`. A matrix that
//! lies as it is multiplied needs no operation then, one that lies transposed needs `T`. So a
//! linear layer (`nt` here) is what NVIDIA calls TN.

use kernelgauge_data::GemmPoint;

/// A matrix as BLAS sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matrix {
    /// Rows as stored.
    pub rows: u64,
    /// Columns as stored, whose elements are neighbours.
    pub columns: u64,
    /// Whether its transpose is multiplied.
    pub transposed: bool,
    /// Elements from one product of a batch to the next.
    pub stride: u64,
}

impl Matrix {
    /// From one that has `rows` rows of `columns` elements each in memory.
    fn stored(rows: u64, columns: u64, transposed: bool) -> Self {
        Matrix { rows: columns, columns: rows, transposed, stride: rows.saturating_mul(columns) }
    }
}

/// A product as BLAS sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    /// Our `b`.
    pub first: Matrix,
    /// Our `a`.
    pub second: Matrix,
    /// Our `c`.
    pub result: Matrix,
    /// Products.
    pub batch: u64,
}

impl Problem {
    /// The product of `point`; one that does not state its layout is a linear layer.
    pub fn of(point: &GemmPoint) -> Self {
        let GemmPoint { m, n, k, batch, layout, .. } = *point;
        let unstated = layout == kernelgauge_data::GemmLayout::Unstated;
        let (a, b) = (layout.a_is_transposed(), layout.b_is_transposed() || unstated);
        Problem {
            first: if b { Matrix::stored(n, k, true) } else { Matrix::stored(k, n, false) },
            second: if a { Matrix::stored(k, m, true) } else { Matrix::stored(m, k, false) },
            result: Matrix::stored(m, n, false),
            batch,
        }
    }

    /// Where in our `a` the factors of our row `row` are: the first, and from one to the next.
    pub fn row_of_a(&self, product: u64, row: u64) -> (u64, u64) {
        let Matrix { rows, transposed, stride, .. } = self.second;
        let (start, step) = if transposed { (row, rows) } else { (row * rows, 1) };
        (product * stride + start, step)
    }

    /// Where in our `b` those of our column `column` are.
    pub fn column_of_b(&self, product: u64, column: u64) -> (u64, u64) {
        let Matrix { rows, transposed, stride, .. } = self.first;
        let (start, step) = if transposed { (column * rows, 1) } else { (column, rows) };
        (product * stride + start, step)
    }
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{Dtype, GemmLayout};

    use super::*;

    #[test]
    fn every_layout_is_the_column_major_product_of_the_same_memory() {
        let problem = |layout| {
            let point = GemmPoint { dtype: Dtype::Bf16, batch: 3, m: 5, n: 7, k: 11, layout };
            let Problem { first, second, result, batch } = Problem::of(&point);
            assert_eq!((result.rows, result.columns, batch), (7, 5, 3));
            let say = |m: Matrix| {
                format!("{}x{}{}", m.rows, m.columns, if m.transposed { "T" } else { "N" })
            };
            format!("{} {}", say(first), say(second))
        };
        assert_eq!(problem(GemmLayout::Nn), "7x11N 11x5N");
        assert_eq!(problem(GemmLayout::Nt), "11x7T 11x5N");
        assert_eq!(problem(GemmLayout::Tn), "7x11N 5x11T");
        assert_eq!(problem(GemmLayout::Unstated), problem(GemmLayout::Nt));
    }

    #[test]
    fn elements_are_found_where_row_major_operands_have_them() {
        let of = |layout| {
            Problem::of(&GemmPoint { dtype: Dtype::F32, batch: 2, m: 5, n: 7, k: 11, layout })
        };
        let nn = of(GemmLayout::Nn);
        assert_eq!((nn.row_of_a(1, 2), nn.column_of_b(1, 4)), ((55 + 2 * 11, 1), (77 + 4, 7)));
        let nt = of(GemmLayout::Nt);
        assert_eq!((nt.row_of_a(0, 2), nt.column_of_b(0, 4)), ((2 * 11, 1), (4 * 11, 1)));
        let tn = of(GemmLayout::Tn);
        assert_eq!((tn.row_of_a(0, 2), tn.column_of_b(0, 4)), ((2, 5), (4, 7)));
    }
}
