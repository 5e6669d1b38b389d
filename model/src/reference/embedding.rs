//! The reference system's embedding heuristics, forward and backward.
//!
//! One warp serves one bag. Every access moves whole sectors of 32 bytes; indices are 32 bits
//! wide, tables equal, indices uniform. The plain forms take all traffic from memory; the others
//! take the part of the lookups that hits rows still in the last-level cache from there.

use kernelgauge_data::{Direction, EmbeddingPoint};

use super::published::Device;
use crate::math::{ln, pow};

/// Warps resident on one unit, for FBGEMM's kernel: 64 at an occupancy of 0.71.
const RESIDENT_WARPS: f64 = 45.0;

/// Share of the cache that holds rows.
const CACHE_SHARE: f64 = 0.9;

/// The shape as the heuristics see it.
struct Shape {
    bags: f64,
    batch: f64,
    tables: f64,
    rows: f64,
    pooling: f64,
    /// Bytes of a row, unpadded.
    row: f64,
    /// Sectors that a bag's rows fill.
    weights: f64,
    /// Sectors of a bag's indices.
    indices: f64,
    /// Sectors of a bag's output or gradient.
    output: f64,
    dim: f64,
}

/// Bytes of the table offset and of the two bag offsets a warp reads.
const OFFSETS: f64 = 32.0 + 64.0;

fn sectors(bytes: f64) -> f64 {
    (bytes / 32.0).ceil() * 32.0
}

impl Shape {
    fn of(bag: &EmbeddingPoint) -> Self {
        let [tables, rows, dim, batch, pooling] =
            [bag.tables, bag.rows, bag.dim, bag.batch, bag.pooling].map(|v| v as f64);
        let row = dim * bag.dtype.size() as f64;
        Shape {
            bags: batch * tables,
            batch,
            tables,
            rows,
            pooling,
            row,
            weights: pooling * sectors(row),
            indices: sectors(4.0 * pooling),
            output: sectors(row),
            dim,
        }
    }

    /// Tables whose bags are in flight together.
    fn concurrent(&self, device: &Device) -> f64 {
        (device.units * RESIDENT_WARPS / self.batch).ceil().max(1.0)
    }

    /// Rows of one table that stay in the cache.
    fn resident_rows(&self, device: &Device) -> f64 {
        let share = CACHE_SHARE * device.cache_bytes / (self.row * self.concurrent(device));
        share.floor().min(self.rows).min(self.batch * self.pooling)
    }
}

/// Bytes a warp moves in the plain form, times all warps.
pub fn plain_bytes(bag: &EmbeddingPoint) -> f64 {
    let shape = Shape::of(bag);
    let passes = match bag.direction {
        Direction::Forward => 1.0,
        Direction::Backward => 2.0,
    };
    shape.bags * (OFFSETS + shape.indices + passes * shape.weights + shape.output)
}

/// The plain heuristic, in microseconds.
pub fn plain_us(bag: &EmbeddingPoint, device: &Device) -> f64 {
    let memory = device.memory_us(plain_bytes(bag));
    match bag.direction {
        Direction::Forward => memory,
        Direction::Backward => memory.max(accumulate_us(&Shape::of(bag), device)),
    }
}

/// Multiply-adds of the backward pass at the fp32 peak; nothing where that is not known.
fn accumulate_us(shape: &Shape, device: &Device) -> f64 {
    let flops = shape.bags * 4.0 * shape.pooling * (shape.dim / 4.0).floor();
    device.peak("f32").map_or(0.0, |peak| flops / peak / 1e3)
}

/// The cache-aware heuristic, in microseconds.
pub fn cache_us(bag: &EmbeddingPoint, device: &Device) -> f64 {
    match bag.direction {
        Direction::Forward => {
            let shape = Shape::of(bag);
            let traffic = forward_traffic(&shape, device);
            divergence(shape.dim)
                * device.memory_us(traffic.memory).max(device.cache_us(traffic.cache))
        }
        Direction::Backward => backward_us(&Shape::of(bag), device),
    }
}

/// Small rows leave lanes of a warp idle; the authors' factors.
fn divergence(dim: f64) -> f64 {
    if dim > 64.0 {
        1.0
    } else if dim > 32.0 {
        1.1
    } else {
        1.55
    }
}

/// Bytes by where they come from, and how often rows hit.
struct Traffic {
    memory: f64,
    cache: f64,
    #[cfg_attr(not(test), expect(dead_code, reason = "golden values check it"))]
    hit_rate: f64,
}

/// Lookups beyond the first to a row hit while the distinct rows fit; beyond that, each misses
/// with the probability that its row is not among the resident ones.
fn forward_traffic(shape: &Shape, device: &Device) -> Traffic {
    let lookups = shape.batch * shape.pooling;
    let untouched = pow(1.0 - 1.0 / shape.rows, lookups);
    let distinct = shape.rows * (1.0 - untouched);
    let resident = shape.resident_rows(device);
    let misses = if distinct <= resident {
        distinct
    } else {
        resident + (lookups - resident) * (shape.rows - resident) / shape.rows
    };
    let hit_rate = if lookups > 0.0 { (1.0 - misses / lookups).max(0.0) } else { 0.0 };
    let streamed = OFFSETS + shape.indices + shape.output;
    Traffic {
        memory: shape.tables * shape.batch * (streamed + (1.0 - hit_rate) * shape.weights),
        cache: shape.tables * shape.batch * hit_rate * shape.weights,
        hit_rate,
    }
}

/// The backward pass: a bag hits when all its rows are resident (the published combinatorial
/// rate), and the resident set itself comes from memory once.
fn backward_us(shape: &Shape, device: &Device) -> f64 {
    let resident_rows = shape.resident_rows(device);
    let log_rate: f64 = (0..shape.pooling as u64)
        .map(|i| {
            let i = i as f64;
            let among = (resident_rows - i).max(0.0) / (shape.rows - i).max(1.0);
            ln(among.max(1e-300))
        })
        .sum();
    let hit_rate = crate::math::exp(log_rate).min(1.0);
    let resident = (device.cache_bytes / shape.concurrent(device)).min(shape.row * shape.rows);
    let rows = (2.0 * shape.weights * shape.batch - resident).max(0.0);
    let cache = shape.tables * (shape.batch * OFFSETS + hit_rate * rows);
    let memory = shape.tables
        * (shape.batch * (shape.indices + shape.output) + (1.0 - hit_rate) * rows + resident);
    let at_peak = memory / device.memory_gb_s / 1e3;
    at_peak.max(device.cache_us(cache)).max(accumulate_us(shape, device))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::published::v100;
    use kernelgauge_data::{Distribution, Dtype, Optimizer};

    /// DLRM_default of the reference system: B = 2048, T = 8, E = 1e6, L = 100, D = 64.
    fn dlrm_default(direction: Direction) -> EmbeddingPoint {
        EmbeddingPoint {
            direction,
            optimizer: Optimizer::Sgd,
            dtype: Dtype::F32,
            tables: 8,
            rows: 1_000_000,
            dim: 64,
            batch: 2048,
            pooling: 100,
            distribution: Distribution::Uniform,
        }
    }

    fn near(value: f64, expected: f64, digits: f64) {
        assert!((value - expected).abs() <= digits / 2.0, "{value}, not {expected}");
    }

    #[test]
    fn the_plain_heuristic_meets_its_golden_values() {
        let forward = dlrm_default(Direction::Forward);
        near(plain_bytes(&forward) / 1e6, 432.0, 0.1);
        near(plain_us(&forward, &v100()), 558.5, 0.1);
        let backward = dlrm_default(Direction::Backward);
        near(plain_bytes(&backward) / 1e6, 851.4, 0.1);
        near(plain_us(&backward, &v100()), 1086.0, 1.0);
    }

    #[test]
    fn the_cache_aware_heuristic_meets_its_golden_values() {
        let shape = Shape::of(&dlrm_default(Direction::Forward));
        near(shape.concurrent(&v100()), 2.0, 0.0);
        near(shape.resident_rows(&v100()), 11_059.0, 0.0);
        let traffic = forward_traffic(&shape, &v100());
        near(traffic.hit_rate, 0.0105, 0.0001);
        near(traffic.memory / 1e6, 427.6, 0.1);
        near(v100().memory_us(traffic.memory), 553.0, 0.1);
        near(cache_us(&dlrm_default(Direction::Forward), &v100()), 608.0, 1.0);
    }

    #[test]
    fn a_table_that_fits_the_cache_is_faster_backward_too() {
        let mut small = dlrm_default(Direction::Backward);
        small.rows = 1000;
        let large = cache_us(&dlrm_default(Direction::Backward), &v100());
        assert!(cache_us(&small, &v100()) < large / 2.0);
    }
}
