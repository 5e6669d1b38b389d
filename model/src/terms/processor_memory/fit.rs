//! Fitting the costs: for each processor this may be, the best costs.

use kernelgauge_data::{CacheState, Machine, MemoryPoint, Point};

use super::ProcessorMemoryTerm;
use super::counts::{Counts, Processor, TYPICAL_NS, counts};
use crate::math::round9;
use crate::non_negative::solve;
use crate::rows::Row;
use crate::terms::processor::{LAST_LEVEL_SHARES, SECOND_LEVELS, Search, last_level, threads};
use crate::terms::thinned;

/// Least cost of a call: no op takes no time.
const LEAST_CALL_NS: f64 = 0.1;

/// Lanes of the loops over a row that compilers make: unrolled, and for what is left.
const LOOPS: [(u64, u64); 4] = [(64, 8), (32, 8), (32, 1), (32, 16)];

/// An op, whether it was cold, and its time.
type Timed<'rows> = (&'rows MemoryPoint, bool, f64);

/// Fits the term to `rows`, and to `kin`, the same op in the other state of its operands.
pub(in crate::terms) fn fit(
    rows: &[Row<'_>],
    kin: &[Row<'_>],
    machine: &Machine,
    cache: CacheState,
) -> ProcessorMemoryTerm {
    let cold = cache == CacheState::Cold;
    let timed = timed(rows, kin, cold);
    let last_level = last_level(machine);
    let (block, vector) = LOOPS[0];
    let first = Processor {
        threads: threads(machine),
        block,
        vector,
        second_level: SECOND_LEVELS[0],
        last_level: last_level * LAST_LEVEL_SHARES[0],
    };
    let mut search = Search::new(first, |processor| with(&timed, processor));
    for share in LAST_LEVEL_SHARES {
        search.consider(|processor| processor.last_level = last_level * share);
    }
    for (block, vector) in LOOPS {
        search.consider(|processor| (processor.block, processor.vector) = (block, vector));
    }
    for second_level in SECOND_LEVELS {
        search.consider(|processor| processor.second_level = second_level);
    }
    let (processor, costs) = search.found();
    ProcessorMemoryTerm::new(cold, &processor, kept(costs))
}

/// As [`fit`], for the processor that `term` found.
pub(in crate::terms) fn again(
    term: &ProcessorMemoryTerm,
    rows: &[Row<'_>],
    kin: &[Row<'_>],
) -> ProcessorMemoryTerm {
    let processor = term.processor();
    let timed = timed(rows, kin, term.cold);
    ProcessorMemoryTerm::new(term.cold, &processor, kept(with(&timed, &processor).1))
}

fn timed<'rows>(rows: &'rows [Row<'_>], kin: &'rows [Row<'_>], cold: bool) -> Vec<Timed<'rows>> {
    let of = |row: &'rows Row<'_>, cold: bool| match row.point {
        Point::Memory(point) => Some((point, cold, row.time.as_f64())),
        _ => None,
    };
    let own = thinned(rows, 1000).into_iter().filter_map(|row| of(row, cold));
    own.chain(thinned(kin, 1000).into_iter().filter_map(|row| of(row, !cold))).collect()
}

/// Costs as they are stored.
fn kept(costs: Counts) -> Counts {
    let mut costs = costs.map(round9);
    costs[0] = costs[0].max(LEAST_CALL_NS);
    costs
}

/// The loss of the best costs if `processor` is what was measured, and these costs.
fn with(timed: &[Timed<'_>], processor: &Processor) -> (f64, Counts) {
    let (counts, times): (Vec<Counts>, Vec<f64>) =
        timed.iter().map(|(point, cold, time)| (counts(processor, point, *cold), *time)).unzip();
    let (costs, loss) = solve(&counts, &times, &TYPICAL_NS);
    (loss, costs)
}
