//! Fitting the costs: for each processor the crate may have taken this one for, the best costs.

use kernelgauge_data::{Machine, Point};

use super::blocking::{Counts, Processor, TYPICAL_NS};
use super::{ProcessorGemmTerm, batched};
use crate::math::round9;
use crate::non_negative::solve;
use crate::rows::Row;
use crate::terms::thinned;

/// Least cost of a call: no product takes no time.
const LEAST_CALL_NS: f64 = 1.0;

/// Bytes of a vector, vectors along the microkernel, columns across it: AVX-512 and AVX2.
const MICROKERNELS: [(u32, u32, u32); 2] = [(64, 4, 6), (32, 2, 6)];

/// Second-level caches that processors come with.
const CACHES: [u32; 4] = [256 << 10, 512 << 10, 1 << 20, 2 << 20];

/// Fits the term. Which vectors and cache the processor has is chosen by how well the costs
/// then explain the times, as a data set does not have to say.
pub(in crate::terms) fn fit(rows: &[Row<'_>], machine: &Machine) -> ProcessorGemmTerm {
    let rows = thinned(rows, 1000);
    let threads = machine.hardware.units.unwrap_or(1).clamp(1, 4096);
    let fitted = |(vector_bytes, vectors, columns): (u32, u32, u32), cache_bytes: u32| {
        let mut term = ProcessorGemmTerm {
            threads,
            vector_bytes,
            vectors,
            columns,
            cache_bytes,
            costs_ns: Counts::default(),
        };
        let (loss, costs_ns) = with(&rows, &term.processor());
        term.costs_ns = costs_ns;
        (loss, term)
    };
    let mut best = fitted(MICROKERNELS[0], CACHES[0]);
    for microkernel in MICROKERNELS {
        for cache_bytes in CACHES {
            let other = fitted(microkernel, cache_bytes);
            if other.0 < best.0 {
                best = other;
            }
        }
    }
    best.1
}

/// The best costs if `processor` is what was measured, and their loss.
fn with(rows: &[&Row<'_>], processor: &Processor) -> (f64, Counts) {
    let (counts, times): (Vec<Counts>, Vec<f64>) = rows
        .iter()
        .filter_map(|row| match row.point {
            Point::Gemm(point) => Some((batched(processor, point), row.time.as_f64())),
            _ => None,
        })
        .unzip();
    let (mut costs, loss) = solve(&counts, &times, &TYPICAL_NS);
    for cost in &mut costs {
        *cost = round9(*cost);
    }
    costs[0] = costs[0].max(LEAST_CALL_NS);
    (loss, costs)
}
