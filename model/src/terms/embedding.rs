//! Embedding bags: traffic with cache reuse.
//!
//! Of the lookups into a table, the first to each distinct row comes from memory and the rest
//! from the cache as far as the touched rows fit there; indices, offsets, outputs (and, backward,
//! gradients and row updates) stream. `t = launch + lookups * lookup + norm2(memory bytes /
//! memory rate, cache bytes / cache rate)`. The traffic model is the reference system's
//! (`reference::embedding`), with the hit rate smoothed and its constants fitted.

use kernelgauge_data::{CacheState, Direction, EmbeddingPoint, Machine, Point};
use serde::{Deserialize, Serialize};

use super::{Features, Part, possible, thinned};
use crate::least_squares::{Bounded, minimise};
use crate::math::{exp, ln, round9};
use crate::rows::Row;

/// Memory is moved in sectors of this many bytes (32 on NVIDIA devices since Volta).
const SECTOR: f64 = 32.0;

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
}

/// Bytes by where they come from.
struct Traffic {
    memory: f64,
    cache: f64,
    lookups: f64,
    distinct: f64,
    table: f64,
}

impl EmbeddingTerm {
    /// The memory rate is given relative to the cache's, so that it cannot exceed it.
    fn of(cold: bool, parameters: &[f64]) -> Self {
        let cache = exp(parameters[1]);
        EmbeddingTerm {
            cold,
            launch_ns: round9(exp(parameters[0])),
            cache_bytes_per_ns: round9(cache),
            memory_bytes_per_ns: round9(cache * exp(parameters[2])),
            capacity_bytes: round9(exp(parameters[3])),
            lookup_ns: round9(exp(parameters[4])),
        }
    }

    /// Share of `footprint` bytes that the cache does not hold.
    fn missed(&self, footprint: f64) -> f64 {
        let square = footprint * footprint;
        square / (square + self.capacity_bytes * self.capacity_bytes).max(1e-300)
    }

    fn traffic(&self, point: &EmbeddingPoint, distinct: f64) -> Traffic {
        let [tables, batch, dim] = [point.tables, point.batch, point.dim].map(|v| v as f64);
        let row_bytes = dim * point.dtype.size() as f64;
        let row = sectors(row_bytes);
        let lookups = point.lookups() as f64;
        let backward = point.direction == Direction::Backward;
        // A backward pass reads and writes each row.
        let passes = if backward { 2.0 } else { 1.0 };
        let table = distinct * row;
        let first = if self.cold { 1.0 } else { self.missed(tables * table) };
        let again = (lookups - distinct).max(0.0);
        let again_missed = again * self.missed(table);
        let from_memory = distinct * first + again_missed;
        let streamed = lookups * 8.0 + batch * 8.0 + batch * row;
        Traffic {
            memory: tables * (from_memory * row * passes + streamed),
            cache: tables * (lookups - from_memory).max(0.0) * row * passes,
            lookups: tables * lookups,
            distinct,
            table,
        }
    }

    fn total_ns(&self, traffic: &Traffic) -> f64 {
        let memory = traffic.memory / self.memory_bytes_per_ns;
        let cache = traffic.cache / self.cache_bytes_per_ns;
        self.launch_ns + traffic.lookups * self.lookup_ns + (memory * memory + cache * cache).sqrt()
    }

    pub(super) fn log_ns(&self, point: &Point, features: &mut Features) -> f64 {
        let Point::Embedding(point) = point else { return 0.0 };
        let traffic = self.traffic(point, point.distinct_rows());
        let total = self.total_ns(&traffic);
        let [tables, rows, dim, batch, pooling] =
            [point.tables, point.rows, point.dim, point.batch, point.pooling].map(|v| v as f64);
        for value in [tables, rows, dim, batch, pooling, batch * pooling, tables * batch] {
            features.push(value);
        }
        features.push(traffic.distinct / traffic.lookups.max(1.0));
        features.push(traffic.table);
        features.push(traffic.table * tables);
        features.push(traffic.cache / traffic.memory.max(1.0));
        features.push(rows * dim);
        features.push(total);
        ln(total)
    }

    pub(super) fn parts(&self, point: &Point) -> Vec<Part> {
        let Point::Embedding(point) = point else { return Vec::new() };
        let traffic = self.traffic(point, point.distinct_rows());
        let reuse = point.lookups() as f64 / traffic.distinct.max(1.0);
        vec![
            Part::new("launch", self.launch_ns),
            Part::new("lookups", traffic.lookups * self.lookup_ns),
            Part::new("memory", traffic.memory / self.memory_bytes_per_ns)
                .with(format!("each distinct row looked up {reuse:.2} times")),
            Part::new("cache", traffic.cache / self.cache_bytes_per_ns),
        ]
    }

    pub(super) fn floor_ns(&self) -> f64 {
        self.launch_ns
    }

    pub(super) fn is_sound(&self) -> bool {
        let rates = [self.memory_bytes_per_ns, self.cache_bytes_per_ns];
        possible(&[self.launch_ns, self.capacity_bytes, self.lookup_ns])
            && possible(&rates)
            && rates.iter().all(|rate| *rate > 0.0)
            && self.launch_ns > 0.0
    }
}

fn sectors(bytes: f64) -> f64 {
    (bytes / SECTOR).ceil() * SECTOR
}

/// Fits the term, from a bandwidth-bound and from a cache-bound start.
pub(super) fn fit(rows: &[Row<'_>], machine: &Machine, cache: CacheState) -> EmbeddingTerm {
    let rows: Vec<(&EmbeddingPoint, f64, &Row<'_>)> = thinned(rows, 1500)
        .into_iter()
        .filter_map(|row| match row.point {
            Point::Embedding(point) => Some((point, point.distinct_rows(), row)),
            _ => None,
        })
        .collect();
    let cold = cache == CacheState::Cold;
    let fastest = rows.iter().map(|(_, _, row)| row.time.as_f64()).fold(f64::INFINITY, f64::min);
    let rate = rows
        .iter()
        .map(|(_, _, row)| row.point.work().bytes() / row.time.as_f64())
        .fold(1e-9, f64::max);
    let capacity = machine.hardware.cache_bytes.map_or(8e6, |bytes| bytes as f64).max(1.0);
    let enough = rows.len() >= 12;
    let bounds = [
        Bounded::log((fastest / 100.0).max(1e-3), fastest / 2.0, fastest),
        Bounded::log(rate / 50.0, rate * 1.2, rate * 20.0),
        if enough { Bounded::log(0.01, 0.3, 1.0) } else { Bounded::fixed(0.0) },
        if enough {
            Bounded::log(capacity / 64.0, capacity, capacity * 8.0)
        } else {
            Bounded::fixed(ln(capacity))
        },
        if enough { Bounded::log(1e-6, 0.1, 1e3) } else { Bounded::fixed(-30.0) },
    ];
    let mut by_lookup: Vec<f64> = bounds.iter().map(|bound| bound.start).collect();
    by_lookup[4] = ln(2.0);
    by_lookup[1] += 1.0;
    let solution = minimise(&bounds, &[by_lookup], 60, |parameters| {
        let term = EmbeddingTerm::of(cold, parameters);
        rows.iter()
            .map(|(point, distinct, row)| {
                ln(term.total_ns(&term.traffic(point, *distinct))) - row.log_ns
            })
            .collect()
    });
    EmbeddingTerm::of(cold, &solution.parameters)
}
