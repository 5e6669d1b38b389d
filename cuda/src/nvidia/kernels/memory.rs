//! The launches that a memory-bound point takes.

use kernelgauge_data::{Dtype, MemoryOp, MemoryPoint};

use super::catalogue::{Entry, entry};
use super::geometry::{Geometry, parts};

/// Columns of a row that a warp holds in registers, and that a block holds (32 floats a thread).
const HELD: [u64; 2] = [32 * 32, 256 * 32];

/// One launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// The kernel.
    pub entry: &'static Entry,
    /// Its grid and block.
    pub geometry: Geometry,
}

/// How the rows of an op are shared among threads: the middle part of kernel names.
fn group(columns: u64, held: [u64; 2]) -> &'static str {
    match columns {
        columns if columns <= held[0] => "warp",
        columns if columns <= held[1] => "block",
        _ => "long",
    }
}

/// The launches of `point` in order, on a device of `units` multiprocessors; none for element
/// types without kernels. A sum in two launches leaves [`parts`] partial sums per row, in floats,
/// between them.
pub fn launches(point: &MemoryPoint, units: u32) -> Option<Vec<Launch>> {
    let dtype = match point.dtype {
        Dtype::F32 | Dtype::F16 | Dtype::Bf16 => point.dtype.name(),
        _ => return None,
    };
    let bytes = point.dtype.size();
    let (rows, columns) = (point.rows, point.columns);
    let launch = |name: String, extent: &[u64]| {
        let (_, entry) = entry(&name)?;
        Some(Launch { entry, geometry: entry.rule.geometry(extent, units) })
    };
    let one = |name: String, extent: &[u64]| Some(vec![launch(name, extent)?]);
    match point.op {
        MemoryOp::Add
        | MemoryOp::Scale
        | MemoryOp::Relu
        | MemoryOp::Sigmoid
        | MemoryOp::Gelu
        | MemoryOp::Fill
        | MemoryOp::Dropout => one(format!("{}_{dtype}", point.op), &[point.elements()]),
        MemoryOp::Sum => match parts(rows, columns, units) {
            1 if columns <= HELD[0] => one(format!("sum_warp_{dtype}"), &[rows]),
            1 => one(format!("sum_block_{dtype}"), &[rows]),
            parts => Some(vec![
                launch(format!("sum_split_{dtype}"), &[rows, parts])?,
                launch(format!("sum_join_{dtype}"), &[rows])?,
            ]),
        },
        MemoryOp::Softmax | MemoryOp::LayerNorm => {
            one(format!("{}_{}_{dtype}", point.op, group(columns, HELD)), &[rows])
        }
        MemoryOp::LayerNormBackward => {
            Some(vec![layer_norm_backward(point.dtype, rows, columns, units)?])
        }
        MemoryOp::Cast => {
            let to = MemoryPoint::cast_to(point.dtype);
            one(format!("cast_{dtype}_{to}"), &[point.elements()])
        }
        MemoryOp::Triangle => {
            let pairs = columns.saturating_mul(columns.saturating_sub(1)) / 2;
            one(format!("triangle_gather_{bytes}"), &[rows, pairs])
        }
        MemoryOp::Transpose => one(format!("transpose_{bytes}"), &[rows, columns]),
        MemoryOp::Concat => {
            let accesses = (columns / 2).div_ceil(16 / bytes);
            one(format!("concat_{bytes}"), &[rows, accesses])
        }
    }
}

/// The kernel of the backward pass of layer normalisation to its input: it holds two rows.
fn layer_norm_backward(dtype: Dtype, rows: u64, columns: u64, units: u32) -> Option<Launch> {
    let group = group(columns, HELD.map(|held| held / 2));
    let (_, entry) = entry(&format!("layer_norm_backward_{group}_{dtype}"))?;
    Some(Launch { entry, geometry: entry.rule.geometry(&[rows], units) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(op: MemoryOp, dtype: Dtype, rows: u64, columns: u64) -> Vec<&'static str> {
        let point = MemoryPoint { op, dtype, rows, columns };
        let launches = launches(&point, 132).unwrap_or_default();
        launches.iter().map(|launch| launch.entry.name).collect()
    }

    #[test]
    fn every_op_has_its_kernels_in_three_types() {
        for op in MemoryOp::ALL {
            for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16] {
                for columns in [2, 1_000, 8_000, 100_000] {
                    assert!(!names(op, dtype, 10, columns).is_empty(), "{op} {dtype}");
                }
            }
            assert!(names(op, Dtype::F64, 10, 10).is_empty());
        }
    }

    #[test]
    fn shapes_choose_kernels() {
        use MemoryOp::{LayerNorm, Softmax, Sum};
        assert_eq!(names(Softmax, Dtype::F32, 9, 1024), ["softmax_warp_f32"]);
        assert_eq!(names(Softmax, Dtype::F16, 9, 1025), ["softmax_block_f16"]);
        assert_eq!(names(LayerNorm, Dtype::Bf16, 9, 8193), ["layer_norm_long_bf16"]);
        assert_eq!(names(Sum, Dtype::F32, 1, 1 << 24), ["sum_split_f32", "sum_join_f32"]);
        assert_eq!(names(Sum, Dtype::F32, 1 << 16, 1 << 14), ["sum_block_f32"]);
        let backward = MemoryOp::LayerNormBackward;
        assert_eq!(names(backward, Dtype::F32, 9, 512), ["layer_norm_backward_warp_f32"]);
        assert_eq!(names(backward, Dtype::F32, 9, 1024), ["layer_norm_backward_block_f32"]);
        assert_eq!(names(MemoryOp::Cast, Dtype::F32, 1, 9), ["cast_f32_f16"]);
        assert_eq!(names(MemoryOp::Cast, Dtype::Bf16, 1, 9), ["cast_bf16_f32"]);
        assert_eq!(names(MemoryOp::Triangle, Dtype::Bf16, 9, 27), ["triangle_gather_2"]);
    }
}
