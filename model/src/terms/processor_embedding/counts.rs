//! What the host device does for an embedding bag, counted: lookups, vectors, misses, sorting.
//!
//! Follows the kernels of `kernelgauge-cuda` (`host/embedding`): a forward pass sums rows bag by
//! bag, the bags dealt to the threads; a backward pass sorts the lookups of each table by row, a
//! table per thread, in passes of 11 bits, and then applies runs of equal rows, dealt to the
//! threads again. What each count costs is left to the fit.

use kernelgauge_data::{Direction, EmbeddingPoint, Optimizer};

use crate::terms::processor::{FIRST_LEVEL, LINE, PAGE, SPLIT_BYTES, missed};

/// Bits of a row that one pass sorts by (`DIGIT` of the host device).
const SORTED_BITS: u32 = 11;

/// Lanes that the mean square of a gradient is summed in; a rest is summed one by one.
const STRANDS: u64 = 8;

/// Neighbours among running squares that one line holds.
const SQUARES_PER_LINE: f64 = 16.0;

/// What is counted, in the order of [`counts`]. The first `FORWARD` come with either pass, the
/// last eight with row-wise adagrad.
pub(super) const COSTS: [&str; 31] = [
    "call",
    "fork",
    "bag",
    "lookup",
    "block of lanes",
    "vector",
    "single lane",
    "line past first-level cache",
    "line past second-level cache",
    "row past last cache",
    "line past last cache",
    "address past translation buffer",
    "line of indices and results",
    "wait of idle threads",
    "histogram of a sorting pass",
    "key made",
    "key placed",
    "key copied back",
    "row updated",
    "block of lanes updated",
    "vector updated",
    "single lane updated",
    "gradient past first-level cache",
    "run of unforeseen length",
    "root",
    "block of lanes squared",
    "vector squared",
    "single lane squared",
    "row with a rest of lanes",
    "square past first-level cache",
    "square past second-level cache",
];

/// The order of magnitude of each cost on processors at 2 to 4 GHz.
pub(super) const TYPICAL_NS: Counts = [
    50.0, 2000.0, 2.0, 1.0, 2.0, 0.3, 0.5, 0.2, 0.4, 20.0, 4.0, 3.0, 1.0, 3000.0, 500.0, 0.5, 0.8,
    0.3, 1.0, 1.0, 0.3, 0.5, 0.2, 2.0, 6.0, 3.0, 2.0, 0.3, 2.0, 5.0, 5.0,
];

/// Counts of one pass, each with a cost in nanoseconds.
pub(super) type Counts = [f64; COSTS.len()];

/// What decides how the work falls out on a processor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Processor {
    pub threads: u64,
    /// Lanes of the unrolled loop over a row.
    pub block: u64,
    /// Lanes of the loop over what that leaves.
    pub vector: u64,
    pub second_level: f64,
    pub last_level: f64,
    /// Bytes that the address translation reaches.
    pub reach: f64,
}

/// A row cut as compiled loops cut it.
struct Lanes {
    blocks: f64,
    vectors: f64,
    single: f64,
}

impl Lanes {
    fn of(processor: &Processor, dim: u64) -> Self {
        let rest = dim % processor.block;
        Lanes {
            blocks: (dim / processor.block) as f64,
            vectors: (rest / processor.vector) as f64,
            single: (rest % processor.vector) as f64,
        }
    }
}

/// The counts of `point`, whose batch touches `distinct` rows of each table.
pub(super) fn counts(processor: &Processor, point: &EmbeddingPoint, distinct: f64) -> Counts {
    let [tables, batch, dim] = [point.tables, point.batch, point.dim].map(|value| value as f64);
    let row = dim * point.dtype.size() as f64;
    let lines = row / LINE + if row % LINE == 0.0 { 0.0 } else { 1.0 - 1.0 / SQUARES_PER_LINE };
    let lookups = tables * point.lookups() as f64;
    let backward = point.direction == Direction::Backward;
    let traffic = if backward { 2.0 * lookups * row } else { lookups * (8.0 + row) };
    let threads = if traffic >= SPLIT_BYTES { processor.threads.max(1) as f64 } else { 1.0 };
    let forked = if threads > 1.0 { 1.0 } else { 0.0 };
    let share = 1.0 / threads;
    let lanes = Lanes::of(processor, point.dim);

    let table = distinct * lines * LINE;
    let streamed = 8.0 * lookups + tables * batch * row;
    let footprint = tables * table + streamed;
    let first = tables * distinct;
    let again = (lookups - first).max(0.0);
    // First touches miss unless everything stays between executions, later ones unless the rows
    // of their table do.
    let past =
        |capacity: f64| first * missed(footprint, capacity) + again * missed(table, capacity);
    let touched = first * (row / PAGE).max(1.0) * PAGE;
    let pages = touched.min(tables * point.rows as f64 * row);

    let mut counts = [0.0; COSTS.len()];
    counts[0] = 1.0;
    counts[1] = forked;
    counts[2] = tables * batch * share;
    counts[3] = lookups * share;
    counts[4] = lookups * lanes.blocks * share;
    counts[5] = lookups * lanes.vectors * share;
    counts[6] = lookups * lanes.single * share;
    counts[7] = past(FIRST_LEVEL) * lines * share;
    counts[8] = past(processor.second_level) * lines * share;
    counts[9] = past(processor.last_level) * share;
    counts[10] = counts[9] * lines;
    counts[11] = lookups * missed(pages, processor.reach) * share;
    counts[12] = streamed / LINE * missed(footprint, processor.second_level) * share;
    if backward {
        sorted(&mut counts, point, threads, lookups);
        updated(&mut counts, &lanes, first * share);
        counts[22] = lookups * lines * missed(batch * row, FIRST_LEVEL) * share;
        let reuse = lookups / first.max(1.0);
        counts[23] = first * share * (1.0 - libm::exp(1.0 - reuse.max(1.0)));
        if point.optimizer == Optimizer::RowWiseAdagrad {
            squared(&mut counts, processor, point, &lanes, first * share);
        }
    }
    counts
}

/// Sorting: each table by one thread, so that threads wait where tables do not divide by them.
fn sorted(counts: &mut Counts, point: &EmbeddingPoint, threads: f64, lookups: f64) {
    let tables = point.tables as f64;
    let bits = u64::BITS - point.rows.saturating_sub(1).leading_zeros();
    let passes = f64::from(bits.div_ceil(SORTED_BITS));
    let rounds = (tables / threads).ceil();
    let share = rounds / tables.max(1.0);
    counts[13] = if rounds * threads > tables { 1.0 } else { 0.0 };
    counts[14] = rounds * passes;
    counts[15] = lookups * share;
    counts[16] = lookups * passes * share;
    counts[17] = lookups * (passes % 2.0) * share;
}

fn updated(counts: &mut Counts, lanes: &Lanes, rows: f64) {
    counts[18] = rows;
    counts[19] = rows * lanes.blocks;
    counts[20] = rows * lanes.vectors;
    counts[21] = rows * lanes.single;
}

fn squared(
    counts: &mut Counts,
    processor: &Processor,
    point: &EmbeddingPoint,
    lanes: &Lanes,
    rows: f64,
) {
    let [tables, all] = [point.tables, point.rows].map(|value| value as f64);
    let spread =
        (counts[18] * processor.threads.max(1) as f64 * SQUARES_PER_LINE).min(tables * all);
    let squares = spread * point.dtype.size() as f64;
    counts[24] = rows;
    counts[25] = rows * lanes.blocks;
    counts[26] = rows * lanes.vectors;
    counts[27] = rows * lanes.single;
    counts[28] = if point.dim.is_multiple_of(STRANDS) { 0.0 } else { rows };
    counts[29] = rows * missed(squares, FIRST_LEVEL);
    counts[30] = rows * missed(squares, processor.second_level);
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{Distribution, Dtype};

    use super::*;

    const PAIR: Processor = Processor {
        threads: 2,
        block: 64,
        vector: 8,
        second_level: 1e6,
        last_level: 16e6,
        reach: 8e6,
    };

    fn bag(direction: Direction, tables: u64, dim: u64, batch: u64) -> EmbeddingPoint {
        EmbeddingPoint {
            direction,
            optimizer: Optimizer::RowWiseAdagrad,
            dtype: Dtype::F32,
            tables,
            rows: 100_000,
            dim,
            batch,
            pooling: 10,
            distribution: Distribution::Uniform,
        }
    }

    #[test]
    fn rows_are_cut_as_the_compiled_loop_cuts_them() {
        let counts = counts(&PAIR, &bag(Direction::Forward, 1, 64 + 3 * 8 + 4, 1), 10.0);
        assert_eq!(counts[3..7], [10.0, 10.0, 30.0, 40.0]);
        assert!(counts[13..].iter().all(|count| *count == 0.0));
    }

    #[test]
    fn large_passes_are_shared_and_odd_tables_make_a_thread_wait() {
        let of = |tables, batch| {
            let point = bag(Direction::Backward, tables, 64, batch);
            counts(&PAIR, &point, point.distinct_rows())
        };
        let (small, odd, even) = (of(1, 10), of(3, 1000), of(4, 1000));
        assert_eq!((small[1], small[13], small[3]), (0.0, 0.0, 100.0));
        assert_eq!((odd[1], odd[13], odd[3]), (1.0, 1.0, 15_000.0));
        assert_eq!((even[1], even[13], even[3]), (1.0, 0.0, 20_000.0));
        // 17 bits take two passes; three tables take two rounds as four do.
        assert_eq!((odd[14], even[14]), (4.0, 4.0));
    }

    #[test]
    fn counts_of_the_largest_bags_are_finite() {
        let largest = u64::from(u32::MAX);
        let mut point = bag(Direction::Backward, largest, largest, largest);
        (point.rows, point.pooling) = (u64::MAX, largest);
        for distinct in [0.0, 1.0, 1e19] {
            let counts = counts(&PAIR, &point, distinct);
            assert!(counts.iter().all(|count| count.is_finite() && *count >= 0.0), "{counts:?}");
        }
    }
}
