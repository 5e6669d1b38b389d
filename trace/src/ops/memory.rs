//! Memory-bound ops, by the bytes they move.
//!
//! An element-wise op without a namesake among the family's is the one that reads and writes as
//! much: two inputs `add`, one input `scale`.

use kernelgauge_data::{Dtype, MemoryOp, MemoryPoint, Point};

use super::Uncovered;
use super::inputs::{Inputs, Tensor};

/// How an op moves bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Element by element, one or two inputs.
    ElementWise(MemoryOp),
    /// Along rows, which the last axis is unless an input says otherwise.
    Rows(MemoryOp),
    /// Writes only.
    Write,
    /// Element by element over a list of tensors, or over two lists.
    Lists,
    /// A list of tensors side by side.
    Joined,
    /// Into another type, or the same.
    Copied,
}

/// Op names without `aten::` and a trailing `_`, with what they do.
const OPS: [(&str, Shape); 67] = [
    ("add", Shape::ElementWise(MemoryOp::Add)),
    ("sub", Shape::ElementWise(MemoryOp::Add)),
    ("rsub", Shape::ElementWise(MemoryOp::Add)),
    ("mul", Shape::ElementWise(MemoryOp::Add)),
    ("div", Shape::ElementWise(MemoryOp::Add)),
    ("maximum", Shape::ElementWise(MemoryOp::Add)),
    ("minimum", Shape::ElementWise(MemoryOp::Add)),
    ("eq", Shape::ElementWise(MemoryOp::Add)),
    ("threshold_backward", Shape::ElementWise(MemoryOp::Add)),
    ("sigmoid_backward", Shape::ElementWise(MemoryOp::Add)),
    ("tanh_backward", Shape::ElementWise(MemoryOp::Add)),
    ("gelu_backward", Shape::ElementWise(MemoryOp::Add)),
    ("silu_backward", Shape::ElementWise(MemoryOp::Add)),
    ("hardtanh_backward", Shape::ElementWise(MemoryOp::Add)),
    ("native_dropout_backward", Shape::ElementWise(MemoryOp::Add)),
    ("masked_fill", Shape::ElementWise(MemoryOp::Add)),
    // Gradient and result in, gradient out.
    ("_softmax_backward_data", Shape::ElementWise(MemoryOp::Add)),
    ("_log_softmax_backward_data", Shape::ElementWise(MemoryOp::Add)),
    ("_foreach_add", Shape::Lists),
    ("_foreach_mul", Shape::Lists),
    ("neg", Shape::ElementWise(MemoryOp::Scale)),
    ("exp", Shape::ElementWise(MemoryOp::Scale)),
    ("log", Shape::ElementWise(MemoryOp::Scale)),
    ("sqrt", Shape::ElementWise(MemoryOp::Scale)),
    ("rsqrt", Shape::ElementWise(MemoryOp::Scale)),
    ("reciprocal", Shape::ElementWise(MemoryOp::Scale)),
    ("pow", Shape::ElementWise(MemoryOp::Scale)),
    ("abs", Shape::ElementWise(MemoryOp::Scale)),
    ("cos", Shape::ElementWise(MemoryOp::Scale)),
    ("sin", Shape::ElementWise(MemoryOp::Scale)),
    ("clamp", Shape::ElementWise(MemoryOp::Scale)),
    ("clamp_min", Shape::ElementWise(MemoryOp::Relu)),
    ("hardtanh", Shape::ElementWise(MemoryOp::Relu)),
    ("relu", Shape::ElementWise(MemoryOp::Relu)),
    ("leaky_relu", Shape::ElementWise(MemoryOp::Relu)),
    ("sigmoid", Shape::ElementWise(MemoryOp::Sigmoid)),
    ("silu", Shape::ElementWise(MemoryOp::Sigmoid)),
    ("tanh", Shape::ElementWise(MemoryOp::Gelu)),
    ("gelu", Shape::ElementWise(MemoryOp::Gelu)),
    ("native_dropout", Shape::ElementWise(MemoryOp::Dropout)),
    ("dropout", Shape::ElementWise(MemoryOp::Dropout)),
    ("bernoulli", Shape::ElementWise(MemoryOp::Dropout)),
    ("sum", Shape::Rows(MemoryOp::Sum)),
    ("mean", Shape::Rows(MemoryOp::Sum)),
    ("max", Shape::Rows(MemoryOp::Sum)),
    ("amax", Shape::Rows(MemoryOp::Sum)),
    ("argmax", Shape::Rows(MemoryOp::Sum)),
    ("linalg_vector_norm", Shape::Rows(MemoryOp::Sum)),
    ("norm", Shape::Rows(MemoryOp::Sum)),
    ("_softmax", Shape::Rows(MemoryOp::Softmax)),
    ("_log_softmax", Shape::Rows(MemoryOp::Softmax)),
    ("native_layer_norm", Shape::Rows(MemoryOp::LayerNorm)),
    ("native_layer_norm_backward", Shape::Rows(MemoryOp::LayerNormBackward)),
    ("fill", Shape::Write),
    ("zero", Shape::Write),
    ("ones_like", Shape::Write),
    ("normal", Shape::Write),
    ("uniform", Shape::Write),
    ("cat", Shape::Joined),
    ("copy", Shape::Copied),
    ("clone", Shape::Copied),
    ("contiguous", Shape::Copied),
    ("_to_copy", Shape::Copied),
    ("lerp", Shape::ElementWise(MemoryOp::Add)),
    ("ne", Shape::ElementWise(MemoryOp::Add)),
    ("gt", Shape::ElementWise(MemoryOp::Add)),
    ("lt", Shape::ElementWise(MemoryOp::Add)),
];

fn shape(name: &str) -> Option<Shape> {
    let bare = name.strip_prefix("aten::")?;
    let known = |bare: &str| OPS.iter().find(|(op, _)| *op == bare).map(|(_, shape)| *shape);
    known(bare).or_else(|| known(bare.strip_suffix('_')?))
}

/// Whether an op is memory-bound and known.
pub fn is_one(name: &str) -> bool {
    shape(name).is_some()
}

/// The memory-bound op; none for other ops.
pub fn point(name: &str, inputs: &Inputs) -> Option<Result<Point, Uncovered>> {
    Some(match shape(name)? {
        Shape::ElementWise(op) => element_wise(op, inputs),
        Shape::Rows(op) => rows(op, inputs),
        Shape::Write => inputs.first().and_then(|tensor| flat(MemoryOp::Fill, &tensor)),
        Shape::Lists => lists(inputs),
        Shape::Joined => joined(inputs),
        Shape::Copied => copied(inputs),
    })
}

fn flat(op: MemoryOp, tensor: &Tensor) -> Result<Point, Uncovered> {
    let columns = tensor.elements().ok_or(Uncovered::NoShapes)?;
    Ok(Point::Memory(MemoryPoint { op, dtype: tensor.dtype()?, rows: 1, columns }))
}

/// The larger of the first two tensors; an op of two tensors whose second is small reads one.
fn element_wise(op: MemoryOp, inputs: &Inputs) -> Result<Point, Uncovered> {
    let first = inputs.first()?;
    let elements = |tensor: &Tensor| tensor.elements().ok_or(Uncovered::NoShapes);
    let second = (1..inputs.len()).find_map(|position| inputs.tensor(position).ok());
    let mine = elements(&first)?;
    let Some(second) = second else {
        return flat(if op == MemoryOp::Add { MemoryOp::Scale } else { op }, &first);
    };
    let other = elements(&second)?;
    let larger = if other > mine { &second } else { &first };
    let one_sided = op == MemoryOp::Add && mine.min(other).saturating_mul(2) < mine.max(other);
    flat(if one_sided { MemoryOp::Scale } else { op }, larger)
}

fn rows(op: MemoryOp, inputs: &Inputs) -> Result<Point, Uncovered> {
    let tensor = inputs.first()?;
    let all = tensor.elements().ok_or(Uncovered::NoShapes)?;
    let last = *tensor.sizes.last().unwrap_or(&1);
    if all == 0 || last == 0 {
        return Err(Uncovered::Empty);
    }
    let axes = tensor.sizes.len() as i64;
    let axis = inputs.integer(1).filter(|_| op == MemoryOp::Softmax);
    if axis.is_some_and(|axis| axis != -1 && axis != axes - 1) {
        return Err(Uncovered::Differs("not along the last axis"));
    }
    Ok(Point::Memory(MemoryPoint { op, dtype: tensor.dtype()?, rows: all / last, columns: last }))
}

/// All tensors of one list, or of two in pairs, as one.
fn lists(inputs: &Inputs) -> Result<Point, Uncovered> {
    let (sum, dtype) = together(&inputs.tensors(0)?)?;
    let op = if inputs.tensors(1).is_ok() { MemoryOp::Add } else { MemoryOp::Scale };
    Ok(Point::Memory(MemoryPoint { op, dtype, rows: 1, columns: sum }))
}

/// The elements of some tensors together, and their type.
fn together(tensors: &[Tensor]) -> Result<(u64, Dtype), Uncovered> {
    let add = |sum: u64, tensor: &Tensor| sum.checked_add(tensor.elements()?);
    let sum = tensors.iter().try_fold(0_u64, add).ok_or(Uncovered::NoShapes)?;
    Ok((sum, tensors.first().ok_or(Uncovered::NoShapes)?.dtype()?))
}

/// Tensors side by side: the family has two of the same size, which move as many bytes.
fn joined(inputs: &Inputs) -> Result<Point, Uncovered> {
    let (all, dtype) = together(&inputs.tensors(0)?)?;
    let columns = all - all % 2;
    Ok(Point::Memory(MemoryPoint { op: MemoryOp::Concat, dtype, rows: 1, columns }))
}

/// `destination, source`: a cast if the types differ, else as many bytes as scaling moves.
fn copied(inputs: &Inputs) -> Result<Point, Uncovered> {
    let first = inputs.first()?;
    let source = inputs.tensor(1).unwrap_or_else(|_| first.clone());
    let (to, from) = (first.dtype()?, source.dtype()?);
    if to == from {
        return flat(MemoryOp::Scale, &first);
    }
    // Integers are as wide as the floats that stand for them.
    let from = match from {
        Dtype::Int64 => Dtype::F64,
        Dtype::Int32 => Dtype::F32,
        other => other,
    };
    if MemoryPoint::cast_to(from).size() != to.size() {
        return Err(Uncovered::Differs("the family casts f64 to f32, f32 to f16, narrower to f32"));
    }
    let point = flat(MemoryOp::Cast, &first)?;
    match point {
        Point::Memory(memory) => Ok(Point::Memory(MemoryPoint { dtype: from, ..memory })),
        other => Ok(other),
    }
}
