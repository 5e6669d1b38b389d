//! How long a point will take, guessed before anything was measured.
//!
//! The guess weighs progress and decides which points are too long for an early pass; it is
//! corrected by what points really take while a run goes on (`sweep::pace`). It never reaches
//! a model.

use kernelgauge_data::{CacheState, Dtype, Nanos, Point};

/// Rates of a modest pair of processor cores: GFLOP/s of f32, and GB/s.
const GFLOP_S: f64 = 100.0;
const GB_S: f64 = 8.0;
/// Operands are filled at about this rate, in GB/s.
const FILL_GB_S: f64 = 1.0;
/// Time of a point beyond its executions and operands, in nanoseconds.
const OVERHEAD: f64 = 5e6;
/// A sample lasts at least this long, in nanoseconds; see `measure`.
const SAMPLE: f64 = 2e5;
/// Executions for warm-up and verification, and samples until the median is known.
const WARM_UP: f64 = 4.0;
const SAMPLES: f64 = 24.0;
/// What operands of cold points occupy, in bytes: they rotate through more than a cache.
const COLD_ARENA: f64 = 256e6;

/// One execution of `point`.
pub fn execution(point: &Point) -> Nanos {
    let work = point.work();
    let halved = match point {
        Point::Gemm(point) if point.dtype == Dtype::F64 => 2.0,
        _ => 1.0,
    };
    let arithmetic = work.flops * halved / GFLOP_S;
    Nanos::saturating(1_000.0 + arithmetic.max(work.bytes() / GB_S))
}

/// Everything that happens to `point`: operands, verification, warm-up and samples, of which
/// sampling is cut at `limit`.
pub fn whole(point: &Point, cache: CacheState, limit: Nanos) -> Nanos {
    let operands =
        operand_bytes(point).max(if cache == CacheState::Cold { COLD_ARENA } else { 0.0 });
    let one = execution(point).as_f64();
    let sampling = (SAMPLES * one.max(SAMPLE)).min(limit.as_f64().max(one));
    Nanos::saturating(OVERHEAD + operands / FILL_GB_S + WARM_UP * one + sampling)
}

/// Bytes of the operands, for embeddings all rows of the tables and not only those touched.
fn operand_bytes(point: &Point) -> f64 {
    match point {
        Point::Embedding(bag) => (bag.tables * bag.rows * bag.dim) as f64 * bag.dtype.size() as f64,
        _ => point.work().bytes(),
    }
}
