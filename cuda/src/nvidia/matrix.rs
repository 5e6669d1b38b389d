//! Memory-bound ops on a matrix: operands, launches, comparison.
//!
//! Results of up to [`MOST_COMPARED`] elements are compared whole with the plain reference; of
//! larger ones the first, the last and random stretches are.

use std::sync::Arc;

use kernelgauge_data::{Failure, MemoryOp, MemoryPoint};

use super::context::Context;
use super::element::Element;
use super::kernels::memory::launches;
use super::loaded::LoadedKernels;
use super::memory::DeviceBuffer;
use super::module::{Argument, Launch};
use super::operand::{Operand, room};
use super::sequence::{Check, Sequence};
use super::stream::Stream;
use crate::host::compare::{Deviation, MOST_COMPARED, sample};
use crate::host::memory::reference::Reference;
use crate::host::memory::{CONSTANT, KEPT_SCALE, VARIANCE_FLOOR, dropout_threshold, lengths};

/// What a result holds before it is computed: no op yields it, since it is no number.
const SPOILED: u8 = 0xff;
/// Stretches of a large result that are read.
const STRETCHES: usize = 64;

/// Bytes of the operands of `point`, with what lies between launches; none on overflow.
pub fn bytes(point: &MemoryPoint, units: u32) -> Option<u64> {
    let operands: u64 = lengths(point)?
        .into_iter()
        .map(|length| length.checked_mul(point.dtype.size()))
        .try_fold(0_u64, |sum, bytes| sum.checked_add(bytes?))?;
    operands.checked_add(partial_floats(point, units).checked_mul(4)?)
}

/// Floats that kernels leave beside the result: partial sums, means and factors of rows.
fn partial_floats(point: &MemoryPoint, units: u32) -> u64 {
    match point.op {
        MemoryOp::Sum => point.rows.saturating_mul(parts(point, units)),
        MemoryOp::LayerNorm | MemoryOp::LayerNormBackward => point.rows.saturating_mul(2),
        _ => 0,
    }
}

fn parts(point: &MemoryPoint, units: u32) -> u64 {
    super::kernels::geometry::parts(point.rows, point.columns, units)
}

/// `point` with its operands in place.
///
/// # Errors
/// When there is no room or no kernel, or what the driver says.
pub fn prepared(
    point: &MemoryPoint,
    stream: &Stream,
    kernels: &mut LoadedKernels,
    seed: u64,
) -> Result<Sequence<Matrix>, Failure> {
    let refuse = |what: &str| Failure::Device(format!("{} of {}: {what}", point.op, point.dtype));
    let element = Element::of(point.dtype).ok_or_else(|| refuse("no kernel"))?;
    let [first, second, result] = lengths(point).ok_or_else(|| refuse("operands overflow"))?;
    let context = stream.context();
    let result_element = match point.op {
        MemoryOp::Cast => Element::of(MemoryPoint::cast_to(point.dtype)),
        _ => Some(element),
    };
    let elements = if point.op == MemoryOp::Cast { point.elements() } else { result };
    let matrix = Matrix {
        point: *point,
        element: result_element.ok_or_else(|| refuse("no kernel"))?,
        first: Operand::random(stream, element, first, (seed, 0))?,
        second: Operand::random(stream, element, second, (seed, 1))?,
        result: room(context, element, result)?,
        partial: partial(context, partial_floats(point, kernels.units()))?,
        elements: usize::try_from(elements).map_err(|_| refuse("operands overflow"))?,
        seed,
    };
    let planned = launches(point, kernels.units()).ok_or_else(|| refuse("no kernel"))?;
    let name = planned.iter().map(|launch| launch.entry.name).collect::<Vec<_>>().join(" + ");
    let mut made: Vec<Launch> = Vec::new();
    for (step, launch) in planned.iter().enumerate() {
        let arguments = matrix.arguments(step, planned.len(), kernels.units());
        made.push(kernels.launch_on(launch.entry.name, launch.geometry, &arguments)?);
    }
    if point.op == MemoryOp::LayerNormBackward {
        matrix.forward_pass(stream, kernels)?;
    }
    stream.synchronize()?;
    Ok(Sequence::new(name, made, matrix))
}

fn partial(context: &Arc<Context>, floats: u64) -> Result<DeviceBuffer, Failure> {
    room(context, Element::F32, floats)
}

/// The operands of a memory-bound op.
#[derive(Debug)]
pub struct Matrix {
    point: MemoryPoint,
    /// That of the result.
    element: Element,
    first: Operand,
    second: Operand,
    result: DeviceBuffer,
    partial: DeviceBuffer,
    elements: usize,
    seed: u64,
}

impl Matrix {
    /// The arguments of launch `step` of `steps`, in the order of the kernel's parameters
    /// (`cuda/kernels`).
    fn arguments(&self, step: usize, steps: usize, units: u32) -> Vec<Argument> {
        let MemoryPoint { op, rows, columns, .. } = self.point;
        let (a, b, out) = (self.first.buffer(), self.second.buffer(), &self.result);
        let elements = self.point.elements();
        match op {
            MemoryOp::Add => vec![a.into(), b.into(), out.into(), elements.into()],
            MemoryOp::Scale => {
                vec![a.into(), out.into(), (CONSTANT as f32).into(), elements.into()]
            }
            MemoryOp::Fill => vec![out.into(), (CONSTANT as f32).into(), elements.into()],
            MemoryOp::Relu | MemoryOp::Sigmoid | MemoryOp::Gelu | MemoryOp::Cast => {
                vec![a.into(), out.into(), elements.into()]
            }
            MemoryOp::Sum if steps == 1 => vec![a.into(), out.into(), rows.into(), columns.into()],
            MemoryOp::Sum if step == 0 => {
                vec![a.into(), (&self.partial).into(), rows.into(), columns.into()]
            }
            MemoryOp::Sum => {
                let parts = parts(&self.point, units);
                vec![(&self.partial).into(), out.into(), rows.into(), parts.into()]
            }
            MemoryOp::Softmax | MemoryOp::Transpose | MemoryOp::Triangle => {
                vec![a.into(), out.into(), rows.into(), columns.into()]
            }
            MemoryOp::Dropout => vec![
                a.into(),
                out.into(),
                elements.into(),
                dropout_threshold().into(),
                (KEPT_SCALE as f32).into(),
                self.seed.into(),
            ],
            MemoryOp::LayerNorm => {
                // Weights lie before biases, means before factors.
                let biases = b.pointer() + columns * self.point.dtype.size();
                vec![
                    a.into(),
                    b.into(),
                    Argument::Pointer(biases),
                    out.into(),
                    (&self.partial).into(),
                    Argument::Pointer(self.factors()),
                    (VARIANCE_FLOOR as f32).into(),
                    rows.into(),
                    columns.into(),
                ]
            }
            MemoryOp::LayerNormBackward => vec![
                a.into(),
                b.into(),
                self.weights(),
                (&self.partial).into(),
                Argument::Pointer(self.factors()),
                out.into(),
                rows.into(),
                columns.into(),
            ],
            MemoryOp::Concat => {
                let half = columns / 2;
                vec![a.into(), b.into(), out.into(), rows.into(), half.into(), half.into()]
            }
        }
    }

    /// Address of the factors of rows, which lie behind their means.
    fn factors(&self) -> u64 {
        self.partial.pointer() + self.point.rows * 4
    }

    /// The weights of a backward pass, which lie behind the input of the forward one.
    fn weights(&self) -> Argument {
        let matrix = self.point.elements() * self.point.dtype.size();
        Argument::Pointer(self.second.buffer().pointer() + matrix)
    }

    /// Leaves mean and factor of each row, as a forward pass before the backward one does; its
    /// result is overwritten, so its biases may be anything.
    fn forward_pass(&self, stream: &Stream, kernels: &mut LoadedKernels) -> Result<(), Failure> {
        let MemoryPoint { rows, columns, .. } = self.point;
        let forward = MemoryPoint { op: MemoryOp::LayerNorm, ..self.point };
        for launch in launches(&forward, kernels.units()).unwrap_or_default() {
            let arguments = [
                self.second.buffer().into(),
                self.weights(),
                self.weights(),
                (&self.result).into(),
                (&self.partial).into(),
                Argument::Pointer(self.factors()),
                (VARIANCE_FLOOR as f32).into(),
                rows.into(),
                columns.into(),
            ];
            kernels.launch_on(launch.entry.name, launch.geometry, &arguments)?.enqueue(stream)?;
        }
        Ok(())
    }

    fn reference(&self) -> Reference<&Operand> {
        Reference {
            op: self.point.op,
            rows: self.point.rows as usize,
            columns: self.point.columns as usize,
            first: &self.first,
            second: &self.second,
            precision: self.element.precision(),
            seed: self.seed,
        }
    }
}

impl Check for Matrix {
    fn spoil(&mut self) -> Result<(), Failure> {
        self.result.clear(SPOILED)
    }

    fn compare(&mut self) -> Result<(), Failure> {
        let reference = self.reference();
        let unit = reference.unit();
        let bytes = unit * self.element.bytes();
        let mut deviation = Deviation::default();
        for (first, count) in stretches(self.elements / unit, reference.cost(), self.seed) {
            let mut stored = vec![0; count * bytes];
            self.result.read(first * bytes, &mut stored)?;
            let found: Vec<f64> = self.element.read(&stored).into_iter().map(f64::from).collect();
            for (number, found) in found.chunks_exact(unit).enumerate() {
                reference.check(first + number, found, &mut deviation);
            }
        }
        deviation.verdict()
    }
}

/// First unit and number of units of every stretch to compare, of `units` that take `cost`
/// elements each: all in one where that is little, else some at random with both ends.
fn stretches(units: usize, cost: usize, seed: u64) -> Vec<(usize, usize)> {
    let most = (MOST_COMPARED / cost.max(1)).max(2);
    if units <= most {
        return vec![(0, units)];
    }
    let count = STRETCHES.min(most);
    let length = (most / count).max(1);
    sample(units.div_ceil(length), count, seed)
        .into_iter()
        .map(|number| (number * length, length.min(units - number * length)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_hold_both_ends_and_stay_within() {
        assert_eq!(stretches(1000, 1, 0), [(0, 1000)]);
        for (units, cost) in [((1 << 28) + 3, 1), (100_000, 1000), (5, 1 << 20)] {
            let found = stretches(units, cost, 1);
            assert!(found.len() >= 2 && found[0].0 == 0, "{found:?}");
            assert_eq!(found[1].0 + found[1].1, units);
            assert!(found.iter().all(|(first, count)| first + count <= units && *count > 0));
            let elements: usize = found.iter().map(|(_, count)| count * cost).sum();
            assert!(elements <= MOST_COMPARED.max(2 * cost), "{elements}");
        }
    }
}
