//! Attention: arithmetic over query tiles, traffic of keys and values, what each block costs.
//!
//! `t = launch + reach * key + rounds * block + sequences * sequence + norm4(arithmetic, memory)`.
//! Arithmetic is the two products (and the exponentials, at their own rate) of the causal, windowed
//! pairs, rounded up to whole waves of blocks; memory is queries, keys, values and output once, at
//! the cache's rate as long as they fit there, and slower while fewer blocks than units are in
//! flight. A block is 128 queries of a head over a prompt, and one group of heads that share keys
//! in generation, where the keys are split over idle units as flash decoding does (Dao et al.
//! 2023). However few keys it has, a block of a generated token starts, loads its query and writes
//! its result: at batches of hundreds that is most of the time. The work is that of
//! [`kernelgauge_data::AttentionPoint`]; which parts a variant has is found in [`mod@fit`].

mod fit;

pub(super) use fit::fit;

use kernelgauge_data::{AttentionPhase, AttentionPoint, Point};
use serde::{Deserialize, Serialize};

use super::{Features, Part, possible};
use crate::math::{exp, ln, pow, round9};

/// Queries of one block of a fused attention kernel.
const BLOCK: u64 = 128;

/// Constants of an attention op. Rates are per nanosecond.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttentionTerm {
    units: u32,
    launch_ns: f64,
    flops_per_ns: f64,
    pairs_per_ns: f64,
    memory_bytes_per_ns: f64,
    /// Rate of what the cache holds from one execution to the next.
    cache_bytes_per_ns: f64,
    capacity_bytes: f64,
    occupancy_half: f64,
    key_ns: f64,
    /// Fewest keys of a part when the keys of a block are split.
    split_keys: f64,
    /// Whether keys are split where every head has its own.
    splits_all: bool,
    /// Of each block with heads of [`DIM`] elements, whatever it reads.
    block_ns: f64,
    /// The power of the elements of a head that a block grows with.
    block_power: f64,
    /// Of each sequence.
    sequence_ns: f64,
}

/// Elements of a head that `block_ns` is stated for.
const DIM: f64 = 128.0;

/// What the shape says, before any constant.
struct Shape {
    flops: f64,
    pairs: f64,
    bytes: f64,
    blocks: f64,
    reach: f64,
    batch: f64,
    dim: f64,
    /// Whether this is generation, and whether heads share keys.
    generation: bool,
    shared: bool,
}

/// The parts of one point.
struct Parts {
    arithmetic_ns: f64,
    memory_ns: f64,
    keys_ns: f64,
    blocks_ns: f64,
    sequences_ns: f64,
    waves: f64,
}

impl AttentionTerm {
    /// Rates of memory relative to the cache's, so that it cannot exceed it.
    fn of(units: u32, capacity: f64, splits_all: bool, parameters: &[f64]) -> Self {
        let constant = |index: usize| round9(exp(parameters[index]));
        AttentionTerm {
            units,
            splits_all,
            split_keys: constant(6),
            launch_ns: constant(0),
            flops_per_ns: constant(1),
            pairs_per_ns: constant(2),
            memory_bytes_per_ns: constant(3),
            cache_bytes_per_ns: round9(exp(parameters[3]) * exp(parameters[7])),
            capacity_bytes: capacity,
            occupancy_half: constant(4),
            key_ns: constant(5),
            block_ns: constant(8),
            block_power: round9(parameters[9]),
            sequence_ns: constant(10),
        }
    }

    fn parts_of(&self, shape: &Shape) -> Parts {
        let units = f64::from(self.units.max(1));
        let splits = self.splits(shape, units);
        let waves = shape.blocks * splits / units;
        let whole = if self.units == 0 || waves > 4.0 { waves } else { waves.ceil() };
        let arithmetic = shape.flops / self.flops_per_ns + shape.pairs / self.pairs_per_ns;
        let half = self.occupancy_half;
        let occupied = if waves < 1.0 { waves * (1.0 + half) / (waves + half) } else { 1.0 };
        Parts {
            arithmetic_ns: arithmetic * whole / waves,
            memory_ns: self.moved_ns(shape.bytes) / occupied,
            keys_ns: shape.reach / splits * self.key_ns,
            blocks_ns: waves.max(1.0) * self.block_ns * pow(shape.dim / DIM, self.block_power),
            sequences_ns: shape.batch * self.sequence_ns,
            waves,
        }
    }

    /// Time to move `bytes` with all units. Operands that are read over and over in the same order
    /// are all found in a cache or, once they exceed it, none: hence the steep step.
    fn moved_ns(&self, bytes: f64) -> f64 {
        let square = (bytes / self.capacity_bytes) * (bytes / self.capacity_bytes);
        let steep = (square * square) * (square * square);
        let beyond = if steep.is_finite() { steep / (steep + 1.0) } else { 1.0 };
        bytes * (beyond / self.memory_bytes_per_ns + (1.0 - beyond) / self.cache_bytes_per_ns)
    }

    /// Parts that the keys of a block are split into.
    fn splits(&self, shape: &Shape, units: f64) -> f64 {
        if !shape.generation || !(shape.shared || self.splits_all) {
            return 1.0;
        }
        (units / shape.blocks).min(shape.reach / self.split_keys).max(1.0)
    }

    fn total_ns(&self, shape: &Shape) -> f64 {
        let parts = self.parts_of(shape);
        let [a, m] = [parts.arithmetic_ns, parts.memory_ns].map(|v| (v * v) * (v * v));
        let fixed = self.launch_ns + parts.keys_ns + parts.blocks_ns + parts.sequences_ns;
        fixed + (a + m).sqrt().sqrt()
    }

    pub(super) fn log_ns(&self, point: &Point, features: &mut Features) -> f64 {
        let Point::Attention(point) = point else { return 0.0 };
        let shape = Shape::of(point);
        let parts = self.parts_of(&shape);
        let total = self.total_ns(&shape);
        let [batch, heads, kv_heads, dim, queries, keys] = [
            point.batch,
            point.heads,
            point.kv_heads,
            point.head_dim,
            point.query_len,
            point.kv_len,
        ]
        .map(|v| v as f64);
        for value in [batch, heads, kv_heads, dim, queries, keys, point.window as f64] {
            features.push(value);
        }
        for value in [batch * heads, batch * kv_heads, heads / kv_heads, shape.reach] {
            features.push(value);
        }
        for value in [batch * keys, batch * kv_heads * keys, batch * heads * queries] {
            features.push(value);
        }
        for value in [shape.flops, shape.bytes, shape.flops / shape.bytes, shape.blocks] {
            features.push(value);
        }
        features.push(parts.waves / parts.waves.ceil());
        features.push(batch * kv_heads / f64::from(self.units.max(1)));
        features.push(parts.arithmetic_ns / parts.memory_ns);
        features.push(parts.keys_ns);
        features.push(parts.blocks_ns / total);
        features.push(total);
        ln(total)
    }

    pub(super) fn parts(&self, point: &Point) -> Vec<Part> {
        let Point::Attention(point) = point else { return Vec::new() };
        let parts = self.parts_of(&Shape::of(point));
        let mut arithmetic = Part::new("arithmetic", parts.arithmetic_ns);
        if self.units > 0 {
            let detail = format!("{:.2} waves of {} units", parts.waves, self.units);
            arithmetic = arithmetic.with(detail);
        }
        vec![
            Part::new("launch", self.launch_ns),
            Part::new("keys", parts.keys_ns),
            Part::new("blocks", parts.blocks_ns),
            Part::new("sequences", parts.sequences_ns),
            arithmetic,
            Part::new("memory", parts.memory_ns),
        ]
        .into_iter()
        .filter(|part| part.nanos > 0.0)
        .collect()
    }

    pub(super) fn floor_ns(&self) -> f64 {
        self.launch_ns
    }

    pub(super) fn is_sound(&self) -> bool {
        let rates = [
            self.flops_per_ns,
            self.pairs_per_ns,
            self.memory_bytes_per_ns,
            self.cache_bytes_per_ns,
            self.capacity_bytes,
        ];
        possible(&[self.launch_ns, self.occupancy_half, self.key_ns, self.split_keys])
            && possible(&[self.block_ns, self.block_power, self.sequence_ns])
            && possible(&rates)
            && rates.iter().all(|rate| *rate > 0.0)
            && self.launch_ns > 0.0
            && self.split_keys >= 1.0
    }
}

impl Shape {
    fn of(point: &AttentionPoint) -> Self {
        let work = Point::Attention(*point).work();
        let [batch, heads, dim] = [point.batch, point.heads, point.head_dim].map(|v| v as f64);
        let seen = if point.window > 0 { point.kv_len.min(point.window) } else { point.kv_len };
        let generation = point.phase == AttentionPhase::Generation;
        let blocks = if generation {
            batch * point.kv_heads as f64
        } else {
            batch * heads * ((point.query_len - 1) / BLOCK + 1) as f64
        };
        Shape {
            generation,
            shared: point.heads > point.kv_heads,
            flops: work.flops,
            pairs: work.flops / (4.0 * dim),
            bytes: work.bytes(),
            blocks,
            reach: seen as f64,
            batch,
            dim,
        }
    }
}
