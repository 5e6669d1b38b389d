//! The ways a kernel may cut a product, and what each takes.

use kernelgauge_data::GemmPoint;

use super::GemmTerm;

/// One way to cut the result: log2 of the tile's rows and columns, log2 of the split.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tile {
    pub rows: u32,
    pub columns: u32,
    pub split: u32,
}

const fn tile(rows: u32, columns: u32, split: u32) -> Tile {
    Tile { rows, columns, split }
}

/// Number of candidates.
pub(super) const CANDIDATES: usize = 14;

/// 64x64 to 256x128, and the splits that rescue products with few tiles and a long contraction.
pub(super) const TILES: [Tile; CANDIDATES] = [
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

/// What a candidate takes, part by part.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Candidate {
    pub total_ns: f64,
    pub arithmetic_ns: f64,
    pub memory_ns: f64,
    pub cache_ns: f64,
    /// Adding up the parts of a split contraction.
    pub reduction_ns: f64,
    /// What vector lanes and blocking leave unused along small dimensions.
    pub edges_ns: f64,
    pub tiles: f64,
}

impl GemmTerm {
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
        let mut reduction_ns = 0.0;
        if tile.split > 0 {
            let partial = 4.0 * split * shape.results;
            reduction_ns = partial * self.prepared.cache_ns_per_byte + self.split_ns;
            total_ns += reduction_ns;
        }
        Candidate {
            total_ns,
            arithmetic_ns,
            memory_ns,
            cache_ns,
            reduction_ns,
            edges_ns: 0.0,
            tiles,
        }
    }

    /// The only candidate of a machine without tiles.
    fn unquantised(&self, shape: &Shape) -> Candidate {
        let arithmetic_ns = shape.flops / self.flops_per_ns;
        let memory_ns = shape.bytes * self.prepared.memory_ns_per_byte;
        // Small dimensions leave vector lanes and blocking unused.
        let edges_ns = self.wave_ns * (shape.results / 64.0 + shape.depth[0] / 16.0);
        let total_ns = self.joined(arithmetic_ns, memory_ns, 0.0) + edges_ns;
        Candidate {
            total_ns,
            arithmetic_ns,
            memory_ns,
            edges_ns,
            tiles: 1.0,
            ..Candidate::default()
        }
    }

    /// Times of all candidates, and the index of the smallest.
    pub(super) fn candidates(&self, shape: &Shape) -> ([Candidate; CANDIDATES], usize) {
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
}

/// A product's numbers that do not depend on the candidate.
pub(super) struct Shape {
    m: u64,
    n: u64,
    k: u64,
    batch: f64,
    pub flops: f64,
    pub bytes: f64,
    results: f64,
    element_size: f64,
    /// The contraction of one part when split into 1, 2, 4, 8, in whole steps of 32.
    depth: [f64; 4],
}

impl Shape {
    pub fn of(point: &GemmPoint) -> Self {
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
    pub fn tiles_over(&self, rows: u32, columns: u32) -> f64 {
        let over = |size: u64, log: u32| ((size - 1) >> log) + 1;
        over(self.m, rows) as f64 * over(self.n, columns) as f64 * self.batch
    }
}

/// Share of the last multiple that `value` fills up to.
#[inline]
pub(super) fn filled(value: u64, multiple: u64) -> f64 {
    value as f64 / (((value - 1) / multiple + 1) * multiple) as f64
}

/// `f64::ceil` for what fits an i64, without a call into the platform's library.
#[inline]
pub(super) fn ceil(value: f64) -> f64 {
    let whole = value as i64 as f64;
    if whole < value { whole + 1.0 } else { whole }
}
