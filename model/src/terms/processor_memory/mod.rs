//! Memory-bound ops of the host device: counted steps, each at a fitted cost.
//!
//! `t = sum of count x cost`, no cost negative. The counts follow the kernels ([`mod@counts`]);
//! the costs come from the data ([`mod@fit`]), of hot and of cold operands together: the steps
//! are the same, and only where lines come from differs.

mod counts;
mod fit;

pub(super) use fit::{again, fit};

use kernelgauge_data::Point;
use serde::{Deserialize, Serialize};

use super::{Features, Part, possible};
use crate::math::ln;
use counts::{Counts, Processor, counts};

/// Costs of an op in nanoseconds, and the processor that they belong to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProcessorMemoryTerm {
    /// Whether the operands were evicted before each execution.
    cold: bool,
    threads: u64,
    /// Lanes of the unrolled loop over a row.
    block: u64,
    /// Lanes of the loop over what that leaves.
    vector: u64,
    second_level_bytes: f64,
    last_level_bytes: f64,
    /// In the order of [`counts::COSTS`].
    costs_ns: Counts,
}

impl ProcessorMemoryTerm {
    fn new(cold: bool, processor: &Processor, costs_ns: Counts) -> Self {
        ProcessorMemoryTerm {
            cold,
            threads: processor.threads,
            block: processor.block,
            vector: processor.vector,
            second_level_bytes: processor.second_level,
            last_level_bytes: processor.last_level,
            costs_ns,
        }
    }

    fn processor(&self) -> Processor {
        Processor {
            threads: self.threads,
            block: self.block,
            vector: self.vector,
            second_level: self.second_level_bytes,
            last_level: self.last_level_bytes,
        }
    }

    pub(super) fn log_ns(&self, point: &Point, features: &mut Features) -> f64 {
        let Point::Memory(point) = point else { return 0.0 };
        let counts = counts(&self.processor(), point, self.cold);
        let total: f64 = counts.iter().zip(&self.costs_ns).map(|(count, cost)| count * cost).sum();
        let [rows, columns] = [point.rows, point.columns].map(|value| value as f64);
        for value in [rows, columns, rows * columns] {
            features.push(value);
        }
        for step in &counts[2..8] {
            features.push(*step / (rows * columns).max(1.0));
        }
        features.push(total);
        ln(total)
    }

    pub(super) fn parts(&self, point: &Point) -> Vec<Part> {
        let Point::Memory(point) = point else { return Vec::new() };
        let counts = counts(&self.processor(), point, self.cold);
        let of = |steps: std::ops::Range<usize>| -> f64 {
            steps.map(|step| counts[step] * self.costs_ns[step]).sum()
        };
        vec![
            Part::new("launch", of(0..2) + of(17..18)),
            Part::new("arithmetic", of(2..5)),
            Part::new("rows", of(5..8)),
            Part::new("cache", of(8..12)),
            Part::new("memory", of(12..17) + of(18..19)),
        ]
    }

    pub(super) fn floor_ns(&self) -> f64 {
        self.costs_ns[0]
    }

    pub(super) fn is_sound(&self) -> bool {
        (1..=4096).contains(&self.threads)
            && (1..=1024).contains(&self.vector)
            && (self.vector..=1024).contains(&self.block)
            && possible(&[self.second_level_bytes, self.last_level_bytes])
            && possible(&self.costs_ns)
            && self.costs_ns[0] > 0.0
    }
}
