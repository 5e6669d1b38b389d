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

/// Each candidate's split, the sum of its tile's sides, and twice the tile's area.
const GEOMETRY: (Each, Each, Each) = {
    let (mut split, mut sides, mut area_twice) =
        ([0.0; CANDIDATES], [0.0; CANDIDATES], [0.0; CANDIDATES]);
    let mut index = 0;
    while index < CANDIDATES {
        let tile = TILES[index];
        split[index] = (1_u64 << tile.split) as f64;
        sides[index] = ((1_u64 << tile.rows) + (1_u64 << tile.columns)) as f64;
        area_twice[index] = (2_u64 << (tile.rows + tile.columns)) as f64;
        index += 1;
    }
    (split, sides, area_twice)
};

/// One number of every candidate. The formula runs over these part by part, so that several
/// candidates share one instruction.
pub(super) type Each = [f64; CANDIDATES];

/// What the candidates take, part by part, and which of them takes least.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidates {
    pub total_ns: Each,
    pub arithmetic_ns: Each,
    pub memory_ns: Each,
    pub cache_ns: Each,
    /// Adding up the parts of a split contraction.
    pub reduction_ns: Each,
    /// What vector lanes and blocking leave unused along small dimensions.
    pub edges_ns: f64,
    pub tiles: Each,
    pub best: usize,
}

impl GemmTerm {
    /// `(a^p + b^p + c^p)^(1/p)` with p a power of two: only multiplications and roots.
    #[inline]
    fn joined<const N: usize>(
        &self,
        mut a: [f64; N],
        mut b: [f64; N],
        mut c: [f64; N],
    ) -> [f64; N] {
        for _ in 0..self.sharpness {
            for of_all in [&mut a, &mut b, &mut c] {
                of_all.iter_mut().for_each(|value| *value *= *value);
            }
        }
        let mut sum: [f64; N] = std::array::from_fn(|index| a[index] + b[index] + c[index]);
        for _ in 0..self.sharpness {
            sum.iter_mut().for_each(|value| *value = value.sqrt());
        }
        sum
    }

    fn quantised_candidates(&self, shape: &Shape) -> Candidates {
        let (split, sides, area_twice) = GEOMETRY;
        let tiles: Each = std::array::from_fn(|index| {
            shape.tiles_over(TILES[index].rows, TILES[index].columns) * split[index]
        });
        let in_flight = tiles.map(|tiles| tiles * self.prepared.per_unit);
        let depth: Each = std::array::from_fn(|index| shape.depth[TILES[index].split as usize]);
        let arithmetic_ns: Each = std::array::from_fn(|index| {
            let per_wave = area_twice[index] * depth[index] * self.prepared.unit_ns_per_flop[index]
                + self.wave_ns;
            waves(in_flight[index]) * per_wave
        });
        let half = self.occupancy_half;
        let memory_ns = in_flight.map(|in_flight| {
            let partly = in_flight * (1.0 + half) / (in_flight + half);
            let occupied = if in_flight < 1.0 { partly } else { 1.0 };
            shape.bytes * self.prepared.memory_ns_per_byte / occupied
        });
        let cache_ns: Each = std::array::from_fn(|index| {
            let loaded = tiles[index] * sides[index] * depth[index] * shape.element_size;
            loaded * self.prepared.cache_ns_per_byte
        });
        let mut total_ns = self.joined(arithmetic_ns, memory_ns, cache_ns);
        let mut reduction_ns = [0.0; CANDIDATES];
        let mut best = self.only.unwrap_or(0).min(CANDIDATES - 1);
        for (index, tile) in TILES.iter().enumerate() {
            if tile.split > 0 {
                let partial = 4.0 * split[index] * shape.results;
                reduction_ns[index] = partial * self.prepared.cache_ns_per_byte + self.split_ns;
                total_ns[index] += reduction_ns[index];
                if shape.k >> tile.split < 128 {
                    total_ns[index] = f64::INFINITY;
                }
            }
            if self.only.is_none() && total_ns[index] < total_ns[best] {
                best = index;
            }
        }
        Candidates {
            total_ns,
            arithmetic_ns,
            memory_ns,
            cache_ns,
            reduction_ns,
            edges_ns: 0.0,
            tiles,
            best,
        }
    }

    /// The only candidate of a machine without tiles.
    fn unquantised(&self, shape: &Shape) -> Candidates {
        let arithmetic_ns = shape.flops / self.flops_per_ns;
        let memory_ns = shape.bytes * self.prepared.memory_ns_per_byte;
        // Small dimensions leave vector lanes and blocking unused.
        let edges_ns = self.wave_ns * (shape.results / 64.0 + shape.depth[0] / 16.0);
        let [joined] = self.joined([arithmetic_ns], [memory_ns], [0.0]);
        let mut total_ns = [f64::INFINITY; CANDIDATES];
        total_ns[0] = joined + edges_ns;
        Candidates {
            total_ns,
            arithmetic_ns: [arithmetic_ns; CANDIDATES],
            memory_ns: [memory_ns; CANDIDATES],
            cache_ns: [0.0; CANDIDATES],
            reduction_ns: [0.0; CANDIDATES],
            edges_ns,
            tiles: [1.0; CANDIDATES],
            best: 0,
        }
    }

    /// Times of all candidates; infinite of those that cannot be.
    pub(super) fn candidates(&self, shape: &Shape) -> Candidates {
        if self.quantised() { self.quantised_candidates(shape) } else { self.unquantised(shape) }
    }
}

/// Waves that so many tiles per unit take: whole ones up to four, then fractions count.
#[inline]
fn waves(in_flight: f64) -> f64 {
    let begun = |wave: f64| if in_flight > wave { 1.0 } else { 0.0 };
    let whole = begun(0.0) + begun(1.0) + begun(2.0) + begun(3.0);
    if in_flight > 4.0 { in_flight + 0.3 } else { whole }
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

    /// Tiles of `rows x columns` that cover the result.
    #[inline]
    pub fn tiles_of(&self, rows: u64, columns: u64) -> f64 {
        let over = |size: u64, side: u64| ((size - 1) / side + 1) as f64;
        over(self.m, rows) * over(self.n, columns) * self.batch
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_are_whole_up_to_four() {
        for in_flight in [1e-9, 0.5, 1.0, 1.0 + f64::EPSILON, 2.0, 2.5, 3.0, 3.7, 4.0] {
            assert_eq!(waves(in_flight), ceil(in_flight), "{in_flight}");
        }
        assert_eq!(waves(4.5), 4.8);
    }

    #[test]
    fn the_geometry_is_that_of_the_tiles() {
        let (split, sides, area_twice) = GEOMETRY;
        for (index, tile) in TILES.iter().enumerate() {
            let (rows, columns) = (2_f64.powi(tile.rows as i32), 2_f64.powi(tile.columns as i32));
            let expected = (2_f64.powi(tile.split as i32), rows + columns, 2.0 * rows * columns);
            assert_eq!((split[index], sides[index], area_twice[index]), expected);
        }
    }
}
