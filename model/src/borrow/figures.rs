//! What a machine sustains: the figures that make the constants of different machines comparable.
//!
//! A machine's fastest large points say what its arithmetic and its memory reach under load,
//! which the description only bounds: power limits hold some devices at a third of their stated
//! peak. Where nothing was measured, the description is scaled by the share that the lenders
//! reach of theirs. What constants are divided by these figures is left to the terms.

use kernelgauge_data::{Dtype, Family, Machine};

use crate::fit::Group;
use crate::math::{exp, ln, quantile};
use crate::rows::Row;

/// Rates that a machine sustains, and its sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figures {
    /// Streaming multiprocessors, or processor cores.
    pub units: u32,
    /// Operations per nanosecond.
    pub flops_per_ns: f64,
    /// Bytes from memory per nanosecond.
    pub memory_bytes_per_ns: f64,
    /// Last-level cache in bytes.
    pub cache_bytes: f64,
}

/// What is known of a machine's rates for one variant, measured and stated.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rates {
    flops: Rate,
    memory: Rate,
}

#[derive(Debug, Clone, Copy, Default)]
struct Rate {
    sustained: Option<f64>,
    stated: Option<f64>,
}

impl Rate {
    /// What a lender reaches of what is stated of it.
    fn share(&self) -> Option<f64> {
        Some(ln(self.sustained? / self.stated?))
    }

    /// What was measured, else what is stated times the share that lenders reach of theirs.
    fn settled(&self, lenders: impl Iterator<Item = Rate>) -> Option<f64> {
        self.sustained.or_else(|| {
            let shares: Vec<f64> = lenders.filter_map(|rate| rate.share()).collect();
            let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
            Some(self.stated? * exp(mean))
        })
    }
}

impl Rates {
    /// The rates of `machine` for a variant whose rows are `rows`, among all its `groups`. A
    /// borrower gives none: through them its constants are adapted, tiles and waves considered.
    pub(super) fn of(
        family: Family,
        dtype: Option<Dtype>,
        rows: Option<&[Row<'_>]>,
        groups: &[Group<'_>],
        machine: &Machine,
    ) -> Self {
        let hardware = &machine.hardware;
        let of_family = |wanted: Family| {
            let same = groups.iter().filter(move |group| group.family == wanted);
            same.flat_map(|group| group.rows.iter())
        };
        let arithmetic = || of_family(Family::Gemm).filter(|row| row.point.dtype() == dtype);
        let of_variant = rows.filter(|_| family == Family::Gemm);
        let own_flops = || sustained(of_variant?.iter(), flops);
        let memory = || {
            let moved = of_family(Family::Memory).chain(of_family(Family::Copy));
            let cache = hardware.cache_bytes.unwrap_or(0) as f64;
            // What lies in the cache says nothing about the memory behind it.
            moved.filter(move |row| bytes(row) > 4.0 * cache)
        };
        Rates {
            flops: Rate {
                sustained: own_flops().or_else(|| sustained(arithmetic(), flops)),
                stated: dtype
                    .and_then(|dtype| hardware.peak_tflop_s.get(dtype.name()))
                    .map(|peak| peak * 1e3),
            },
            memory: Rate { sustained: sustained(memory(), bytes), stated: hardware.memory_gb_s },
        }
    }

    /// These rates as a machine would state them that knows as much of its own as `other`: what
    /// the other did not measure is forgotten.
    pub(super) fn known_as(&self, other: &Rates) -> Rates {
        let forgotten = |rate: Rate, other: Rate| match (other.sustained, rate.stated) {
            (None, Some(_)) => Rate { sustained: None, ..rate },
            _ => rate,
        };
        Rates {
            flops: forgotten(self.flops, other.flops),
            memory: forgotten(self.memory, other.memory),
        }
    }

    /// The figures of `machine`; none where neither measurements nor description give one.
    pub(super) fn figures(&self, machine: &Machine, lenders: &[Rates]) -> Option<Figures> {
        Some(Figures {
            units: machine.hardware.units?,
            flops_per_ns: self.flops.settled(lenders.iter().map(|rates| rates.flops))?,
            memory_bytes_per_ns: self.memory.settled(lenders.iter().map(|rates| rates.memory))?,
            cache_bytes: machine.hardware.cache_bytes? as f64,
        })
    }
}

fn flops(row: &Row<'_>) -> f64 {
    row.point.work().flops
}

fn bytes(row: &Row<'_>) -> f64 {
    row.point.work().bytes()
}

/// The rate of the largest twentieth of the rows, at least one: its upper quartile, which a few
/// throttled rows and a few lucky ones leave alone.
fn sustained<'row, 'data: 'row>(
    rows: impl Iterator<Item = &'row Row<'data>>,
    work: fn(&Row<'_>) -> f64,
) -> Option<f64> {
    let mut done: Vec<(f64, f64)> =
        rows.map(|row| (work(row), work(row) / row.time.as_f64())).collect();
    done.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
    done.truncate(done.len().div_ceil(20));
    let mut rates: Vec<f64> = done.into_iter().map(|(_, rate)| rate).collect();
    rates.sort_by(f64::total_cmp);
    (!rates.is_empty()).then(|| quantile(&rates, 0.75)).filter(|rate| *rate > 0.0)
}
