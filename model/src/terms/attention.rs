//! Attention: arithmetic over query tiles, traffic of keys and values, and a latency per key.
//!
//! `t = launch + reach * key + norm4(arithmetic, memory)`. Arithmetic is the two products (and
//! the exponentials, at their own rate) of the causal, windowed pairs, rounded up to whole waves
//! of blocks; memory is queries, keys, values and output once, slower while fewer blocks than
//! units are in flight. A block is 128 queries of a head over a prompt, and one group of heads
//! that share keys in generation, where the keys are split over idle units as flash decoding
//! does (Dao et al. 2023). The work is that of [`kernelgauge_data::AttentionPoint`].

use kernelgauge_data::{AttentionPhase, AttentionPoint, Machine, Point};
use serde::{Deserialize, Serialize};

use super::{Features, Part, possible, thinned};
use crate::least_squares::{Bounded, minimise};
use crate::math::{exp, ln, round9};
use crate::rows::Row;

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
    occupancy_half: f64,
    key_ns: f64,
    /// Fewest keys of a part when the keys of a block are split.
    split_keys: f64,
    /// Whether keys are split where every head has its own.
    splits_all: bool,
}

/// What the shape says, before any constant.
struct Shape {
    flops: f64,
    pairs: f64,
    bytes: f64,
    blocks: f64,
    reach: f64,
    /// Whether this is generation, and whether heads share keys.
    generation: bool,
    shared: bool,
}

/// The parts of one point.
struct Parts {
    arithmetic_ns: f64,
    memory_ns: f64,
    keys_ns: f64,
    waves: f64,
}

impl AttentionTerm {
    fn of(units: u32, splits_all: bool, parameters: &[f64]) -> Self {
        let constant = |index: usize| round9(exp(parameters[index]));
        AttentionTerm {
            units,
            splits_all,
            split_keys: constant(6),
            launch_ns: constant(0),
            flops_per_ns: constant(1),
            pairs_per_ns: constant(2),
            memory_bytes_per_ns: constant(3),
            occupancy_half: constant(4),
            key_ns: constant(5),
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
            memory_ns: shape.bytes / self.memory_bytes_per_ns / occupied,
            keys_ns: shape.reach / splits * self.key_ns,
            waves,
        }
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
        self.launch_ns + parts.keys_ns + (a + m).sqrt().sqrt()
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
            arithmetic,
            Part::new("memory", parts.memory_ns),
        ]
    }

    pub(super) fn floor_ns(&self) -> f64 {
        self.launch_ns
    }

    pub(super) fn is_sound(&self) -> bool {
        let rates = [self.flops_per_ns, self.pairs_per_ns, self.memory_bytes_per_ns];
        possible(&[self.launch_ns, self.occupancy_half, self.key_ns, self.split_keys])
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
        }
    }
}

/// Fits the term, from a compute-bound and from a latency-bound start, with keys split only
/// where heads share them and wherever units idle.
pub(super) fn fit(rows: &[Row<'_>], machine: &Machine) -> AttentionTerm {
    let rows: Vec<(Shape, f64)> = thinned(rows, 1500)
        .into_iter()
        .filter_map(|row| match row.point {
            Point::Attention(point) => Some((Shape::of(point), row.log_ns)),
            _ => None,
        })
        .collect();
    let units = machine.hardware.units.unwrap_or(0);
    let bounds = bounds(&rows, machine);
    let mut latency_bound: Vec<f64> = bounds.iter().map(|bound| bound.start).collect();
    latency_bound[5] = ln(5.0);
    let [without, with] = [false, true].map(|splits_all| {
        let solution = minimise(&bounds, std::slice::from_ref(&latency_bound), 24, |parameters| {
            let term = AttentionTerm::of(units, splits_all, parameters);
            rows.iter().map(|(shape, log_ns)| ln(term.total_ns(shape)) - log_ns).collect()
        });
        (solution.loss, AttentionTerm::of(units, splits_all, &solution.parameters))
    });
    if with.0 < without.0 { with.1 } else { without.1 }
}

/// Bounds in the order of [`AttentionTerm::of`].
fn bounds(rows: &[(Shape, f64)], machine: &Machine) -> [Bounded; 7] {
    let fastest = exp(rows.iter().map(|(_, log_ns)| *log_ns).fold(f64::INFINITY, f64::min));
    let seen = |work: fn(&Shape) -> f64| {
        rows.iter().map(|(shape, log_ns)| work(shape) / exp(*log_ns)).fold(1e-9, f64::max)
    };
    let (flops, bytes) = (seen(|shape| shape.flops), seen(|shape| shape.bytes));
    let bytes = machine.hardware.memory_gb_s.map_or(bytes, |peak| peak.max(bytes / 4.0));
    let enough = rows.len() >= 24;
    let fit_if = |fit: bool, bounded: Bounded| {
        if fit { bounded } else { Bounded::fixed(bounded.start) }
    };
    let generation = rows.iter().any(|(shape, _)| shape.generation);
    [
        Bounded::log(fastest / 20.0, fastest * 0.7, fastest * 1.5),
        Bounded::log(flops / 10.0, flops * 1.2, flops * 3.0),
        fit_if(enough, Bounded::log(flops / 4e3, flops / 100.0, flops * 10.0)),
        Bounded::log(bytes / 20.0, bytes * 0.8, bytes * 1.5),
        fit_if(enough, Bounded::log(1e-3, 0.3, 30.0)),
        fit_if(enough, Bounded::log(1e-4, 0.1, 100.0)),
        fit_if(enough && generation, Bounded::log(16.0, 256.0, 1e5)),
    ]
}
