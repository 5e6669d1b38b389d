//! The points of a memory sweep: ops from a kilobyte to well beyond the last cache, with the
//! operands hot and cold.

use kernelgauge_data::{CacheState, Dtype, MemoryOp, MemoryPoint, Point};

use super::scatter::{Scatter, log_between};
use super::{Candidate, DEEPEST};

/// The ops: those that the model of processors has counts and shipped measurements for. Others
/// are executed where a point is asked for.
const OPS: [MemoryOp; 11] = [
    MemoryOp::Add,
    MemoryOp::Scale,
    MemoryOp::Relu,
    MemoryOp::Sigmoid,
    MemoryOp::Gelu,
    MemoryOp::Sum,
    MemoryOp::Softmax,
    MemoryOp::LayerNorm,
    MemoryOp::Transpose,
    MemoryOp::Concat,
    MemoryOp::Fill,
];
/// Elements of the smallest point.
const FEWEST: u64 = 1 << 10;
/// Elements of the largest: 128 MiB of `f32` in each operand.
const MOST: u64 = 1 << 25;
/// Columns of ops that work row by row.
const COLUMNS: (u64, u64) = (16, 16_384);
/// Scattered points of each op, by pass.
const SCATTERED: [usize; 3] = [3, 6, 12];

/// The candidate points of these ops, hot and cold.
pub fn candidates() -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for op in OPS {
        for cache in [CacheState::Hot, CacheState::Cold] {
            let mut count = 0_u8;
            let mut add = |level, (rows, columns)| {
                let point = Point::Memory(MemoryPoint { op, dtype: Dtype::F32, rows, columns });
                let level = level + later(cache, level, &mut count);
                candidates.push(Candidate::usual(point, cache, level));
            };
            if op.is_elementwise() {
                elementwise(&mut add);
            } else {
                row_by_row(&mut add);
            }
        }
    }
    candidates
}

/// One for every other cold point of the first pass, which moves it to the second: filling
/// more than a cache takes longer than measuring, and cold times have no step at a cache's size.
fn later(cache: CacheState, level: u8, count: &mut u8) -> u8 {
    if cache != CacheState::Cold || level > 0 {
        return 0;
    }
    *count += 1;
    (*count + 1) % 2
}

/// One line over the number of elements.
fn elementwise(add: &mut impl FnMut(u8, (u64, u64))) {
    for (level, exponents) in
        [(0, &[10, 14, 17, 20, 22, 25][..]), (1, &[12, 15, 16, 18, 19, 21, 23, 24])]
    {
        exponents.iter().for_each(|exponent| add(level, (1, 1 << exponent)));
    }
    for exponent in 10..25 {
        add(DEEPEST, (1, 3 << (exponent - 1)));
    }
    let mut sizes = Scatter::<1>::new();
    for (level, count) in SCATTERED.into_iter().enumerate() {
        for [size] in sizes.by_ref().take(count) {
            add(level as u8, (1, log_between(FEWEST, MOST, size)));
        }
    }
}

/// Lines over the number of rows at several widths, and scattered matrices.
fn row_by_row(add: &mut impl FnMut(u8, (u64, u64))) {
    for (columns, first, second) in [
        (64, &[16, 1 << 13][..], &[1 << 8, 1 << 17][..]),
        (1024, &[1, 1 << 8, 1 << 12], &[1 << 4, 1 << 10, 1 << 15]),
        (8192, &[1 << 4, 1 << 9], &[1, 1 << 7, 1 << 12]),
    ] {
        first.iter().for_each(|rows| add(0, (*rows, columns)));
        second.iter().for_each(|rows| add(1, (*rows, columns)));
    }
    for (rows, columns) in [(MOST / COLUMNS.0 / 4, COLUMNS.0), (1, COLUMNS.1)] {
        add(0, (rows, columns));
    }
    let mut shapes = Scatter::<2>::new();
    for (level, count) in SCATTERED.into_iter().enumerate() {
        for [columns, size] in shapes.by_ref().take(count) {
            // Even, because concat joins two halves.
            let columns = log_between(COLUMNS.0, COLUMNS.1, columns) & !1;
            let rows = (log_between(FEWEST, MOST, size) / columns).max(1);
            add(level as u8, (rows, columns));
        }
    }
}
