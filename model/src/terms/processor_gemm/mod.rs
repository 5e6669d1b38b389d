//! Matrix products of the `gemm` crate on a processor: counted steps, each at a fitted cost.
//!
//! `t = sum of count x cost`, no cost negative. The counts follow the crate's own decisions
//! ([`blocking`]): when columns that do not fill vectors are packed and by how many threads,
//! when threads are used at all, and what falls out of the caches. The costs come from the data
//! ([`mod@fit`]). Unlike other formulas this one may fall as the work grows, as the time does:
//! 1024 columns need no packing, 1000 do.

mod blocking;
mod fit;

pub(super) use fit::fit;

use kernelgauge_data::{GemmPoint, Point};
use serde::{Deserialize, Serialize};

use super::{Features, Part, possible};
use crate::math::ln;
use blocking::{Counts, Processor, SPREAD_WORK, counts};

/// Costs of a product in nanoseconds, and the processor that they belong to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProcessorGemmTerm {
    threads: u32,
    vector_bytes: u32,
    /// Vectors along a microkernel.
    vectors: u32,
    /// Columns across it.
    columns: u32,
    /// Second-level cache of one core, as the crate was found to use it.
    cache_bytes: u32,
    /// In the order of [`blocking::COSTS`].
    costs_ns: Counts,
}

impl ProcessorGemmTerm {
    fn processor(&self) -> Processor {
        Processor {
            threads: u64::from(self.threads),
            vector_bytes: u64::from(self.vector_bytes),
            vectors: u64::from(self.vectors),
            columns: u64::from(self.columns),
            cache_bytes: u64::from(self.cache_bytes),
        }
    }

    fn total_ns(&self, counts: &Counts) -> f64 {
        counts.iter().zip(&self.costs_ns).map(|(count, cost)| count * cost).sum()
    }

    pub(super) fn log_ns(&self, point: &Point, features: &mut Features) -> f64 {
        let Point::Gemm(point) = point else { return 0.0 };
        let processor = self.processor();
        let counts = batched(&processor, point);
        let total = self.total_ns(&counts);
        let [batch, m, n, k] = [point.batch, point.m, point.n, point.k].map(|value| value as f64);
        for value in [m, n, k, m * n, m * k, n * k, m * n * k, batch] {
            features.push(value);
        }
        let lanes = (processor.vector_bytes / point.dtype.size()).max(1);
        features.push((point.n % lanes) as f64);
        features.push((point.m % processor.columns) as f64);
        features.push(n * k * point.dtype.size() as f64 / processor.cache_bytes as f64);
        for count in &counts[1..] {
            features.push(*count / counts[2]);
        }
        features.push(total);
        ln(total)
    }

    pub(super) fn parts(&self, point: &Point) -> Vec<Part> {
        let Point::Gemm(point) = point else { return Vec::new() };
        let counts = batched(&self.processor(), point);
        let of =
            |steps: &[usize]| steps.iter().map(|step| counts[*step] * self.costs_ns[*step]).sum();
        vec![
            Part::new("launch", of(&[0, 1])),
            Part::new("arithmetic", of(&[2, 3, 4, 13])),
            Part::new("packing", of(&[5, 6, 7])),
            Part::new("memory", of(&[8, 9, 10, 11, 12])),
        ]
    }

    pub(super) fn floor_ns(&self) -> f64 {
        self.costs_ns[0]
    }

    pub(super) fn is_sound(&self) -> bool {
        (1..=4096).contains(&self.threads)
            && (8..=256).contains(&self.vector_bytes)
            && (1..=64).contains(&self.vectors)
            && (1..=64).contains(&self.columns)
            && (1 << 14..=1 << 30).contains(&self.cache_bytes)
            && possible(&self.costs_ns)
            && self.costs_ns[0] > 0.0
    }
}

/// Counts of the whole batch: many small products go to one thread each, others one after the
/// other to all threads.
fn batched(processor: &Processor, point: &GemmPoint) -> Counts {
    let batch = point.batch as f64;
    let work = batch * point.m as f64 * point.n as f64 * point.k as f64;
    let threads = processor.threads;
    if threads > 1 && batch >= 2.0 * threads as f64 && work >= SPREAD_WORK {
        let rounds = (batch / threads as f64).ceil();
        let mut spread = counts(processor, point, 1).map(|count| count * rounds);
        spread[1] = 1.0;
        return spread;
    }
    counts(processor, point, threads).map(|count| count * batch)
}
