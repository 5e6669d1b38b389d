//! Fitting the costs: for each processor this may be, the best costs.

use kernelgauge_data::{EmbeddingPoint, Machine, Point};

use super::ProcessorEmbeddingTerm;
use super::counts::{Counts, Processor, TYPICAL_NS, counts};
use crate::math::round9;
use crate::non_negative::solve;
use crate::rows::Row;
use crate::terms::processor::{LAST_LEVEL_SHARES, SECOND_LEVELS, Search, last_level, threads};
use crate::terms::thinned;

/// Least cost of a call: no pass takes no time.
const LEAST_CALL_NS: f64 = 1.0;

/// Lanes of the loops over a row that compilers make: unrolled, and for what is left.
const LOOPS: [(u64, u64); 4] = [(64, 8), (32, 8), (16, 16), (16, 4)];

/// Bytes that the second translation buffer reaches with pages of 4 KiB.
const REACHES: [f64; 3] = [4_194_304.0, 8_388_608.0, 16_777_216.0];

/// A pass with its distinct rows and its time.
type Timed<'rows> = (&'rows EmbeddingPoint, f64, f64);

/// Fits the term to `rows` and `kin`, passes of the same kind whose indices are drawn another
/// way or whose rows are updated another way: they cost the same steps.
pub(in crate::terms) fn fit(
    rows: &[Row<'_>],
    kin: &[Row<'_>],
    machine: &Machine,
) -> ProcessorEmbeddingTerm {
    let timed = timed(rows, kin);
    let last_level = last_level(machine);
    let (block, vector) = LOOPS[0];
    let first = Processor {
        threads: threads(machine),
        block,
        vector,
        second_level: SECOND_LEVELS[0],
        last_level: last_level * LAST_LEVEL_SHARES[0],
        reach: REACHES[1],
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
    for reach in REACHES {
        search.consider(|processor| processor.reach = reach);
    }
    let (processor, costs) = search.found();
    ProcessorEmbeddingTerm::new(&processor, kept(costs))
}

/// As [`fit`], for the processor that `term` found.
pub(in crate::terms) fn again(
    term: &ProcessorEmbeddingTerm,
    rows: &[Row<'_>],
    kin: &[Row<'_>],
) -> ProcessorEmbeddingTerm {
    let processor = term.processor();
    ProcessorEmbeddingTerm::new(&processor, kept(with(&timed(rows, kin), &processor).1))
}

fn timed<'rows>(rows: &'rows [Row<'_>], kin: &'rows [Row<'_>]) -> Vec<Timed<'rows>> {
    let of = |row: &&'rows Row<'_>| match row.point {
        Point::Embedding(point) => Some((point, point.distinct_rows(), row.time.as_f64())),
        _ => None,
    };
    thinned(rows, 1000).iter().chain(&thinned(kin, 1000)).filter_map(of).collect()
}

/// Costs as they are stored.
fn kept(costs: Counts) -> Counts {
    let mut costs = costs.map(round9);
    costs[0] = costs[0].max(LEAST_CALL_NS);
    costs
}

/// The loss of the best costs if `processor` is what was measured, and these costs.
fn with(timed: &[Timed<'_>], processor: &Processor) -> (f64, Counts) {
    let (counts, times): (Vec<Counts>, Vec<f64>) = timed
        .iter()
        .map(|(point, distinct, time)| (counts(processor, point, *distinct), *time))
        .unzip();
    let (costs, loss) = solve(&counts, &times, &TYPICAL_NS);
    (loss, costs)
}
