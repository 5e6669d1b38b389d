//! How the `gemm` crate cuts a product, counted: microkernels, copies, cache misses.
//!
//! Follows `gemm-common` 0.19 (`gemm.rs`, and `kernel_params` in `cache.rs`) for row-major
//! operands, which the crate transposes: columns of the result run along the vectors. What each
//! count costs is left to the fit.

use kernelgauge_data::GemmPoint;

/// Multiply-adds from which the crate uses all threads (`DEFAULT_THREADING_THRESHOLD`).
const THREADED_WORK: f64 = (48 * 48 * 256) as f64;

/// Multiply-adds from which a batch is spread over the threads, one product each: the host
/// device's choice.
pub(super) const SPREAD_WORK: f64 = THREADED_WORK;

/// Microkernels across from which the second operand is packed as it is used: on one thread,
/// and on several (`DEFAULT_LHS_PACKING_THRESHOLD_*`).
const PACKED_COLUMNS: [u64; 2] = [8, 16];

/// Longest contraction of one pass.
const DEPTH: u64 = 512;

/// Bytes of a small page: rows this far apart lie in one each.
const PAGE: f64 = 4096.0;

const LINE: u64 = 64;

/// First-level data cache that nearly all processors have at least.
const FIRST_LEVEL: f64 = (32 << 10) as f64;

/// What is counted, in the order of [`counts`].
pub(super) const COSTS: [&str; 14] = [
    "call",
    "fork",
    "vector multiply-add",
    "short microkernel",
    "broadcast",
    "packing ahead",
    "packed ahead for another thread",
    "packing in use",
    "bytes past second-level cache",
    "unaligned vector",
    "row in a page of its own",
    "conflict in second-level cache",
    "load past first-level cache",
    "matrix-vector step",
];

/// The order of magnitude of each cost on processors at 2 to 4 GHz: a fork takes microseconds,
/// two vector multiply-adds a cycle, a load past a cache several.
pub(super) const TYPICAL_NS: Counts =
    [100.0, 5000.0, 0.2, 0.5, 0.2, 0.3, 0.4, 0.3, 0.05, 0.3, 2.0, 1.5, 0.2, 3.0];

/// Counts of one product, each with a cost in nanoseconds.
pub(super) type Counts = [f64; COSTS.len()];

/// What decides how a processor cuts a product.
#[derive(Debug, Clone, Copy)]
pub(super) struct Processor {
    pub threads: u64,
    pub vector_bytes: u64,
    /// Vectors along a microkernel.
    pub vectors: u64,
    /// Columns across it.
    pub columns: u64,
    /// Second-level cache of one core.
    pub cache_bytes: u64,
}

/// Blocks of one product: `n` in chunks of whole microkernels, `k` in passes.
struct Blocks {
    lanes: u64,
    depth: u64,
    passes: f64,
    /// Largest chunk of `n`.
    chunk: u64,
    /// Sizes of the chunks of `n`, and how many there are of each.
    chunks: [(u64, u64); 3],
    ahead: bool,
}

impl Blocks {
    fn of(processor: &Processor, point: &GemmPoint) -> Self {
        let Processor { vector_bytes, vectors, cache_bytes, .. } = *processor;
        let (m, n, k) = (point.m.max(1), point.n.max(1), point.k.max(1));
        let size = point.dtype.size().max(1);
        let lanes = (vector_bytes / size).max(1);
        let long = lanes * vectors;
        let depth = if m <= 64 && n <= 64 { k.min(DEPTH) } else { k.div_ceil(k.div_ceil(DEPTH)) };
        let fitting = (cache_bytes / 8 * 7 / (size * depth) / long).max(1) * long;
        let chunk = match n <= 64 && m <= 64 {
            true => fitting,
            false => (n.div_ceil(n.div_ceil(fitting) * long) * long).min(8 * long),
        };
        let ahead = n <= 2 * chunk && n % lanes != 0;
        let rest = n % chunk;
        let whole = if ahead || rest < lanes { rest } else { rest / lanes * lanes };
        let chunks = [
            (chunk, n / chunk),
            (whole, u64::from(whole > 0)),
            (rest - whole, u64::from(rest > whole)),
        ];
        Blocks { lanes, depth, passes: k.div_ceil(depth) as f64, chunk, chunks, ahead }
    }
}

/// What the product takes, without its batch, when `threads` work on it.
pub(super) fn counts(processor: &Processor, point: &GemmPoint, threads: u64) -> Counts {
    if point.m == 1 {
        return matrix_vector(processor, point);
    }
    let blocks = Blocks::of(processor, point);
    let Processor { vectors, columns, cache_bytes, .. } = *processor;
    let [m, n, k] = [point.m, point.n, point.k].map(|value| value as f64);
    let size = point.dtype.size() as f64;
    let work = m * n * blocks.depth as f64;
    let threads = if work < THREADED_WORK { 1 } else { threads.max(1) };
    let forked = threads > 1;
    let across = point.m.div_ceil(columns) as f64;
    let packed = point.m.div_ceil(columns) > PACKED_COLUMNS[usize::from(forked)];
    let mut tally = Tally::default();
    for (chunk, times) in blocks.chunks {
        tally.add(&blocks, vectors, chunk, times, packed);
    }
    let jobs = tally.along * across;
    let share = (jobs / threads as f64).ceil() / jobs;
    let kernels = jobs * k * share;
    let loaded = tally.vectors * across * k * share;
    let direct = if packed || blocks.ahead { 0.0 } else { loaded };
    let shared = k * n * size;
    let missed = (1.0 - cache_bytes as f64 / shared).max(0.0);
    let when = |condition: bool, value: f64| if condition { value } else { 0.0 };
    let alone = if tally.chunks > 1.0 { share * (1.0 + 1.0 / tally.chunks) } else { 1.0 };
    [
        1.0,
        when(forked, blocks.passes),
        tally.vectors * m * k * share,
        // Eight chains of multiply-adds hide their latency; a short microkernel has fewer.
        short(point.m, columns, vectors) * tally.along * k * share,
        tally.along * m * k * share,
        when(blocks.ahead, k * n),
        when(blocks.ahead && forked, k * n),
        tally.packed * k * alone.min(1.0),
        shared * missed * if blocks.ahead { 1.0 } else { share },
        when(!point.n.is_multiple_of(blocks.lanes), direct),
        when(n * size >= PAGE && direct > 0.0, kernels),
        direct * conflicting(&blocks, point, cache_bytes),
        when((blocks.depth * vectors * LINE) as f64 > FIRST_LEVEL, direct),
        0.0,
    ]
}

/// A single row is multiplied by a loop of its own, on one thread.
fn matrix_vector(processor: &Processor, point: &GemmPoint) -> Counts {
    let [n, k] = [point.n, point.k].map(|value| value as f64);
    let size = point.dtype.size() as f64;
    let lanes = (processor.vector_bytes as f64 / size).max(1.0);
    let bytes = n * k * size;
    let beyond = |cache: f64| (1.0 - cache / bytes).max(0.0);
    let mut counts = [0.0; COSTS.len()];
    counts[0] = 1.0;
    counts[2] = n * k / lanes;
    counts[8] = bytes * beyond(processor.cache_bytes as f64);
    counts[12] = n * k / lanes * beyond(FIRST_LEVEL);
    counts[13] = k;
    counts
}

/// Counts over the chunks of `n`.
#[derive(Default)]
struct Tally {
    chunks: f64,
    vectors: f64,
    /// Microkernels along the chunks.
    along: f64,
    /// Elements of each row that are packed as they are used.
    packed: f64,
}

impl Tally {
    fn add(&mut self, blocks: &Blocks, vectors: u64, chunk: u64, times: u64, packed: bool) {
        let count = times as f64;
        self.chunks += count;
        self.vectors += chunk.div_ceil(blocks.lanes) as f64 * count;
        self.along += chunk.div_ceil(blocks.lanes * vectors) as f64 * count;
        if !blocks.ahead && (packed || !chunk.is_multiple_of(blocks.lanes)) {
            self.packed += chunk as f64 * count;
        }
    }
}

/// Chains that microkernels across `m` rows lack to eight.
fn short(m: u64, columns: u64, vectors: u64) -> f64 {
    8_u64.saturating_sub(m % columns * vectors) as f64 * f64::from(!m.is_multiple_of(columns))
}

/// Share of a chunk that falls out of the second-level cache between its uses, because rows a
/// multiple of a power of two apart reach few of its sets (16 ways are assumed).
fn conflicting(blocks: &Blocks, point: &GemmPoint, cache_bytes: u64) -> f64 {
    let size = point.dtype.size();
    let row = point.n.saturating_mul(size);
    let chunk = blocks.chunk.min(point.n) * size;
    let sets = (cache_bytes / LINE / 16).max(1);
    let stride = match row.is_multiple_of(LINE) {
        true => 1_u64 << (row / LINE).trailing_zeros().min(sets.ilog2()),
        false => 1,
    };
    let reached = (chunk / LINE + 1).min(stride) as f64 / stride as f64;
    let held = cache_bytes as f64 * reached / 2.0;
    (1.0 - held / (chunk * blocks.depth).max(1) as f64).max(0.0)
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{Dtype, GemmLayout};

    use super::*;

    const WIDE: Processor =
        Processor { threads: 2, vector_bytes: 64, vectors: 4, columns: 6, cache_bytes: 2 << 20 };

    fn product(m: u64, n: u64, k: u64) -> GemmPoint {
        GemmPoint { dtype: Dtype::F32, batch: 1, m, n, k, layout: GemmLayout::Unstated }
    }

    #[test]
    fn ragged_columns_are_packed_ahead_up_to_two_chunks() {
        let ahead = |n: u64| counts(&WIDE, &product(64, n, 256), 2)[5];
        assert_eq!(ahead(1000), 256_000.0);
        assert_eq!((ahead(992), ahead(1100)), (0.0, 0.0));
    }

    #[test]
    fn large_products_are_shared_by_the_threads() {
        let product = product(96, 1024, 1024);
        let (one, two) = (counts(&WIDE, &product, 1), counts(&WIDE, &product, 2));
        assert_eq!((one[1], two[1]), (0.0, 2.0));
        assert_eq!(one[2], 64.0 * 96.0 * 1024.0);
        assert_eq!(two[2], one[2] / 2.0);
    }

    #[test]
    fn counts_of_the_largest_products_are_finite() {
        for size in [1, u64::from(u32::MAX), u64::MAX / 64] {
            let counts = counts(&WIDE, &product(size, size, size), 2);
            assert!(counts.iter().all(|count| count.is_finite() && *count >= 0.0), "{counts:?}");
        }
    }
}
