//! Fitting attention: which parts a variant's kernels have, then the constants.
//!
//! Kernels differ in whether a block has a cost of its own, a sequence has, and operands stay in
//! the cache. What matters far beyond the measured batches shows at the largest of them, so each
//! form is fitted without the top two octaves of the batch and judged on these; the one chosen is
//! fitted to all rows. Whoever holds rows out of the whole fit has the choice made anew on the rest.

use kernelgauge_data::{Machine, Point};

use super::{AttentionTerm, Shape};
use crate::least_squares::{Bounded, minimise};
use crate::math::{exp, ln};
use crate::rows::Row;
use crate::terms::thinned;

/// Rows that are enough to find the constants, and those enough to tell forms apart.
const ENOUGH: usize = 1500;
const ENOUGH_TO_CHOOSE: usize = 600;

/// Fewest rows on either side of the batches that forms are judged on.
const LEAST: usize = 40;

/// Octaves of the batch that forms are judged on.
const OCTAVES: u32 = 2;

/// A richer form has to win by so much.
const MARGIN: f64 = 0.95;

/// A residual counts at most this much, so that one other kernel does not decide.
const MOST: f64 = 0.5;

/// Fewest rows that more is fitted to than launch and rates.
const ENOUGH_FOR_ALL: usize = 24;

/// The logarithm of a cost that a form does not have.
const NOTHING: f64 = -60.0;

/// What the kernels of a variant have, beside launch, arithmetic, memory and keys.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Form {
    cache: bool,
    blocks: bool,
    sequences: bool,
}

/// The forms, the simplest first. Over a prompt the arithmetic of a block hides what it costs.
const PLAIN: Form = Form { cache: false, blocks: false, sequences: false };
const OF_PROMPTS: [Form; 2] = [PLAIN, Form { cache: true, ..PLAIN }];
const OF_TOKENS: [Form; 3] = [
    PLAIN,
    Form { cache: true, blocks: true, sequences: false },
    Form { cache: true, blocks: true, sequences: true },
];

/// A shape and the logarithm of its time.
type Timed = (Shape, f64);

/// Fits the term, from a compute-bound and from a latency-bound start, with keys split only
/// where heads share them and wherever units idle.
pub(in crate::terms) fn fit(rows: &[Row<'_>], machine: &Machine) -> AttentionTerm {
    let form = choose(rows, machine);
    let rows = timed(&thinned(rows, ENOUGH));
    [false, true]
        .map(|splits_all| with(form, splits_all, &rows, machine))
        .into_iter()
        .reduce(|best, other| if other.0 < best.0 { other } else { best })
        .map_or_else(|| with(form, false, &rows, machine).1, |(_, term)| term)
}

fn timed(rows: &[&Row<'_>]) -> Vec<Timed> {
    let of = |row: &&Row<'_>| match row.point {
        Point::Attention(point) => Some((Shape::of(point), row.log_ns)),
        _ => None,
    };
    rows.iter().filter_map(of).collect()
}

/// The form that predicts the largest batches best from the others.
fn choose(rows: &[Row<'_>], machine: &Machine) -> Form {
    let batch = |row: &Row<'_>| row.parameters.first().copied().unwrap_or(1);
    let limit = rows.iter().map(batch).max().unwrap_or(1) >> OCTAVES;
    let (kept, out): (Vec<Row<'_>>, Vec<Row<'_>>) =
        rows.iter().cloned().partition(|row| batch(row) <= limit);
    if kept.len() < LEAST || out.len() < LEAST {
        return PLAIN;
    }
    let kept = timed(&thinned(&kept, ENOUGH_TO_CHOOSE));
    let out = timed(&thinned(&out, ENOUGH_TO_CHOOSE));
    let generation = kept.iter().any(|(shape, _)| shape.generation);
    let forms: &[Form] = if generation { &OF_TOKENS } else { &OF_PROMPTS };
    let mut best = (f64::INFINITY, PLAIN);
    for form in forms {
        let term = with(*form, true, &kept, machine).1;
        let off = |(shape, log_ns): &Timed| (ln(term.total_ns(shape)) - log_ns).abs().min(MOST);
        let loss = out.iter().map(off).sum::<f64>() / out.len() as f64;
        if loss < best.0 * MARGIN {
            best = (loss, *form);
        }
    }
    best.1
}

/// The term of one form, and its loss on `rows`.
fn with(form: Form, splits_all: bool, rows: &[Timed], machine: &Machine) -> (f64, AttentionTerm) {
    let units = machine.hardware.units.unwrap_or(0);
    let capacity = machine.hardware.cache_bytes.unwrap_or(0).max(1) as f64;
    let bounds = bounds(form, rows, machine);
    let mut latency_bound: Vec<f64> = bounds.iter().map(|bound| bound.start).collect();
    latency_bound[5] = ln(5.0);
    let solution = minimise(&bounds, std::slice::from_ref(&latency_bound), 24, |parameters| {
        let term = AttentionTerm::of(units, capacity, splits_all, parameters);
        rows.iter().map(|(shape, log_ns)| ln(term.total_ns(shape)) - log_ns).collect()
    });
    let term = AttentionTerm::of(units, capacity, splits_all, &solution.parameters);
    (solution.loss, term)
}

/// Bounds in the order of [`AttentionTerm::of`].
fn bounds(form: Form, rows: &[Timed], machine: &Machine) -> [Bounded; 11] {
    let fastest = exp(rows.iter().map(|(_, log_ns)| *log_ns).fold(f64::INFINITY, f64::min));
    let seen = |work: fn(&Shape) -> f64| {
        rows.iter().map(|(shape, log_ns)| work(shape) / exp(*log_ns)).fold(1e-9, f64::max)
    };
    let (flops, bytes) = (seen(|shape| shape.flops), seen(|shape| shape.bytes));
    let bytes = machine.hardware.memory_gb_s.map_or(bytes, |peak| peak.max(bytes / 4.0));
    let enough = rows.len() >= ENOUGH_FOR_ALL;
    let fit_if = |fit: bool, bounded: Bounded| {
        if fit { bounded } else { Bounded::fixed(bounded.start) }
    };
    let cost_if = |fit: bool, bounded: Bounded| {
        if fit && enough { bounded } else { Bounded::fixed(NOTHING) }
    };
    let generation = rows.iter().any(|(shape, _)| shape.generation);
    let power = Bounded { low: 0.0, start: 0.3, high: 2.0 };
    [
        Bounded::log(fastest / 20.0, fastest * 0.7, fastest * 1.5),
        Bounded::log(flops / 10.0, flops * 1.2, flops * 3.0),
        fit_if(enough, Bounded::log(flops / 4e3, flops / 100.0, flops * 10.0)),
        Bounded::log(bytes / 20.0, bytes * 0.8, bytes * 1.5),
        fit_if(enough, Bounded::log(1e-3, 0.3, 30.0)),
        fit_if(enough, Bounded::log(1e-4, 0.1, 100.0)),
        fit_if(enough && generation, Bounded::log(16.0, 256.0, 1e5)),
        if form.cache && enough { Bounded::log(1.0, 2.0, 6.0) } else { Bounded::fixed(0.0) },
        cost_if(form.blocks, Bounded::log(1.0, 1000.0, 1e5)),
        if form.blocks && enough { power } else { Bounded::fixed(0.0) },
        cost_if(form.sequences, Bounded::log(1e-3, 10.0, 1e3)),
    ]
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{
        AttentionPhase, AttentionPoint, Conditions, Dtype, Flags, Hardware, Links, Measurement,
        Nanos, Outcome, Record,
    };

    use super::*;
    use crate::fit::groups;

    fn machine() -> Machine {
        Machine {
            name: "made up".to_owned(),
            device: "made up".to_owned(),
            count: 1,
            links: Links::Unstated,
            software: Default::default(),
            hardware: Hardware {
                units: Some(100),
                memory_gb_s: Some(2000.0),
                cache_bytes: Some(40_000_000),
                ..Hardware::default()
            },
        }
    }

    fn token(batch: u64, kv_heads: u64, kv_len: u64) -> AttentionPoint {
        AttentionPoint {
            phase: AttentionPhase::Generation,
            dtype: Dtype::Bf16,
            kv_dtype: Dtype::Bf16,
            batch,
            heads: 4 * kv_heads,
            kv_heads,
            head_dim: 128,
            query_len: 1,
            kv_len,
            window: 0,
        }
    }

    /// 10 us, 3 us for each round of blocks, and traffic at 2000 GB/s.
    fn time(point: &AttentionPoint) -> f64 {
        let blocks = (point.batch * point.kv_heads) as f64 / 100.0;
        let bytes = Point::Attention(*point).work().bytes();
        10_000.0 + 3000.0 * blocks.max(1.0) + bytes / 2000.0
    }

    #[test]
    fn what_a_block_costs_is_found_and_carries_to_batches_eight_times_larger() {
        let mut records = Vec::new();
        for batch in (0..8).map(|octave| 1 << octave) {
            for kv_heads in [1, 2, 4, 8] {
                for kv_len in [2, 16, 128, 1024, 8192] {
                    let point = token(batch, kv_heads, kv_len);
                    let measured = Measurement::stated(Nanos::new(time(&point) as u64));
                    records.push(Record {
                        point: Point::Attention(point),
                        conditions: Conditions::default(),
                        outcome: Outcome::Measured(measured),
                        flags: Flags::NONE,
                    });
                }
            }
        }
        let groups = groups(&records);
        let term = fit(&groups[0].rows, &machine());
        for (kv_heads, kv_len) in [(1, 16), (8, 16), (8, 1024)] {
            let far = token(1024, kv_heads, kv_len);
            let off = term.total_ns(&Shape::of(&far)) / time(&far) - 1.0;
            assert!(off.abs() < 0.1, "{kv_heads} heads, {kv_len} keys: {off}");
        }
        let parts = term.parts(&Point::Attention(token(128, 8, 16)));
        assert!(parts.iter().any(|part| part.name == "blocks"), "{parts:?}");
    }
}
