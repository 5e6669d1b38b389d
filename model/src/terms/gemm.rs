//! Matrix products: a roofline quantised by tiles and waves.
//!
//! A kernel cuts the result into tiles of `tm x tn` (and the contraction into `split` parts),
//! which the device's units work off in waves. For each candidate
//!
//! * arithmetic: whole waves (fractions count from the fifth on) of `2 tm tn k / split` at the
//!   unit's rate, less for small tiles, plus a fixed cost per wave;
//! * memory: operands and result once, slower while fewer tiles than units are in flight;
//! * cache: what all tiles load, at the last-level cache's bandwidth;
//!
//! joined by a p-norm; a split adds its reduction. The time is the launch plus the smallest
//! candidate: the library picks the best kernel. The form is that of wave-quantised rooflines
//! (the reference system's tiled GEMM model; NVIDIA, "Matrix multiplication background user's
//! guide"). With few units (a processor) tiles say little and one unquantised candidate is left.

use kernelgauge_data::{GemmPoint, Machine, Point};
use serde::{Deserialize, Serialize};

use super::{ExplainedTerm, Features, possible, thinned};
use crate::least_squares::{Bounded, minimise};
use crate::math::{exp, ln, log2, round9};
use crate::rows::Row;

/// One way to cut the result: log2 of the tile's rows and columns, log2 of the split.
#[derive(Debug, Clone, Copy)]
struct Tile {
    rows: u32,
    columns: u32,
    split: u32,
}

const fn tile(rows: u32, columns: u32, split: u32) -> Tile {
    Tile { rows, columns, split }
}

const CANDIDATES: usize = 14;

/// 64x64 to 256x128, and the splits that rescue products with few tiles and a long contraction.
const TILES: [Tile; CANDIDATES] = [
    tile(6, 6, 0),
    tile(7, 6, 0),
    tile(6, 7, 0),
    tile(7, 7, 0),
    tile(7, 8, 0),
    tile(8, 7, 0),
    tile(6, 5, 0),
    tile(6, 6, 1),
    tile(6, 6, 2),
    tile(6, 6, 3),
    tile(6, 7, 1),
    tile(6, 7, 2),
    tile(7, 7, 1),
    tile(7, 7, 2),
];

/// Candidates whose time over the best one's becomes a feature.
const SHOWN: [usize; 6] = [0, 2, 3, 4, 5, 9];

/// From this many units on, tiles and waves are modelled.
const QUANTISED_UNITS: u32 = 16;

/// Constants of a GEMM term. Rates are per nanosecond: GFLOP/s or GB/s.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GemmTerm {
    /// Units that work off tiles; below [`QUANTISED_UNITS`] nothing is quantised.
    units: u32,
    launch_ns: f64,
    flops_per_ns: f64,
    memory_bytes_per_ns: f64,
    cache_bytes_per_ns: f64,
    wave_ns: f64,
    split_ns: f64,
    /// How much slower small tiles run: log of the loss at tiles of nothing.
    small_tile_loss: f64,
    /// Share of the units, at which half of what full occupancy gains is lost.
    occupancy_half: f64,
    /// The p-norm's p is two to this power.
    sharpness: u32,
    #[serde(skip)]
    prepared: Prepared,
}

/// What is derived from the constants once.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Prepared {
    /// Time of one multiply-add element of each candidate's tile on one unit.
    unit_ns_per_flop: [f64; CANDIDATES],
    cache_ns_per_byte: f64,
    memory_ns_per_byte: f64,
    per_unit: f64,
}

/// What a candidate takes, part by part.
#[derive(Debug, Clone, Copy, Default)]
struct Candidate {
    total_ns: f64,
    arithmetic_ns: f64,
    memory_ns: f64,
    tiles: f64,
}

impl GemmTerm {
    fn of(units: u32, sharpness: u32, parameters: &[f64]) -> Self {
        let constant = |index: usize| round9(exp(parameters[index]));
        let mut term = GemmTerm {
            units,
            launch_ns: constant(0),
            flops_per_ns: constant(1),
            memory_bytes_per_ns: constant(2),
            cache_bytes_per_ns: constant(3),
            wave_ns: constant(4),
            split_ns: constant(5),
            small_tile_loss: constant(6),
            occupancy_half: constant(7),
            sharpness,
            prepared: Prepared::default(),
        };
        term.prepare();
        term
    }

    fn quantised(&self) -> bool {
        self.units >= QUANTISED_UNITS
    }

    /// Fills the derived constants.
    pub(super) fn prepare(&mut self) {
        /// Harmonic mean side of a 128x256 tile: from here on a tile runs at full rate.
        const FULL_RATE_SIDE: f64 = 170.0;
        for (slot, tile) in self.prepared.unit_ns_per_flop.iter_mut().zip(&TILES) {
            let (rows, columns) = (f64::from(1 << tile.rows), f64::from(1 << tile.columns));
            let side = 2.0 * rows * columns / (rows + columns);
            let short = (1.0 - log2(side) / log2(FULL_RATE_SIDE)).max(0.0);
            let rate = self.flops_per_ns * exp(-self.small_tile_loss * short);
            *slot = f64::from(self.units.max(1)) / rate;
        }
        self.prepared.cache_ns_per_byte = 1.0 / self.cache_bytes_per_ns;
        self.prepared.memory_ns_per_byte = 1.0 / self.memory_bytes_per_ns;
        self.prepared.per_unit = 1.0 / f64::from(self.units.max(1));
    }

    /// `(a^p + b^p + c^p)^(1/p)` with p a power of two: only multiplications and roots.
    #[inline]
    fn joined(&self, a: f64, b: f64, c: f64) -> f64 {
        let (mut a, mut b, mut c) = (a, b, c);
        for _ in 0..self.sharpness {
            (a, b, c) = (a * a, b * b, c * c);
        }
        let mut sum = a + b + c;
        for _ in 0..self.sharpness {
            sum = sum.sqrt();
        }
        sum
    }

    #[inline]
    fn candidate(&self, shape: &Shape, index: usize) -> Candidate {
        let tile = TILES[index];
        let (rows, columns) = ((1_u64 << tile.rows) as f64, (1_u64 << tile.columns) as f64);
        let split = (1_u64 << tile.split) as f64;
        let tiles = shape.tiles_over(tile.rows, tile.columns) * split;
        let depth = shape.depth[tile.split as usize];
        let in_flight = tiles * self.prepared.per_unit;
        let waves = if in_flight > 4.0 { in_flight + 0.3 } else { ceil(in_flight) };
        let per_wave =
            2.0 * rows * columns * depth * self.prepared.unit_ns_per_flop[index] + self.wave_ns;
        let arithmetic_ns = waves * per_wave;
        let half = self.occupancy_half;
        let occupied =
            if in_flight < 1.0 { in_flight * (1.0 + half) / (in_flight + half) } else { 1.0 };
        let memory_ns = shape.bytes * self.prepared.memory_ns_per_byte / occupied;
        let loaded = tiles * (rows + columns) * depth * shape.element_size;
        let cache_ns = loaded * self.prepared.cache_ns_per_byte;
        let mut total_ns = self.joined(arithmetic_ns, memory_ns, cache_ns);
        if tile.split > 0 {
            let partial = 4.0 * split * shape.results;
            total_ns += partial * self.prepared.cache_ns_per_byte + self.split_ns;
        }
        Candidate { total_ns, arithmetic_ns, memory_ns, tiles }
    }

    /// The only candidate of a machine without tiles.
    fn unquantised(&self, shape: &Shape) -> Candidate {
        let arithmetic_ns = shape.flops / self.flops_per_ns;
        let memory_ns = shape.bytes * self.prepared.memory_ns_per_byte;
        // Small dimensions leave vector lanes and blocking unused.
        let edges = self.wave_ns * (shape.results / 64.0 + shape.depth[0] / 16.0);
        let total_ns = self.joined(arithmetic_ns, memory_ns, 0.0) + edges;
        Candidate { total_ns, arithmetic_ns, memory_ns, tiles: 1.0 }
    }

    /// Times of all candidates, and the index of the smallest.
    fn candidates(&self, shape: &Shape) -> ([Candidate; CANDIDATES], usize) {
        let mut all = [Candidate { total_ns: f64::INFINITY, ..Candidate::default() }; CANDIDATES];
        if !self.quantised() {
            all[0] = self.unquantised(shape);
            return (all, 0);
        }
        let mut best = 0;
        for index in 0..CANDIDATES {
            if TILES[index].split > 0 && shape.k >> TILES[index].split < 128 {
                continue;
            }
            all[index] = self.candidate(shape, index);
            if all[index].total_ns < all[best].total_ns {
                best = index;
            }
        }
        (all, best)
    }

    pub(super) fn log_ns(&self, point: &Point, features: &mut Features) -> f64 {
        let Point::Gemm(point) = point else { return 0.0 };
        let shape = Shape::of(point);
        let (all, best) = self.candidates(&shape);
        let total = self.launch_ns + all[best].total_ns;
        self.push_features(point, &shape, &all, best, features);
        ln(total)
    }

    fn push_features(
        &self,
        point: &GemmPoint,
        shape: &Shape,
        all: &[Candidate; CANDIDATES],
        best: usize,
        features: &mut Features,
    ) {
        let chosen = &all[best];
        let [m, n, k] = [point.m, point.n, point.k].map(|v| v as f64);
        for value in [m, n, k, m * n, m * k, n * k, shape.flops, shape.bytes] {
            features.push(value);
        }
        features.push(shape.flops / shape.bytes);
        features.push(n / k);
        features.push(m / n);
        features.push(chosen.total_ns);
        features.push(chosen.arithmetic_ns / chosen.memory_ns);
        for value in [point.m, point.n, point.k] {
            features.push(f64::from(value.trailing_zeros().min(10)));
        }
        for multiple in [16, 64, 128, 256] {
            features.push(filled(point.m, multiple));
        }
        for multiple in [128, 256] {
            features.push(filled(point.n, multiple));
        }
        features.push(point.batch as f64);
        if !self.quantised() {
            return;
        }
        features.push(best as f64);
        for index in SHOWN {
            features.push(all[index].total_ns / chosen.total_ns);
        }
        for (rows, columns) in [(6, 6), (7, 7), (7, 8)] {
            let waves = shape.tiles_over(rows, columns) * self.prepared.per_unit;
            features.push(waves);
            features.push(waves / ceil(waves));
        }
    }

    pub(super) fn parts(&self, point: &Point) -> Vec<ExplainedTerm> {
        let Point::Gemm(point) = point else { return Vec::new() };
        let (all, best) = self.candidates(&Shape::of(point));
        let chosen = &all[best];
        let mut arithmetic = ExplainedTerm::new("arithmetic", chosen.arithmetic_ns);
        if self.quantised() {
            let (tile, units) = (TILES[best], self.units);
            let waves = chosen.tiles * self.prepared.per_unit;
            let idle = (1.0 - waves / ceil(waves)) * 100.0;
            arithmetic = arithmetic.with(format!(
                "{waves:.2} waves of {units} units in tiles of {}x{}, {idle:.0} % of the last idle",
                1 << tile.rows,
                1 << tile.columns,
            ));
        }
        vec![
            ExplainedTerm::new("launch", self.launch_ns),
            arithmetic,
            ExplainedTerm::new("memory", chosen.memory_ns),
        ]
    }

    pub(super) fn is_sound(&self) -> bool {
        let rates = [self.flops_per_ns, self.memory_bytes_per_ns, self.cache_bytes_per_ns];
        possible(&[self.launch_ns, self.wave_ns, self.split_ns])
            && possible(&[self.small_tile_loss, self.occupancy_half])
            && possible(&rates)
            && rates.iter().all(|rate| *rate > 0.0)
            && self.launch_ns > 0.0
            && self.sharpness <= 4
    }
}

/// A product's numbers that do not depend on the candidate.
struct Shape {
    m: u64,
    n: u64,
    k: u64,
    batch: f64,
    flops: f64,
    bytes: f64,
    results: f64,
    element_size: f64,
    /// The contraction of one part when split into 1, 2, 4, 8, in whole steps of 32.
    depth: [f64; 4],
}

impl Shape {
    fn of(point: &GemmPoint) -> Self {
        let [batch, m, n, k] = [point.batch, point.m, point.n, point.k].map(|v| v as f64);
        let results = batch * m * n;
        let element_size = point.dtype.size() as f64;
        let depth = |split: u32| (((point.k >> split) >> 5) + 1) as f64 * 32.0;
        let exact = if point.k.is_multiple_of(32) { point.k as f64 } else { depth(0) };
        Shape {
            m: point.m,
            n: point.n,
            k: point.k,
            batch,
            flops: 2.0 * results * k,
            bytes: batch * k * (m + n) * element_size + results * point.output_size() as f64,
            results,
            element_size,
            depth: [exact, depth(1).min(exact), depth(2).min(exact), depth(3).min(exact)],
        }
    }

    /// Tiles of `2^rows x 2^columns` that cover the result.
    #[inline]
    fn tiles_over(&self, rows: u32, columns: u32) -> f64 {
        let over = |size: u64, log: u32| ((size - 1) >> log) + 1;
        over(self.m, rows) as f64 * over(self.n, columns) as f64 * self.batch
    }
}

/// Share of the last multiple that `value` fills up to.
#[inline]
fn filled(value: u64, multiple: u64) -> f64 {
    value as f64 / (((value - 1) / multiple + 1) * multiple) as f64
}

/// `f64::ceil` for what fits an i64, without a call into the platform's library.
#[inline]
fn ceil(value: f64) -> f64 {
    let whole = value as i64 as f64;
    if whole < value { whole + 1.0 } else { whole }
}

/// Fits the term: bounds from published figures where there are any, and three sharpnesses.
pub(super) fn fit(rows: &[Row<'_>], machine: &Machine) -> GemmTerm {
    let rows = thinned(rows, 1000);
    let Point::Gemm(first) = rows[0].point else { return GemmTerm::of(0, 1, &[0.0; 8]) };
    let hardware = &machine.hardware;
    let units = hardware.units.unwrap_or(0);
    let quantised = units >= QUANTISED_UNITS;
    let fastest = rows.iter().map(|row| row.time.as_f64()).fold(f64::INFINITY, f64::min);
    let rate_seen = |work: fn(&Point) -> f64| {
        rows.iter().map(|row| work(row.point) / row.time.as_f64()).fold(1e-9, f64::max)
    };
    let flops_seen = rate_seen(|point| point.work().flops);
    let bytes_seen = rate_seen(|point| point.work().bytes());
    let flops = hardware
        .peak_tflop_s
        .get(first.dtype.name())
        .map_or(flops_seen * 1.2, |peak| (peak * 1e3).max(flops_seen));
    let bytes = hardware.memory_gb_s.map_or(bytes_seen, |peak| peak.max(bytes_seen / 4.0));
    let mut bounds = vec![
        Bounded::log(fastest / 20.0, fastest * 0.6, fastest),
        Bounded::log(flops / 30.0, flops * 0.8, flops * 1.1),
        Bounded::log(bytes / 10.0, bytes * 0.85, bytes * if quantised { 1.5 } else { 8.0 }),
        Bounded::log(bytes, bytes * 3.0, bytes * 30.0),
        Bounded::log(1e-3, if quantised { 150.0 } else { 1.0 }, 5e3),
        Bounded::log(1.0, 1000.0, 2e4),
        Bounded::log(1e-2, 0.6, 4.0),
        Bounded::log(1e-3, 0.3, 30.0),
    ];
    for index in unused_constants(quantised, rows.len()) {
        bounds[index] = Bounded::fixed(bounds[index].start);
    }
    let shaped: Vec<(Shape, f64)> = rows
        .iter()
        .filter_map(|row| match row.point {
            Point::Gemm(point) => Some((Shape::of(point), row.log_ns)),
            _ => None,
        })
        .collect();
    let searched = |sharpness: u32, start: &[Vec<f64>], iterations: usize| {
        minimise(&bounds, start, iterations, |parameters| {
            let term = GemmTerm::of(units, sharpness, parameters);
            let log_ns = |shape: &Shape| {
                let (all, best) = term.candidates(shape);
                ln(term.launch_ns + all[best].total_ns)
            };
            shaped.iter().map(|(shape, measured)| log_ns(shape) - measured).collect()
        })
    };
    let tried = [1, 2, 3].map(|sharpness| (sharpness, searched(sharpness, &[], 6)));
    let mut best = &tried[0];
    for other in &tried[1..] {
        if other.1.loss < best.1.loss {
            best = other;
        }
    }
    let solution = searched(best.0, std::slice::from_ref(&best.1.parameters), 16);
    GemmTerm::of(units, best.0, &solution.parameters)
}

/// Constants that this data cannot tell: all about tiles without tiles, and with few rows all
/// but launch, arithmetic and memory.
fn unused_constants(quantised: bool, rows: usize) -> Vec<usize> {
    match (quantised, rows) {
        (_, 0..24) => vec![3, 4, 5, 6, 7],
        (false, _) => vec![3, 5, 6, 7],
        (true, _) => Vec::new(),
    }
}
