//! The points of an embedding sweep: forward and backward, three ways of drawing indices,
//! lines of `batch` at fixed tables, and scattered shapes.

use kernelgauge_data::point::REUSE_BINS;
use kernelgauge_data::{
    CacheState, Direction, Distribution, Dtype, EmbeddingPoint, Optimizer, Point,
};

use super::scatter::{Scatter, log_between};
use super::{Candidate, DEEPEST};

/// Most bytes of all tables of a point: enough to leave every cache, little enough to fill
/// in a fraction of a second.
const MOST_TABLE_BYTES: u64 = 256 << 20;
/// Fewest rows of a table.
const FEWEST_ROWS: u64 = 1_000;
/// Scattered points of each variant, by pass.
const SCATTERED: [usize; 3] = [10, 22, 32];

/// Tables along whose batch a line runs: `(tables, rows, dim, pooling)`.
const LINES: [(u64, u64, u64, u64); 3] =
    [(1, 100_000, 64, 16), (8, 10_000, 32, 4), (4, 100_000, 128, 32)];

/// The candidate points of every direction, optimizer and way of drawing indices.
pub fn candidates() -> Vec<Candidate> {
    let passes = [
        (Direction::Forward, Optimizer::Sgd),
        (Direction::Backward, Optimizer::Sgd),
        (Direction::Backward, Optimizer::RowWiseAdagrad),
    ];
    let mut candidates = Vec::new();
    for (direction, optimizer) in passes {
        for kind in [Indices::Uniform, Indices::Zipf, Indices::Reuse] {
            let later = later(direction, kind);
            let mut add = |level: u8, shape, position| {
                let point = bag(direction, optimizer, shape, kind.distribution(position));
                let level = (level + later).min(DEEPEST);
                candidates.push(Candidate::usual(point, CacheState::Hot, level));
            };
            lines(&mut add);
            scattered(&mut add);
        }
    }
    candidates
}

/// How many passes later a variant comes: skewed backward passes wait for the second, so that
/// the first has time for every family.
fn later(direction: Direction, kind: Indices) -> u8 {
    u8::from(direction == Direction::Backward && !matches!(kind, Indices::Uniform))
}

/// `tables, rows, dim, batch, pooling` of a point.
type Shape = [u64; 5];

/// Lines of batch, and the limits of every parameter, once each.
fn lines(add: &mut impl FnMut(u8, Shape, f64)) {
    for (line, (tables, rows, dim, pooling)) in LINES.into_iter().enumerate() {
        let position = line as f64 / (LINES.len() - 1) as f64;
        for (level, batches) in [(0, [64, 1024]), (1, [256, 4096]), (DEEPEST, [128, 2048])] {
            batches
                .into_iter()
                .for_each(|batch| add(level, [tables, rows, dim, batch, pooling], position));
        }
    }
    add(0, [1, FEWEST_ROWS, 16, 32, 1], 0.0);
    add(0, [16, FEWEST_ROWS, 16, 4096, 1], 1.0);
    add(0, [1, 1_000_000, 16, 32, 64], 0.5);
    add(0, [1, 100_000, 256, 32, 64], 0.5);
}

fn scattered(add: &mut impl FnMut(u8, Shape, f64)) {
    let mut shapes = Scatter::<6>::new();
    for (level, count) in SCATTERED.into_iter().enumerate() {
        for [tables, rows, dim, batch, pooling, position] in shapes.by_ref().take(count) {
            let tables = log_between(1, 16, tables);
            // Rows are aligned to 16 bytes everywhere embeddings are used in earnest.
            let dim = log_between(16, 256, dim).next_multiple_of(4);
            let most_rows = (MOST_TABLE_BYTES / (tables * dim * 4)).min(1_000_000);
            let rows = log_between(FEWEST_ROWS, most_rows.max(FEWEST_ROWS), rows);
            let shape =
                [tables, rows, dim, log_between(32, 4096, batch), log_between(1, 64, pooling)];
            add(level as u8, shape, position);
        }
    }
}

fn bag(
    direction: Direction,
    optimizer: Optimizer,
    [tables, rows, dim, batch, pooling]: Shape,
    distribution: Distribution,
) -> Point {
    Point::Embedding(EmbeddingPoint {
        direction,
        optimizer,
        dtype: Dtype::F32,
        tables,
        rows,
        dim,
        batch,
        pooling,
        distribution,
    })
}

/// The ways of drawing indices.
#[derive(Debug, Clone, Copy)]
pub enum Indices {
    /// Every row equally likely.
    Uniform,
    /// A power law of the rank.
    Zipf,
    /// A histogram of reuse.
    Reuse,
}

impl Indices {
    /// The distribution at `position` (0 to 1), from little skew to much.
    pub fn distribution(self, position: f64) -> Distribution {
        match self {
            Indices::Uniform => Distribution::Uniform,
            Indices::Zipf => {
                Distribution::Zipf { exponent_milli: 600 + (position * 12.0).round() as u32 * 50 }
            }
            Indices::Reuse => reuse(position),
        }
    }
}

/// A histogram whose shares fall by a constant ratio from bin to bin: mean reuse 1.4 at the
/// one end, about 6 at the other.
fn reuse(position: f64) -> Distribution {
    let ratio = [0.2_f64, 0.35, 0.5][((position * 3.0) as usize).min(2)];
    let mut bins = [0_u32; REUSE_BINS];
    let mut left = 1_000_000;
    for (index, bin) in bins.iter_mut().enumerate().take(8).skip(1).rev() {
        *bin = (1e6 * (1.0 - ratio) * ratio.powi(index as i32)).round() as u32;
        left -= *bin;
    }
    bins[0] = left;
    Distribution::Reuse(bins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_sum_to_one_and_skew_with_position() {
        let mut last = f64::INFINITY;
        for position in [0.0, 0.5, 1.0] {
            let distribution = Indices::Reuse.distribution(position);
            let Distribution::Reuse(bins) = distribution else { panic!("{distribution}") };
            assert_eq!(bins.iter().sum::<u32>(), 1_000_000);
            let shape = [1, 1_000_000, 64, 4096, 32];
            let Point::Embedding(point) =
                bag(Direction::Forward, Optimizer::Sgd, shape, distribution)
            else {
                panic!("not an embedding")
            };
            assert!(point.distinct_rows() < last);
            last = point.distinct_rows();
        }
    }

    #[test]
    fn tables_stay_within_their_bytes() {
        for candidate in candidates() {
            let Point::Embedding(point) = candidate.point else { panic!("not an embedding") };
            let bytes = point.tables * point.rows * point.dim * 4;
            assert!(bytes <= MOST_TABLE_BYTES, "{point:?}");
        }
    }
}
