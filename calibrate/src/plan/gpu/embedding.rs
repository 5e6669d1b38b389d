//! Embedding bags of a GPU: both directions and optimizers, rows of two types, three ways of
//! drawing indices; lines of batch at fixed tables, and scattered shapes up to ten million rows.

use kernelgauge_data::{CacheState, Direction, Dtype, EmbeddingPoint, Optimizer, Point};

use super::super::embedding::Indices;
use super::super::scatter::{Scatter, log_between};
use super::super::{Candidate, DEEPEST};

/// Most bytes of all tables of a point.
const MOST_TABLE_BYTES: u64 = 16 << 30;
/// Most lookups of a point: the host draws them, and sums gradients for comparison.
const MOST_LOOKUPS: u64 = 1 << 21;
/// Limits of the parameters.
const TABLES: (u64, u64) = (1, 32);
const ROWS: (u64, u64) = (1_000, 10_000_000);
const DIM: (u64, u64) = (16, 256);
const BATCH: (u64, u64) = (32, 8192);
const POOLING: (u64, u64) = (1, 128);
/// Scattered points of each variant, by pass.
const SCATTERED: [usize; 3] = [4, 16, 32];

/// Tables along whose batch a line runs: `(tables, rows, dim, pooling)`.
const LINES: [(u64, u64, u64, u64); 3] =
    [(1, 1_000_000, 128, 32), (8, 1_000_000, 64, 16), (32, 100_000, 32, 4)];
/// Batches of a line, by pass.
const BATCHES: [&[u64]; 3] = [&[64, 2048], &[512, 8192], &[128, 256, 1024, 4096]];

/// `tables, rows, dim, batch, pooling` of a point.
type Shape = [u64; 5];

/// The candidate points.
pub fn candidates() -> Vec<Candidate> {
    let passes = [
        (Direction::Forward, Optimizer::Sgd),
        (Direction::Backward, Optimizer::Sgd),
        (Direction::Backward, Optimizer::RowWiseAdagrad),
    ];
    let mut candidates = Vec::new();
    for (direction, optimizer) in passes {
        for dtype in [Dtype::F32, Dtype::F16] {
            for kind in [Indices::Uniform, Indices::Zipf, Indices::Reuse] {
                for cache in [CacheState::Hot, CacheState::Cold] {
                    let mut add = |level: u8, [tables, rows, dim, batch, pooling]: Shape, at| {
                        let point = Point::Embedding(EmbeddingPoint {
                            direction,
                            optimizer,
                            dtype,
                            tables,
                            rows,
                            dim,
                            batch,
                            pooling,
                            distribution: kind.distribution(at),
                        });
                        // What a flush adds is the same for all: it can wait for a pass.
                        let level = (level + u8::from(cache == CacheState::Cold)).min(DEEPEST);
                        candidates.push(Candidate::usual(point, cache, level));
                    };
                    lines(&mut add);
                    scattered(&mut add);
                }
            }
        }
    }
    candidates
}

/// Lines of batch, and the limits of every parameter, once each.
fn lines(add: &mut impl FnMut(u8, Shape, f64)) {
    for (line, (tables, rows, dim, pooling)) in LINES.into_iter().enumerate() {
        let position = line as f64 / (LINES.len() - 1) as f64;
        for (level, batches) in BATCHES.into_iter().enumerate() {
            for batch in batches {
                add(level as u8, [tables, rows, dim, *batch, pooling], position);
            }
        }
    }
    add(0, [1, ROWS.0, DIM.0, BATCH.0, POOLING.0], 0.0);
    add(0, [1, ROWS.1, DIM.1, BATCH.0, POOLING.1], 0.5);
    add(0, [TABLES.1, ROWS.0, DIM.0, BATCH.1, POOLING.0], 1.0);
}

fn scattered(add: &mut impl FnMut(u8, Shape, f64)) {
    let mut shapes = Scatter::<6>::new();
    for (level, count) in SCATTERED.into_iter().enumerate() {
        for [tables, rows, dim, batch, pooling, position] in shapes.by_ref().take(count) {
            let tables = log_between(TABLES.0, TABLES.1, tables);
            // Rows are aligned to 16 bytes everywhere embeddings are used in earnest.
            let dim = log_between(DIM.0, DIM.1, dim).next_multiple_of(8);
            let most_rows = (MOST_TABLE_BYTES / (tables * dim * 4)).min(ROWS.1);
            let rows = log_between(ROWS.0, most_rows.max(ROWS.0), rows);
            let batch = log_between(BATCH.0, BATCH.1, batch);
            let most = (MOST_LOOKUPS / (tables * batch)).clamp(POOLING.0, POOLING.1);
            add(
                level as u8,
                [tables, rows, dim, batch, log_between(POOLING.0, most, pooling)],
                position,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_lookups_stay_within_their_bounds() {
        for candidate in candidates() {
            let Point::Embedding(point) = candidate.point else { panic!("not an embedding") };
            point_is_bounded(&point);
        }
    }

    fn point_is_bounded(point: &EmbeddingPoint) {
        assert!(point.tables * point.rows * point.dim * 4 <= MOST_TABLE_BYTES, "{point:?}");
        assert!(point.tables * point.batch * point.pooling <= MOST_LOOKUPS, "{point:?}");
    }
}
