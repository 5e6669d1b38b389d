//! Rooflines: the larger of arithmetic over its peak and traffic over the memory's bandwidth.
//!
//! For element-wise ops the reference system tabulates operations and transfers per element;
//! joining runs at 0.79 of the memory's bandwidth, as it measured. For products and attention
//! both follow from the shape.

use kernelgauge_data::{CopyDirection, MemoryOp, MemoryPoint, Point};

use super::published::Device;

/// Operations and transfers per element of one op.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ElementWise {
    /// The op, as the reference system names it.
    pub name: &'static str,
    /// Floating-point operations per element.
    pub flops: f64,
    /// Elements read and written per element.
    pub transfers: f64,
}

const fn row(name: &'static str, flops: f64, transfers: f64) -> ElementWise {
    ElementWise { name, flops, transfers }
}

/// The published table.
pub const ELEMENT_WISE: [ElementWise; 21] = [
    row("relu", 1.0, 2.0),
    row("sigmoid", 4.0, 2.0),
    row("sigmoid_backward", 2.0, 2.0),
    row("bce", 7.0, 3.0),
    row("bce_backward", 4.0, 3.0),
    row("mse", 3.0, 3.0),
    row("mse_backward", 1.0, 3.0),
    row("gelu", 175.0, 2.0),
    row("gelu_backward", 255.0, 2.0),
    row("tanh", 180.0, 2.0),
    row("tanh_backward", 260.0, 2.0),
    row("pow", 180.0, 2.0),
    row("softmax", 174.0, 2.0),
    row("softmax_backward", 2.0, 4.0),
    row("dropout_backward", 2.0, 3.0),
    row("add", 1.0, 3.0),
    row("mul", 1.0, 3.0),
    row("div", 1.0, 3.0),
    row("sum", 1.0, 1.0),
    row("fill", 0.0, 2.0),
    row("copy", 0.0, 2.0),
];

/// Share of the memory's bandwidth that joining reaches.
const CONCAT_SHARE: f64 = 0.79;

/// The row of the table for one of our ops; scaling by a constant reads once, as ReLU does.
fn of(op: MemoryOp) -> Option<&'static ElementWise> {
    let name = match op {
        MemoryOp::Scale => "relu",
        MemoryOp::LayerNorm | MemoryOp::Transpose => return None,
        other => other.name(),
    };
    ELEMENT_WISE.iter().find(|row| row.name == name)
}

/// The roofline of a point, in microseconds.
///
/// # Errors
/// The figure it lacks, or that the op is not one of rooflines.
pub fn time_us(point: &Point, device: &Device) -> Result<f64, String> {
    match point {
        Point::Memory(memory) => element_wise_us(memory, device),
        Point::Gemm(gemm) => Ok(shaped_us(point, gemm.dtype.name(), device)),
        Point::Attention(attention) => Ok(shaped_us(point, attention.dtype.name(), device)),
        Point::Copy(copy) => match copy.direction {
            CopyDirection::DeviceToDevice => Ok(2.0 * copy.bytes as f64 / device.memory_gb_s / 1e3),
            _ => device
                .pcie_gb_s
                .map(|rate| copy.bytes as f64 / rate / 1e3)
                .ok_or_else(|| "no bandwidth of PCI Express is known".to_owned()),
        },
        _ => Err("it is one of products, attention, copies and element-wise ops".to_owned()),
    }
}

fn element_wise_us(point: &MemoryPoint, device: &Device) -> Result<f64, String> {
    let elements = point.elements() as f64;
    let size = point.dtype.size() as f64;
    if point.op == MemoryOp::Concat {
        return Ok(2.0 * size * elements / (CONCAT_SHARE * device.memory_gb_s) / 1e3);
    }
    let row = of(point.op).ok_or_else(|| format!("{} is not in its table", point.op))?;
    let traffic = row.transfers * size * elements / device.memory_gb_s / 1e3;
    let peak = device.peak(point.dtype.name()).or_else(|| device.peak("f32"));
    let arithmetic = peak.map_or(0.0, |peak| row.flops * elements / peak / 1e3);
    Ok(traffic.max(arithmetic))
}

/// Work of the shape over the two peaks; without a peak for the dtype, the traffic alone.
fn shaped_us(point: &Point, dtype: &str, device: &Device) -> f64 {
    let work = point.work();
    let traffic = work.bytes() / device.memory_gb_s / 1e3;
    let arithmetic = device.peak(dtype).map_or(0.0, |peak| work.flops / peak / 1e3);
    traffic.max(arithmetic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::published::v100;
    use kernelgauge_data::Dtype;

    fn op_us(op: MemoryOp, elements: u64) -> f64 {
        let point =
            Point::Memory(MemoryPoint { op, dtype: Dtype::F32, rows: 1, columns: elements });
        time_us(&point, &v100()).unwrap_or(f64::NAN)
    }

    #[test]
    fn ops_are_bound_by_what_the_table_says() {
        // ReLU: two transfers of 4 MB at 817 GB/s; GELU: 175 operations at 15 441.5 GFLOP/s.
        assert!((op_us(MemoryOp::Relu, 1_000_000) - 8.0 / 0.817).abs() < 1e-9);
        assert!((op_us(MemoryOp::Gelu, 1_000_000) - 175.0 / 15.4415).abs() < 1e-9);
        assert!((op_us(MemoryOp::Concat, 1_000_000) - 8.0 / (0.79 * 0.817)).abs() < 1e-9);
        assert!(op_us(MemoryOp::LayerNorm, 1_000_000).is_nan());
    }
}
