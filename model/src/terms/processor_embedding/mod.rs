//! Embedding bags of the host device: counted steps, each at a fitted cost.
//!
//! `t = sum of count x cost`, no cost negative. The counts follow the kernels ([`mod@counts`]); the
//! costs come from the data ([`mod@fit`]): of all ways in which indices are drawn together, and
//! backward of all optimizers, since the steps are the same. How indices are drawn enters
//! through the rows a batch touches.

mod counts;
mod fit;

pub(super) use fit::{again, fit};

use kernelgauge_data::{EmbeddingPoint, Point};
use serde::{Deserialize, Serialize};

use super::{Features, Part, possible};
use crate::math::ln;
use counts::{Counts, Processor, counts};

/// Costs of a pass in nanoseconds, and the processor that they belong to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProcessorEmbeddingTerm {
    threads: u64,
    /// Lanes of the unrolled loop over a row.
    block: u64,
    /// Lanes of the loop over what that leaves.
    vector: u64,
    second_level_bytes: f64,
    last_level_bytes: f64,
    /// Bytes that the address translation reaches.
    reach_bytes: f64,
    /// In the order of [`counts::COSTS`].
    costs_ns: Counts,
}

impl ProcessorEmbeddingTerm {
    fn new(processor: &Processor, costs_ns: Counts) -> Self {
        ProcessorEmbeddingTerm {
            threads: processor.threads,
            block: processor.block,
            vector: processor.vector,
            second_level_bytes: processor.second_level,
            last_level_bytes: processor.last_level,
            reach_bytes: processor.reach,
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
            reach: self.reach_bytes,
        }
    }

    fn counted(&self, point: &EmbeddingPoint) -> (f64, Counts) {
        let distinct = point.distinct_rows();
        (distinct, counts(&self.processor(), point, distinct))
    }

    pub(super) fn log_ns(&self, point: &Point, features: &mut Features) -> f64 {
        let Point::Embedding(point) = point else { return 0.0 };
        let (distinct, counts) = self.counted(point);
        let total: f64 = counts.iter().zip(&self.costs_ns).map(|(count, cost)| count * cost).sum();
        let [tables, rows, dim, batch, pooling] =
            [point.tables, point.rows, point.dim, point.batch, point.pooling].map(|v| v as f64);
        for value in [tables, rows, dim, batch, pooling, batch * pooling, tables * batch] {
            features.push(value);
        }
        features.push(distinct / (batch * pooling).max(1.0));
        features.push(distinct * dim);
        features.push(tables * distinct * dim);
        features.push(tables * rows * dim);
        features.push(total);
        ln(total)
    }

    pub(super) fn parts(&self, point: &Point) -> Vec<Part> {
        let Point::Embedding(point) = point else { return Vec::new() };
        let (distinct, counts) = self.counted(point);
        let of = |steps: &[usize]| -> f64 {
            steps.iter().map(|step| counts[*step] * self.costs_ns[*step]).sum()
        };
        let reuse = point.lookups() as f64 / distinct.max(1.0);
        let mut parts = vec![
            Part::new("launch", of(&[0, 1])),
            Part::new("lookups", of(&[2, 3, 4, 5, 6])),
            Part::new("cache", of(&[7, 8, 12])),
            Part::new("memory", of(&[9, 10, 11]))
                .with(format!("each distinct row looked up {reuse:.2} times")),
        ];
        if point.direction == kernelgauge_data::Direction::Backward {
            parts.push(Part::new("sorting", of(&[13, 14, 15, 16, 17])));
            let updates: Vec<usize> = (18..counts::COSTS.len()).collect();
            parts.push(Part::new("updates", of(&updates)));
        }
        parts
    }

    pub(super) fn floor_ns(&self) -> f64 {
        self.costs_ns[0]
    }

    pub(super) fn is_sound(&self) -> bool {
        (1..=4096).contains(&self.threads)
            && (1..=1024).contains(&self.vector)
            && (self.vector..=1024).contains(&self.block)
            && possible(&[self.second_level_bytes, self.last_level_bytes, self.reach_bytes])
            && possible(&self.costs_ns)
            && self.costs_ns[0] > 0.0
    }
}
