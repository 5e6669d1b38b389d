//! Matrix products.

use kernelgauge_data::{Dtype, GemmLayout, GemmPoint, Point};

use super::Uncovered;
use super::inputs::{Inputs, Tensor};

/// Where the two factors stand among the inputs, by the op's name.
const FACTORS: [(&str, usize, usize); 12] = [
    ("aten::mm", 0, 1),
    ("aten::bmm", 0, 1),
    ("aten::addmm", 1, 2),
    ("aten::addmm_", 1, 2),
    ("aten::_addmm_activation", 1, 2),
    ("aten::baddbmm", 1, 2),
    ("aten::baddbmm_", 1, 2),
    ("aten::_scaled_mm", 0, 1),
    ("aten::_int_mm", 0, 1),
    ("aten::mv", 0, 1),
    ("aten::addmv_", 1, 2),
    ("aten::matmul", 0, 1),
];

/// Whether an op is a matrix product.
pub fn is_one(name: &str) -> bool {
    name == "aten::linear" || FACTORS.iter().any(|(known, _, _)| *known == name)
}

/// The product an op computes; none for other ops.
pub fn point(name: &str, inputs: &Inputs) -> Option<Result<Point, Uncovered>> {
    if name == "aten::linear" {
        return Some(linear(inputs));
    }
    let &(_, left, right) = FACTORS.iter().find(|(known, _, _)| *known == name)?;
    Some(product(inputs, left, right))
}

fn product(inputs: &Inputs, left: usize, right: usize) -> Result<Point, Uncovered> {
    let (left, right) = (inputs.tensor(left)?, inputs.tensor(right)?);
    let (batch, m, k) = match left.sizes[..] {
        [m, k] => (1, m, k),
        [batch, m, k] => (batch, m, k),
        _ => return Err(Uncovered::Differs("not a product of matrices")),
    };
    let n = match right.sizes[..] {
        [inner] if inner == k => 1,
        [inner, n] if inner == k => n,
        [other, inner, n] if inner == k && other == batch => n,
        _ => return Err(Uncovered::Differs("factors do not fit together")),
    };
    let layout = layout(&left, &right);
    Ok(Point::Gemm(GemmPoint { dtype: left.dtype()?, batch, m, n, k, layout }))
}

/// `input [.., k]` times `weight [n, k]` transposed.
fn linear(inputs: &Inputs) -> Result<Point, Uncovered> {
    let (input, weight) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let (Some((&k, rows)), &[n, inner]) = (input.sizes.split_last(), &weight.sizes[..]) else {
        return Err(Uncovered::Differs("not a product of matrices"));
    };
    if k != inner {
        return Err(Uncovered::Differs("factors do not fit together"));
    }
    let m = rows.iter().try_fold(1_u64, |product, &size| product.checked_mul(size));
    let m = m.ok_or(Uncovered::Refused("more than 2^64 rows".to_owned()))?;
    let dtype: Dtype = input.dtype()?;
    Ok(Point::Gemm(GemmPoint { dtype, batch: 1, m, n, k, layout: GemmLayout::Nt }))
}

/// Row-major factors are `n`, column-major ones `t`; both transposed is no layout of ours.
fn layout(left: &Tensor, right: &Tensor) -> GemmLayout {
    let transposed = |tensor: &Tensor| {
        let strides = tensor.strides.as_ref()?;
        let [.., row, column] = strides[..] else { return None };
        match (row, column) {
            (_, 1) => Some(false),
            (1, _) => Some(true),
            _ => None,
        }
    };
    match (transposed(left), transposed(right)) {
        (Some(false), Some(false)) => GemmLayout::Nn,
        (Some(false), Some(true)) => GemmLayout::Nt,
        (Some(true), Some(false)) => GemmLayout::Tn,
        _ => GemmLayout::Unstated,
    }
}
