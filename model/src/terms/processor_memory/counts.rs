//! What the host device does for a memory-bound op, counted: vectors, rows, lines, pages.
//!
//! Follows the kernels of `kernelgauge-cuda` (`host/memory`): loops over elements, loops over
//! rows with a rest that fills no vector, tiles of a transposition, halves of rows joined. What
//! each count costs is left to the fit.

use kernelgauge_data::{MemoryOp, MemoryPoint};

use crate::terms::processor::{FIRST_LEVEL, LINE, PAGE, SPLIT_BYTES, missed};

/// Pieces per thread that work is cut into (`PIECES_PER_THREAD` of the host device).
const PIECES_PER_THREAD: u64 = 4;

/// An element with an exponential is split as so many that are only moved.
const EXPONENTIAL_COST: f64 = 4.0;

/// Strands of a reduction; a rest is taken one by one.
const STRANDS: u64 = 32;

/// Elements of a row from which it is summed in parts, and their number.
const LONG_ROW: u64 = 1 << 16;
const PARTS: u64 = 64;

/// Pages whose first touch is dearer than the next ones', as prefetchers start anew.
const FIRST_PAGES: f64 = 40.0;

/// What is counted, in the order of [`counts`]. Costs of steps are those of one op, so each op
/// gives them its own meaning.
pub(super) const COSTS: [&str; 19] = [
    "call",
    "fork",
    "block of lanes, or whole tile",
    "vector",
    "single element",
    "row, or band of tiles",
    "row of whole strands, or long half",
    "rest of strands, or ragged half",
    "line read past first-level cache",
    "line written past first-level cache",
    "line read past second-level cache",
    "line written past second-level cache",
    "line read past last cache",
    "line written past last cache",
    "line read cold",
    "line written cold",
    "page cold",
    "call cold",
    "first page cold",
];

/// The order of magnitude of each cost on processors at 2 to 4 GHz.
pub(super) const TYPICAL_NS: Counts = [
    10.0, 3000.0, 4.0, 0.5, 0.5, 10.0, 10.0, 0.5, 0.5, 1.0, 1.0, 1.5, 3.0, 4.0, 3.0, 4.0, 30.0,
    300.0, 50.0,
];

/// Counts of one op, each with a cost in nanoseconds.
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
}

/// Bytes read and written, for bytes of one element.
fn traffic(point: &MemoryPoint) -> [f64; 2] {
    let size = point.dtype.size() as f64;
    let [rows, columns] = [point.rows, point.columns].map(|value| value as f64);
    let matrix = rows * columns * size;
    match point.op {
        MemoryOp::Cast | MemoryOp::Triangle | MemoryOp::LayerNormBackward => {
            [point.bytes_read() as f64, point.bytes_written() as f64]
        }
        MemoryOp::Add => [2.0 * matrix, matrix],
        MemoryOp::Fill => [0.0, matrix],
        MemoryOp::Sum => [matrix, rows * size],
        MemoryOp::LayerNorm => [matrix + 2.0 * columns * size, matrix],
        _ => [matrix, matrix],
    }
}

/// Threads that work, and the largest share of the work that one of them has.
fn threads(processor: &Processor, point: &MemoryPoint) -> (f64, f64) {
    let matrix = point.rows as f64 * point.columns as f64 * point.dtype.size() as f64;
    let weighed = match point.op {
        MemoryOp::Add => 3.0 * matrix,
        MemoryOp::Fill | MemoryOp::Sum => matrix,
        MemoryOp::Sigmoid | MemoryOp::Gelu | MemoryOp::Softmax | MemoryOp::Dropout => {
            2.0 * EXPONENTIAL_COST * matrix
        }
        MemoryOp::Cast | MemoryOp::Triangle | MemoryOp::LayerNormBackward => {
            traffic(point).iter().sum()
        }
        _ => 2.0 * matrix,
    };
    let row_by_row =
        matches!(point.op, MemoryOp::Softmax | MemoryOp::LayerNorm | MemoryOp::LayerNormBackward);
    let alone = row_by_row && point.rows == 1;
    let count = processor.threads.max(1);
    if count == 1 || weighed < SPLIT_BYTES || alone {
        return (1.0, 1.0);
    }
    let pieces = count.saturating_mul(PIECES_PER_THREAD);
    let lanes = (LINE as u64 / point.dtype.size().max(1)).max(1);
    let units = match point.op {
        MemoryOp::Sum if point.columns >= LONG_ROW && point.rows < pieces => PARTS,
        MemoryOp::Sum
        | MemoryOp::Softmax
        | MemoryOp::LayerNorm
        | MemoryOp::LayerNormBackward
        | MemoryOp::Concat
        | MemoryOp::Triangle => point.rows,
        MemoryOp::Transpose => point.columns.div_ceil(lanes),
        _ => point.rows.saturating_mul(point.columns),
    }
    .max(1);
    let piece = units.div_ceil(pieces);
    let rounds = units.div_ceil(piece).div_ceil(count);
    let share = (rounds as f64 * piece as f64 / units as f64).min(1.0);
    (count as f64, share)
}

/// The counts of `point`, with operands that were evicted before where `cold`.
pub(super) fn counts(processor: &Processor, point: &MemoryPoint, cold: bool) -> Counts {
    let (threads, share) = threads(processor, point);
    let [read, written] = traffic(point);
    let footprint = read + written;
    let [read, written] = [read, written].map(|bytes| bytes / LINE * share);
    let mut counts = [0.0; COSTS.len()];
    counts[0] = 1.0;
    counts[1] = if threads > 1.0 { 1.0 } else { 0.0 };
    for (count, steps) in counts[2..8].iter_mut().zip(steps(processor, point)) {
        *count = steps * share;
    }
    if cold {
        counts[14] = read;
        counts[15] = written;
        counts[16] = (footprint / PAGE).max(1.0) * share;
        counts[17] = 1.0;
        counts[18] = (footprint / PAGE).min(FIRST_PAGES) * share;
        return counts;
    }
    let levels = [FIRST_LEVEL, processor.second_level, processor.last_level];
    for (level, capacity) in levels.into_iter().enumerate() {
        let missed = missed(footprint, capacity);
        counts[8 + 2 * level] = read * missed;
        counts[9 + 2 * level] = written * missed;
    }
    counts
}

/// The steps of an op, in the order of `COSTS[2..8]`.
fn steps(processor: &Processor, point: &MemoryPoint) -> [f64; 6] {
    let [rows, columns] = [point.rows, point.columns].map(|value| value as f64);
    match point.op {
        MemoryOp::Sum | MemoryOp::Softmax | MemoryOp::LayerNorm | MemoryOp::LayerNormBackward => {
            let rest = point.columns % processor.block;
            let whole = if point.columns >= STRANDS { rows } else { 0.0 };
            [
                rows * (point.columns / processor.block) as f64,
                rows * (rest / processor.vector) as f64,
                rows * (rest % processor.vector) as f64,
                rows,
                whole,
                rows * (point.columns % STRANDS) as f64,
            ]
        }
        MemoryOp::Transpose => {
            let side = (LINE as u64 / point.dtype.size().max(1)).max(1);
            let whole = (point.rows / side) as f64 * (point.columns / side) as f64;
            let edge = rows * columns - whole * (side * side) as f64;
            let far = if rows * point.dtype.size() as f64 >= PAGE { rows * columns } else { 0.0 };
            let bands = point.columns.div_ceil(side) as f64;
            [whole, 0.0, edge, bands, point.rows.div_ceil(side) as f64 * columns, far / side as f64]
        }
        // A copy for each row below the first of a square.
        MemoryOp::Triangle => {
            [point.pairs() as f64 / processor.block as f64, 0.0, 0.0, rows * columns, 0.0, 0.0]
        }
        MemoryOp::Concat => {
            let half = point.columns / 2;
            let lanes = (LINE as u64 / point.dtype.size().max(1)).max(1);
            let long = if half > 4 * lanes { rows } else { 0.0 };
            let ragged = if half.is_multiple_of(lanes) { 0.0 } else { rows };
            [rows * columns / processor.block as f64, 0.0, 0.0, rows, long, ragged]
        }
        _ => [rows * columns / processor.block as f64, 0.0, 0.0, 0.0, 0.0, 0.0],
    }
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::Dtype;

    use super::*;

    const PAIR: Processor =
        Processor { threads: 2, block: 64, vector: 8, second_level: 1e6, last_level: 16e6 };

    fn op(op: MemoryOp, rows: u64, columns: u64) -> MemoryPoint {
        MemoryPoint { op, dtype: Dtype::F32, rows, columns }
    }

    #[test]
    fn rows_leave_rests_and_tiles_leave_edges() {
        let sum = counts(&PAIR, &op(MemoryOp::Sum, 3, 64 + 2 * 8 + 5), false);
        assert_eq!(sum[2..8], [3.0, 6.0, 15.0, 3.0, 3.0, 63.0]);
        let transpose = counts(&PAIR, &op(MemoryOp::Transpose, 33, 20), false);
        assert_eq!(transpose[2..6], [2.0, 0.0, 148.0, 2.0]);
    }

    #[test]
    fn rows_that_do_not_divide_leave_one_thread_more() {
        let share = |rows, columns| threads(&PAIR, &op(MemoryOp::LayerNorm, rows, columns));
        assert_eq!(share(1, 1 << 20), (1.0, 1.0));
        assert_eq!(share(3, 1 << 20), (2.0, 2.0 / 3.0));
        assert_eq!(share(1 << 10, 1 << 10), (2.0, 0.5));
        assert_eq!(share(4, 4), (1.0, 1.0));
    }

    #[test]
    fn cold_operands_come_from_memory_whatever_their_size() {
        let point = op(MemoryOp::Add, 1, 1024);
        let (hot, cold) = (counts(&PAIR, &point, false), counts(&PAIR, &point, true));
        assert!(hot[8..].iter().all(|count| *count == 0.0), "{hot:?}");
        assert_eq!(cold[14..18], [128.0, 64.0, 3.0, 1.0]);
    }

    #[test]
    fn counts_of_the_largest_ops_are_finite() {
        for kind in MemoryOp::ALL {
            for (rows, columns) in [(1, u64::MAX), (u64::MAX, 1), (1 << 31, 1 << 31)] {
                for cold in [false, true] {
                    let counts = counts(&PAIR, &op(kind, rows, columns), cold);
                    assert!(counts.iter().all(|count| count.is_finite() && *count >= 0.0));
                }
            }
        }
    }
}
