//! Embedding bags: traffic with cache reuse, phase by phase.
//!
//! `t = launch + lookups * lookup + sort + norm4(gather, elements * element) + update + fill`.
//! Sort, gather and update are what [`mod@traffic`] counts, each the norm2 of its bytes over the
//! memory's and the cache's rate; backward each distinct row costs `update` per element on top,
//! a dense gradient its zeroes, and sorting its launches. The traffic model is the reference
//! system's (`reference::embedding`) with the hit rate smoothed, the backward pass as kernels
//! that sort do it, and constants that are fitted ([`mod@fit`]) or, where nothing was measured,
//! follow from what the machine's maker states (`described`).

mod fit;
mod traffic;

pub(super) use fit::fit;

use kernelgauge_data::{EmbeddingPoint, Point};
use serde::{Deserialize, Serialize};

use super::described::Figures;
use super::{Features, Part, possible};
use crate::math::{exp, ln, round9};
use traffic::{Cache, Moved, Traffic};

/// Constants of an embedding bag. Rates are per nanosecond.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmbeddingTerm {
    /// Whether the operands were evicted before each execution, so that first touches miss.
    cold: bool,
    launch_ns: f64,
    memory_bytes_per_ns: f64,
    cache_bytes_per_ns: f64,
    capacity_bytes: f64,
    lookup_ns: f64,
    /// For each element looked up.
    element_ns: f64,
    /// For each element of a distinct row of a backward pass, beside its traffic.
    update_ns: f64,
    /// For each byte that is set to zero.
    fill_ns: f64,
    /// Launches of a sort.
    sort_ns: f64,
}

/// Nanoseconds of the parts of a pass.
struct Times {
    lookups: f64,
    sort: f64,
    memory: f64,
    cache: f64,
    elements: f64,
    gather: f64,
    update: f64,
    fill: f64,
}

impl EmbeddingTerm {
    /// The memory rate is given relative to the cache's, so that it cannot exceed it.
    fn of(cold: bool, parameters: &[f64]) -> Self {
        let cache = exp(parameters[1]);
        let constant = |index: usize| round9(exp(parameters[index]));
        EmbeddingTerm {
            cold,
            launch_ns: constant(0),
            cache_bytes_per_ns: round9(cache),
            memory_bytes_per_ns: round9(cache * exp(parameters[2])),
            capacity_bytes: constant(3),
            lookup_ns: constant(4),
            element_ns: constant(5),
            update_ns: constant(6),
            fill_ns: constant(7),
            sort_ns: constant(8),
        }
    }

    /// The term with a maker's figures: all traffic at the bandwidths these sustain.
    pub(super) fn described(figures: &Figures) -> Self {
        EmbeddingTerm {
            cold: false,
            launch_ns: figures.launch_ns,
            memory_bytes_per_ns: figures.memory_bytes_per_ns,
            cache_bytes_per_ns: figures.cache_bytes_per_ns,
            capacity_bytes: figures.capacity_bytes,
            lookup_ns: 0.0,
            element_ns: 0.0,
            update_ns: 0.0,
            fill_ns: 1.0 / figures.memory_bytes_per_ns,
            sort_ns: 0.0,
        }
    }

    fn traffic(&self, point: &EmbeddingPoint, distinct: f64) -> Traffic {
        Traffic::of(point, distinct, Cache { cold: self.cold, capacity: self.capacity_bytes })
    }

    fn phase(&self, moved: Moved) -> f64 {
        let memory = moved.memory / self.memory_bytes_per_ns;
        let cache = moved.cache / self.cache_bytes_per_ns;
        (memory * memory + cache * cache).sqrt()
    }

    fn times(&self, traffic: &Traffic) -> Times {
        let gather = self.phase(traffic.gather);
        let elements = traffic.elements * self.element_ns;
        let [g, e] = [gather, elements].map(|v| (v * v) * (v * v));
        let launches = if traffic.sorts { self.sort_ns } else { 0.0 };
        Times {
            lookups: traffic.lookups * self.lookup_ns,
            sort: launches + self.phase(traffic.sort),
            memory: traffic.gather.memory / self.memory_bytes_per_ns,
            cache: traffic.gather.cache / self.cache_bytes_per_ns,
            elements,
            gather: (g + e).sqrt().sqrt(),
            update: self.phase(traffic.update) + traffic.updated * self.update_ns,
            fill: traffic.filled * self.fill_ns,
        }
    }

    fn total_ns(&self, traffic: &Traffic) -> f64 {
        let times = self.times(traffic);
        self.launch_ns + times.lookups + times.sort + times.gather + times.update + times.fill
    }

    pub(super) fn log_ns(&self, point: &Point, features: &mut Features) -> f64 {
        let Point::Embedding(point) = point else { return 0.0 };
        let traffic = self.traffic(point, point.distinct_rows());
        let times = self.times(&traffic);
        let total = self.total_ns(&traffic);
        let [tables, rows, dim, batch, pooling] =
            [point.tables, point.rows, point.dim, point.batch, point.pooling].map(|v| v as f64);
        for value in [tables, rows, dim, batch, pooling, batch * pooling, tables * batch] {
            features.push(value);
        }
        features.push(traffic.distinct / traffic.lookups.max(1.0));
        features.push(traffic.lookups / (tables * rows));
        features.push(traffic.table);
        features.push(traffic.table * tables);
        features.push(traffic.gather.cache / traffic.gather.memory.max(1.0));
        features.push(rows * dim);
        features.push(traffic.elements);
        features.push(traffic.updated);
        features.push(times.gather / total);
        features.push(total);
        ln(total)
    }

    pub(super) fn parts(&self, point: &Point) -> Vec<Part> {
        let Point::Embedding(point) = point else { return Vec::new() };
        let traffic = self.traffic(point, point.distinct_rows());
        let times = self.times(&traffic);
        let reuse = point.lookups() as f64 / traffic.distinct.max(1.0);
        let mut parts = vec![Part::new("launch", self.launch_ns)];
        let mut some = |part: Part| {
            if part.nanos > 0.0 {
                parts.push(part);
            }
        };
        some(Part::new("lookups", times.lookups));
        some(Part::new("sorting", times.sort));
        some(Part::new("updates", times.update));
        some(Part::new("zeroes", times.fill));
        some(
            Part::new("memory", times.memory)
                .with(format!("each distinct row looked up {reuse:.2} times")),
        );
        some(Part::new("cache", times.cache));
        some(Part::new("arithmetic", times.elements));
        parts
    }

    pub(super) fn floor_ns(&self) -> f64 {
        self.launch_ns
    }

    pub(super) fn is_sound(&self) -> bool {
        let rates = [self.memory_bytes_per_ns, self.cache_bytes_per_ns];
        let costs = [self.lookup_ns, self.element_ns, self.update_ns, self.fill_ns, self.sort_ns];
        possible(&[self.launch_ns, self.capacity_bytes])
            && possible(&costs)
            && possible(&rates)
            && rates.iter().all(|rate| *rate > 0.0)
            && self.launch_ns > 0.0
    }
}
