//! Memory-bound ops over rows, on GPUs: passes over each row, from memory or from the cache.
//!
//! A softmax reads its row three times (largest value, sum, result), a layer normalisation twice
//! (moments, result). What the device's units have in flight at once is `units x row bytes`;
//! where that fits into the last-level cache the later passes come from there, where it does
//! not they cost memory traffic again, in between a smooth step of it. Beside the traffic units
//! work off elements and rows at a rate of their own; the slower of the two decides, joined by a
//! p-norm. A row is rounded up to whole blocks of threads, which a vector of four elements each
//! keeps busy.
//!
//! Unlike `traffic`, whose constants belong to one machine, these are shares of what a machine
//! sustains: they carry over to machines that were never measured.

mod shared;

pub(crate) use shared::SharedPasses;
pub(in crate::terms) use shared::shared;

use kernelgauge_data::{MemoryOp, MemoryPoint, Point};
use serde::{Deserialize, Serialize};

use super::pooled::joined;
use super::{Features, Part, possible};
use crate::math::{exp, ln, log2, pow, round9};

/// Elements that a thread takes at once.
const VECTOR: f64 = 4.0;

/// Most threads of a block (CUDA C++ programming guide, technical specifications).
const THREADS: f64 = 1024.0;

/// Constants of a memory-bound op. Rates are per nanosecond.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PassesTerm {
    units: u32,
    cache_bytes: f64,
    launch_ns: f64,
    memory_bytes_per_ns: f64,
    /// Bytes in flight over the cache's at which half of the later passes miss it, inverted.
    spill: f64,
    /// How steep the step around it is.
    steepness: f64,
    /// Time of an element, and of a row, on one unit.
    element_ns: f64,
    row_ns: f64,
    /// Exponent of the p-norm.
    exponent: f64,
}

/// The parts of one point.
struct Parts {
    memory_ns: f64,
    units_ns: f64,
    /// Share of the later passes that miss the cache.
    missed: f64,
}

impl PassesTerm {
    /// From logarithms, in the order of the fields after the cache.
    fn of(units: u32, cache_bytes: f64, parameters: &[f64]) -> Self {
        let constant = |index: usize| round9(exp(parameters[index]));
        PassesTerm {
            units,
            cache_bytes,
            launch_ns: constant(0),
            memory_bytes_per_ns: constant(1),
            spill: constant(2),
            steepness: constant(3),
            element_ns: constant(4),
            row_ns: constant(5),
            exponent: constant(6),
        }
    }

    fn of_point(&self, point: &MemoryPoint) -> Parts {
        let [rows, columns] = [point.rows, point.columns].map(|value| value as f64);
        let units = f64::from(self.units.max(1));
        let row_bytes = columns * point.dtype.size() as f64;
        let in_flight = units * row_bytes / self.cache_bytes.max(1.0) * self.spill;
        let missed = 1.0 - 1.0 / (1.0 + pow(in_flight, self.steepness));
        let again = later_passes(point.op) * rows * row_bytes;
        let bytes = Point::Memory(*point).work().bytes() + again * missed;
        let elements = if point.op.is_elementwise() { columns } else { whole_blocks(columns) };
        Parts {
            memory_ns: bytes / self.memory_bytes_per_ns,
            units_ns: rows * (elements * self.element_ns + self.row_ns) / units,
            missed,
        }
    }

    fn total_ns(&self, point: &MemoryPoint) -> f64 {
        let parts = self.of_point(point);
        self.launch_ns + joined(parts.memory_ns, parts.units_ns, ln(self.exponent))
    }

    pub(super) fn log_ns(&self, point: &Point, features: &mut Features) -> f64 {
        let Point::Memory(point) = point else { return 0.0 };
        let parts = self.of_point(point);
        let total = self.launch_ns + joined(parts.memory_ns, parts.units_ns, ln(self.exponent));
        let [rows, columns] = [point.rows, point.columns].map(|value| value as f64);
        let units = f64::from(self.units.max(1));
        for value in [rows, columns, point.elements() as f64, rows / units] {
            features.push(value);
        }
        features.push(f64::from(point.columns.trailing_zeros().min(12)));
        features.push(columns / whole_blocks(columns));
        features.push(parts.missed);
        features.push(parts.units_ns / parts.memory_ns.max(1e-9));
        features.push(self.launch_ns / total);
        features.push(self.memory_bytes_per_ns / units);
        ln(total)
    }

    pub(super) fn parts(&self, point: &Point) -> Vec<Part> {
        let Point::Memory(point) = point else { return Vec::new() };
        let parts = self.of_point(point);
        let mut memory = Part::new("memory", parts.memory_ns);
        if later_passes(point.op) > 0.0 {
            let missed = parts.missed * 100.0;
            memory = memory.with(format!("{missed:.0} % of the later passes miss the cache"));
        }
        vec![Part::new("launch", self.launch_ns), memory, Part::new("units", parts.units_ns)]
    }

    pub(super) fn floor_ns(&self) -> f64 {
        self.launch_ns
    }

    pub(super) fn is_sound(&self) -> bool {
        possible(&[self.launch_ns, self.memory_bytes_per_ns, self.cache_bytes])
            && possible(&[self.spill, self.steepness, self.element_ns, self.row_ns])
            && self.launch_ns > 0.0
            && self.memory_bytes_per_ns > 0.0
            && (0.5..=64.0).contains(&self.exponent)
    }
}

/// How often a row is read again after it was read once.
fn later_passes(op: MemoryOp) -> f64 {
    match op {
        MemoryOp::Softmax => 2.0,
        MemoryOp::LayerNorm => 1.0,
        _ => 0.0,
    }
}

/// Elements of a row in whole blocks of threads: the smallest power of two that takes the row's
/// vectors at once, or as many of the largest as it needs.
fn whole_blocks(columns: f64) -> f64 {
    let vectors = (columns / VECTOR).max(1.0);
    let at_once = pow(2.0, log2(vectors).ceil());
    let block = at_once.clamp(32.0, THREADS);
    (vectors / block).ceil() * block * VECTOR
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernelgauge_data::Dtype;

    fn term() -> PassesTerm {
        let ln = crate::math::ln;
        let constants = [5e3, 1300.0, 16.0, 4.0, 1e-2, 10.0, 4.0].map(ln);
        PassesTerm::of(108, 40e6, &constants)
    }

    fn point(op: MemoryOp, rows: u64, columns: u64) -> MemoryPoint {
        MemoryPoint { op, dtype: Dtype::F32, rows, columns }
    }

    #[test]
    fn long_rows_are_read_again_and_short_ones_from_the_cache() {
        let term = term();
        let ratio = |op, columns: u64| {
            let plain = Point::Memory(point(op, 1 << 16, columns)).work().bytes() / 1300.0;
            (term.total_ns(&point(op, 1 << 16, columns)) - 5e3) / plain
        };
        assert!(ratio(MemoryOp::Softmax, 1024) < 1.1);
        assert!((1.8..2.1).contains(&ratio(MemoryOp::Softmax, 1 << 16)));
        assert!((1.3..1.6).contains(&ratio(MemoryOp::LayerNorm, 1 << 16)));
        assert!(ratio(MemoryOp::Relu, 1 << 16) < 1.1);
    }

    #[test]
    fn blocks_are_powers_of_two_up_to_the_largest() {
        let pairs = [(4.0, 128.0), (1024.0, 1024.0), (1280.0, 2048.0), (5000.0, 8192.0)];
        for (columns, blocks) in pairs {
            assert_eq!(whole_blocks(columns), blocks, "{columns}");
        }
    }
}
