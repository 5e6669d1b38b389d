//! Memory-bound ops and copies: a launch floor, a cache-resident region, a memory region.
//!
//! `t = launch + rows * row + norm4(bytes * ((1 - f) / cache_rate + f / memory_rate), flops /
//! flop_rate)` where `f = bytes² / (bytes² + capacity²)` is the share that a cache of `capacity`
//! bytes no longer holds. This is the three-region bandwidth curve of the reference system with
//! the joints smoothed.

use kernelgauge_data::{Machine, Point};
use serde::{Deserialize, Serialize};

use super::described::{Figures, SUSTAINED};
use super::{Features, Part, possible, thinned};
use crate::least_squares::{Bounded, minimise};
use crate::math::{exp, ln, round9};
use crate::rows::Row;

/// The most that the last cache of a device moves of what its memory does: 4.6 times on an A100
/// (5120 B a clock at 1.41 GHz over 1555 GB/s, NVIDIA's Ampere whitepaper), less on V100 and H100.
const CACHE_OVER_MEMORY: f64 = 8.0;

/// Constants of a memory op or a copy. Rates are per nanosecond.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrafficTerm {
    launch_ns: f64,
    cache_bytes_per_ns: f64,
    memory_bytes_per_ns: f64,
    capacity_bytes: f64,
    flops_per_ns: f64,
    row_ns: f64,
}

/// The parts of one point.
struct Parts {
    rows_ns: f64,
    /// What the cache still holds, at its rate.
    cache_ns: f64,
    /// What it no longer holds, at the memory's.
    memory_ns: f64,
    arithmetic_ns: f64,
    /// Share of the bytes that the cache no longer holds.
    beyond: f64,
}

impl TrafficTerm {
    /// The cache's rate is given relative to the memory's, so that it cannot fall below it.
    fn of(parameters: &[f64]) -> Self {
        let memory = exp(parameters[1]);
        TrafficTerm {
            launch_ns: round9(exp(parameters[0])),
            cache_bytes_per_ns: round9(memory * exp(parameters[2])),
            memory_bytes_per_ns: round9(memory),
            capacity_bytes: round9(exp(parameters[3])),
            flops_per_ns: round9(exp(parameters[4])),
            row_ns: round9(exp(parameters[5])),
        }
    }

    /// The term with a maker's figures: all traffic at the bandwidths these sustain.
    pub(super) fn described(figures: &Figures) -> Self {
        /// A rate no arithmetic of a memory-bound op is felt at, where no peak is stated.
        const UNFELT: f64 = 1e9;
        TrafficTerm {
            launch_ns: figures.launch_ns,
            cache_bytes_per_ns: figures.cache_bytes_per_ns,
            memory_bytes_per_ns: figures.memory_bytes_per_ns,
            capacity_bytes: figures.capacity_bytes,
            flops_per_ns: figures.flops_per_ns.unwrap_or(UNFELT),
            row_ns: 0.0,
        }
    }

    fn of_point(&self, point: &Point) -> Parts {
        let work = point.work();
        let bytes = work.bytes();
        let square = bytes * bytes;
        let beyond = square / (square + self.capacity_bytes * self.capacity_bytes).max(1e-300);
        let rows = if let Point::Memory(point) = point { point.rows as f64 } else { 0.0 };
        Parts {
            rows_ns: rows * self.row_ns,
            cache_ns: bytes * (1.0 - beyond) / self.cache_bytes_per_ns,
            memory_ns: bytes * beyond / self.memory_bytes_per_ns,
            arithmetic_ns: work.flops / self.flops_per_ns,
            beyond,
        }
    }

    fn total_ns(&self, point: &Point) -> f64 {
        let parts = self.of_point(point);
        let [m, a] =
            [parts.cache_ns + parts.memory_ns, parts.arithmetic_ns].map(|v| (v * v) * (v * v));
        self.launch_ns + parts.rows_ns + (m + a).sqrt().sqrt()
    }

    pub(super) fn log_ns(&self, point: &Point, features: &mut Features) -> f64 {
        for &value in point.parameters().iter() {
            features.push(value as f64);
        }
        if let Point::Memory(memory) = point {
            features.push(memory.elements() as f64);
            features.push(f64::from(memory.columns.trailing_zeros().min(12)));
            features.push(f64::from(memory.rows.trailing_zeros().min(12)));
        }
        let total = self.total_ns(point);
        features.push(total);
        ln(total)
    }

    pub(super) fn parts(&self, point: &Point) -> Vec<Part> {
        let parts = self.of_point(point);
        let region = match parts.beyond {
            beyond if beyond < 0.1 => "cache region".to_owned(),
            beyond if beyond > 0.9 => "memory region".to_owned(),
            beyond => format!("between the regions, {:.0} % beyond the cache", beyond * 100.0),
        };
        let mut shown = vec![
            Part::new("launch", self.launch_ns + parts.rows_ns),
            Part::new("cache", parts.cache_ns),
            Part::new("memory", parts.memory_ns).with(region),
        ];
        if parts.arithmetic_ns > 0.0 {
            shown.push(Part::new("arithmetic", parts.arithmetic_ns));
        }
        shown
    }

    pub(super) fn floor_ns(&self) -> f64 {
        self.launch_ns
    }

    pub(super) fn is_sound(&self) -> bool {
        let rates = [self.cache_bytes_per_ns, self.memory_bytes_per_ns, self.flops_per_ns];
        possible(&[self.launch_ns, self.capacity_bytes, self.row_ns])
            && possible(&rates)
            && rates.iter().all(|rate| *rate > 0.0)
            && self.launch_ns > 0.0
    }
}

/// Fits the term to `rows` and `kin`, the same op in other element types, from three starts: a
/// cache as devices have it, a fast one, and one region only.
pub(super) fn fit(rows: &[Row<'_>], kin: &[Row<'_>], machine: &Machine) -> TrafficTerm {
    let mut rows = thinned(rows, 2000);
    rows.extend(thinned(kin, 2000));
    let bounds = bounds(&rows, machine);
    let mut fast_cache: Vec<f64> = bounds.iter().map(|bound| bound.start).collect();
    fast_cache[2] = ln(12.0);
    let mut one_region = fast_cache.clone();
    one_region[2] = 0.0;
    let solution = minimise(&bounds, &[fast_cache, one_region], 60, |parameters| {
        let term = TrafficTerm::of(parameters);
        rows.iter().map(|row| ln(term.total_ns(row.point)) - row.log_ns).collect()
    });
    TrafficTerm::of(&solution.parameters)
}

/// Bounds in the order of [`TrafficTerm::of`]: of a memory-bound op's rate what the maker states,
/// which nothing exceeds, else around the fastest seen; of the capacity around the published one.
/// What the rows cannot tell is fixed where it does nothing.
fn bounds(rows: &[&Row<'_>], machine: &Machine) -> [Bounded; 6] {
    let fastest = rows.iter().map(|row| row.time.as_f64()).fold(f64::INFINITY, f64::min);
    let seen = |work: fn(&Point) -> f64| {
        rows.iter().map(|row| work(row.point) / row.time.as_f64()).fold(1e-9, f64::max)
    };
    let rate = seen(|point| point.work().bytes());
    let flops = seen(|point| point.work().flops);
    let figures = Figures::of(&machine.hardware).ok();
    let (memory, most) = match figures.filter(|_| matches!(rows[0].point, Point::Memory(_))) {
        Some(Figures { memory_bytes_per_ns: sustained, .. }) => {
            (Bounded::log(sustained / 20.0, sustained, sustained / SUSTAINED), CACHE_OVER_MEMORY)
        }
        None => (Bounded::log(rate / 200.0, rate / 3.0, rate * 4.0), 50.0),
    };
    let capacity = machine.hardware.cache_bytes.map_or(8e6, |bytes| bytes as f64).max(1.0);
    let enough = rows.len() >= 8;
    let fit_if = |fit: bool, bounded: Bounded, otherwise: f64| {
        if fit && enough { bounded } else { Bounded::fixed(otherwise) }
    };
    let several_rows = rows.iter().any(|row| {
        matches!(row.point, Point::Memory(_)) && row.parameters[0] != rows[0].parameters[0]
    });
    let has_flops = flops > 1e-9;
    [
        Bounded::log((fastest / 100.0).max(1e-3), fastest / 2.0, fastest),
        memory,
        fit_if(true, Bounded::log(1.0, 3.0, most), 0.0),
        fit_if(true, Bounded::log(capacity / 64.0, capacity, capacity * 8.0), ln(capacity)),
        fit_if(has_flops, Bounded::log(flops / 8.0, flops * 1.5, flops * 1e3), ln(flops * 1e6)),
        fit_if(several_rows, Bounded::log(1e-6, 0.1, 1e4), -30.0),
    ]
}
