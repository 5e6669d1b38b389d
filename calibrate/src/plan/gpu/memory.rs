//! Memory-bound ops of a GPU: every op in three types, hot and cold, from a kilobyte to far
//! beyond any cache.

use kernelgauge_data::{CacheState, Dtype, MemoryOp, MemoryPoint, Point};

use super::super::scatter::{Scatter, log_between};
use super::super::{Candidate, DEEPEST};

/// Elements of the smallest point, and of the largest: 1 GiB of `f32` in each operand.
const FEWEST: u64 = 1 << 10;
const MOST: u64 = 1 << 28;
/// Columns of ops that work row by row.
const COLUMNS: (u64, u64) = (16, 16_384);
/// Scattered points of each variant, by pass.
const SCATTERED: [usize; 3] = [2, 6, 12];
/// Powers of two of element-wise ops, by pass.
const EXPONENTS: [&[u32]; 2] =
    [&[10, 14, 18, 20, 22, 24, 26, 28], &[12, 16, 17, 19, 21, 23, 25, 27]];
/// Columns, and rows by pass.
const LINES: [(u64, [&[u64]; 2]); 3] = [
    (64, [&[16, 1 << 13, 1 << 20], &[1 << 8, 1 << 17, 1 << 22]]),
    (1024, [&[1, 1 << 8, 1 << 12, 1 << 17], &[1 << 4, 1 << 10, 1 << 15, 1 << 18]]),
    (8192, [&[1 << 4, 1 << 9, 1 << 14], &[1, 1 << 7, 1 << 12]]),
];

/// Features whose interaction is a triangle, and batches by pass: 27 are those of the Criteo data
/// (26 tables and what the other inputs become), the others have fewer and many more tables.
const TRIANGLES: [(u64, [&[u64]; 2]); 4] = [
    (8, [&[32, 1 << 12, 1 << 18], &[1 << 8, 1 << 15, 1 << 21]]),
    (27, [&[1, 128, 1 << 11, 1 << 15], &[16, 512, 1 << 13, 1 << 17]]),
    (128, [&[16, 1 << 10], &[1, 128, 1 << 13]]),
    (415, [&[1, 64, 1 << 10], &[8, 256]]),
];
/// Features of scattered triangles.
const FEATURES: (u64, u64) = (8, 415);

/// The candidate points.
pub fn candidates() -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for op in MemoryOp::ALL {
        for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16] {
            for cache in [CacheState::Hot, CacheState::Cold] {
                let mut shapes = Vec::new();
                let mut add = |level, shape| shapes.push((level, shape));
                match op {
                    MemoryOp::Triangle => triangles(&mut add),
                    _ if op.is_elementwise() => elementwise(&mut add),
                    _ => row_by_row(&mut add),
                }
                let later = later(dtype, cache);
                candidates.extend(shapes.into_iter().enumerate().map(|(at, (level, shape))| {
                    let (rows, columns) = shape;
                    let point = Point::Memory(MemoryPoint { op, dtype, rows, columns });
                    // Every other point of a later variant, so that the first pass knows it too.
                    let level = level + u8::from(later && at % 2 == 1);
                    Candidate::usual(point, cache, level.min(DEEPEST))
                }));
            }
        }
    }
    candidates
}

/// The narrow types move the same bytes as `f32` does with half the elements, and a flushed
/// cache has no step in its times: half of their points are enough for a first pass.
fn later(dtype: Dtype, cache: CacheState) -> bool {
    dtype != Dtype::F32 || cache == CacheState::Cold
}

fn elementwise(add: &mut impl FnMut(u8, (u64, u64))) {
    for (level, exponents) in EXPONENTS.into_iter().enumerate() {
        exponents.iter().for_each(|exponent| add(level as u8, (1, 1 << exponent)));
    }
    (10..28).for_each(|exponent| add(DEEPEST, (1, 3 << (exponent - 1))));
    let mut sizes = Scatter::<1>::new();
    for (level, count) in SCATTERED.into_iter().enumerate() {
        for [size] in sizes.by_ref().take(count) {
            add(level as u8, (1, log_between(FEWEST, MOST, size)));
        }
    }
}

fn row_by_row(add: &mut impl FnMut(u8, (u64, u64))) {
    for (columns, passes) in LINES {
        for (level, rows) in passes.into_iter().enumerate() {
            rows.iter().for_each(|rows| add(level as u8, (*rows, columns)));
        }
    }
    // The narrowest and the widest; single rows so long that kernels share them among blocks.
    for (rows, columns) in [(MOST / COLUMNS.0 / 16, COLUMNS.0), (1, COLUMNS.1)] {
        add(0, (rows, columns));
    }
    add(0, (1, 1 << 16));
    add(1, (1, 1 << 22));
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

/// Lines over the batch at several numbers of features, and scattered squares.
fn triangles(add: &mut impl FnMut(u8, (u64, u64))) {
    for (features, passes) in TRIANGLES {
        for (level, batches) in passes.into_iter().enumerate() {
            batches.iter().for_each(|batch| add(level as u8, (*batch, features)));
        }
    }
    let mut shapes = Scatter::<2>::new();
    for (level, count) in SCATTERED.into_iter().enumerate() {
        for [features, size] in shapes.by_ref().take(count) {
            let features = log_between(FEATURES.0, FEATURES.1, features);
            let batch = log_between(FEWEST, MOST, size) / (features * features);
            add(level as u8, (batch.max(1), features));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_has_sound_points_within_the_largest_size() {
        for op in MemoryOp::ALL {
            let mut count = 0;
            for Candidate { point, level, .. } in candidates() {
                let Point::Memory(memory) = point else { panic!("{point}") };
                memory_is_sound(&memory);
                count += usize::from(memory.op == op && level == 0);
            }
            // Three types, hot and cold.
            assert!(count >= 6 * 5, "{op}: {count} in the first pass");
        }
    }

    fn memory_is_sound(memory: &MemoryPoint) {
        assert!(Point::Memory(*memory).check().is_ok(), "{memory:?}");
        assert!(memory.elements() <= MOST, "{memory:?}");
    }
}
