//! What an embedding bag moves, phase by phase, and from where.
//!
//! Forward is one phase: of the lookups into a table, the first to each distinct row comes from
//! memory and the rest from the cache as far as the touched rows fit there; indices, offsets and
//! outputs stream. Backward is three, one after the other, as in FBGEMM's and our own kernels:
//! the lookups are sorted by row in passes of eight bits; the gradient of the bag is gathered for
//! each lookup, from memory once and then from the cache; each distinct row is read, updated and
//! written. Only the capacity of the cache is a constant here.

use kernelgauge_data::{Direction, EmbeddingPoint, Optimizer};

/// Memory is moved in sectors of this many bytes (32 on NVIDIA devices since Volta).
const SECTOR: f64 = 32.0;

/// Bytes of an index and of an offset: 64 bits, as PyTorch has them.
const INDEX: f64 = 8.0;

/// Bytes that one pass of the sort reads and writes for each lookup: the number of its row (8)
/// and of its bag (4), as FBGEMM's `radix_sort_pairs` has them.
const SORTED: f64 = 24.0;

/// Bits that one pass of the sort tells apart: those of our kernels and of CUB's radix sort.
const DIGIT_BITS: u32 = 8;

/// Lookups up to which PyTorch's `embedding_dense_backward` does not sort
/// (`aten/src/ATen/native/cuda/Embedding.cu`, `num_indices <= 3072`).
pub(super) const UNSORTED: u64 = 3072;

/// Bytes of one phase.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Moved {
    pub memory: f64,
    pub cache: f64,
}

/// What a pass moves and does.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Traffic {
    /// Sorting, of a backward pass that sorts.
    pub sort: Moved,
    /// Rows forward, gradients backward; with what streams.
    pub gather: Moved,
    /// Distinct rows of a backward pass.
    pub update: Moved,
    /// Lookups into all tables.
    pub lookups: f64,
    /// Elements looked up.
    pub elements: f64,
    /// Elements of the distinct rows of a backward pass.
    pub updated: f64,
    /// Bytes that are written whatever is looked up: a dense gradient.
    pub filled: f64,
    /// Distinct rows of one table.
    pub distinct: f64,
    /// Bytes of the distinct rows of one table.
    pub table: f64,
    pub sorts: bool,
}

/// A cache, and whether the operands were evicted from it before each execution.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cache {
    pub cold: bool,
    pub capacity: f64,
}

impl Cache {
    /// Share of `footprint` bytes that the cache does not hold.
    fn missed(&self, footprint: f64) -> f64 {
        let square = footprint * footprint;
        square / (square + self.capacity * self.capacity).max(1e-300)
    }
}

impl Traffic {
    /// The traffic of `point`, whose batch touches `distinct` rows of each table.
    pub(super) fn of(point: &EmbeddingPoint, distinct: f64, cache: Cache) -> Self {
        let [tables, batch, dim] = [point.tables, point.batch, point.dim].map(|v| v as f64);
        let row = sectors(dim * point.dtype.size() as f64);
        let lookups = point.lookups() as f64;
        let table = distinct * row;
        let first = if cache.cold { 1.0 } else { cache.missed(tables * table) };
        let streamed = (lookups + batch) * INDEX + batch * row;
        let mut traffic = Traffic {
            lookups: tables * lookups,
            elements: tables * lookups * dim,
            distinct,
            table,
            ..Traffic::default()
        };
        match point.direction {
            Direction::Forward => {
                let again = (lookups - distinct).max(0.0);
                let missed = distinct * first + again * cache.missed(table);
                traffic.gather = Moved {
                    memory: tables * (missed * row + streamed),
                    cache: tables * (lookups - missed).max(0.0) * row,
                };
            }
            Direction::Backward => {
                traffic.sorts = point.optimizer != Optimizer::Dense || point.lookups() > UNSORTED;
                if traffic.sorts {
                    let all = point.tables.saturating_mul(point.rows).max(2);
                    let bits = u64::BITS - (all - 1).leading_zeros();
                    let passes = f64::from(bits.div_ceil(DIGIT_BITS));
                    traffic.sort.memory = tables * lookups * SORTED * passes;
                }
                let again = (lookups - batch).max(0.0) * cache.missed(batch * row);
                traffic.gather = Moved {
                    memory: tables * (again * row + streamed),
                    cache: tables * ((lookups - batch).max(0.0) * row - again * row).max(0.0),
                };
                let rewritten = table * passes_over_rows(point.optimizer)
                    + distinct * 2.0 * state(point.optimizer);
                traffic.update = Moved {
                    memory: tables * rewritten * first,
                    cache: tables * rewritten * (1.0 - first),
                };
                traffic.updated = tables * distinct * dim;
                if point.optimizer == Optimizer::Dense {
                    traffic.filled = tables * point.rows as f64 * row;
                }
            }
        }
        traffic
    }
}

/// How often an update moves each row: read and written, or the gradient of it written.
fn passes_over_rows(optimizer: Optimizer) -> f64 {
    if optimizer == Optimizer::Dense { 1.0 } else { 2.0 }
}

/// Bytes of an optimizer's state of a row, in whole sectors.
fn state(optimizer: Optimizer) -> f64 {
    if optimizer == Optimizer::RowWiseAdagrad { SECTOR } else { 0.0 }
}

fn sectors(bytes: f64) -> f64 {
    (bytes / SECTOR).ceil() * SECTOR
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{Distribution, Dtype};

    use super::*;

    const CACHE: Cache = Cache { cold: false, capacity: 6e6 };

    fn bag(direction: Direction, optimizer: Optimizer, rows: u64, batch: u64) -> EmbeddingPoint {
        EmbeddingPoint {
            direction,
            optimizer,
            dtype: Dtype::F32,
            tables: 2,
            rows,
            dim: 64,
            batch,
            pooling: 10,
            distribution: Distribution::Uniform,
        }
    }

    fn traffic(point: &EmbeddingPoint) -> Traffic {
        Traffic::of(point, point.distinct_rows(), CACHE)
    }

    #[test]
    fn rows_that_fit_the_cache_come_from_there() {
        let of = |rows| traffic(&bag(Direction::Forward, Optimizer::Sgd, rows, 4096)).gather;
        let (small, large) = (of(1000), of(10_000_000));
        let rows = 2.0 * 40_960.0 * 256.0;
        assert!(small.cache > 0.95 * rows && large.cache < 0.3 * rows, "{small:?} {large:?}");
        let moved = |phase: Moved| phase.memory + phase.cache;
        assert!((moved(small) - moved(large)).abs() < 1.0);
    }

    #[test]
    fn a_dense_gradient_fills_the_table_and_sorts_only_many_lookups() {
        let of = |optimizer, batch| traffic(&bag(Direction::Backward, optimizer, 50_000, batch));
        let (dense, sgd) = (of(Optimizer::Dense, 100), of(Optimizer::Sgd, 100));
        assert_eq!((dense.filled, sgd.filled), (2.0 * 50_000.0 * 256.0, 0.0));
        assert_eq!((dense.sorts, sgd.sorts), (false, true));
        assert!(of(Optimizer::Dense, 308).sorts && dense.sort.memory == 0.0);
        let adagrad = of(Optimizer::RowWiseAdagrad, 100).update;
        assert!(adagrad.memory + adagrad.cache > sgd.update.memory + sgd.update.cache);
    }
}
