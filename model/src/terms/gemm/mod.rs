//! Matrix products: a roofline quantised by tiles and waves.
//!
//! A kernel cuts the result into tiles of `tm x tn` (and the contraction into `split` parts),
//! which the device's units work off in waves. For each candidate
//!
//! * arithmetic: whole waves (fractions count from the fifth on) of `2 tm tn k / split` at the
//!   unit's rate, less for small tiles, plus a fixed cost per wave;
//! * memory: operands and result once, slower while fewer tiles than units are in flight;
//! * cache: what all tiles load, at the last-level cache's bandwidth;
//!
//! joined by a p-norm; a split adds its reduction. The time is the launch plus the smallest
//! candidate: the library picks the best kernel. The form is that of wave-quantised rooflines
//! (the reference system's tiled GEMM model; NVIDIA, "Matrix multiplication background user's
//! guide"). With few units or an unknown number tiles say little and one unquantised candidate is
//! left; `features` holds what the learned correction sees of all this; processors measured through the `gemm` crate have `processor_gemm` instead.

mod candidates;
mod features;
mod fit;
mod shared;

pub(in crate::terms) use fit::fit;
pub(crate) use shared::SharedGemm;
pub(in crate::terms) use shared::shared;

use kernelgauge_data::Point;
use serde::{Deserialize, Serialize};

use super::{Features, Part, possible};
use crate::math::{exp, ln, log2, round9};
use candidates::{CANDIDATES, Shape, TILES, ceil};

/// From this many units on, tiles and waves are modelled.
const QUANTISED_UNITS: u32 = 16;

/// Constants of a GEMM term. Rates are per nanosecond: GFLOP/s or GB/s.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GemmTerm {
    /// Units that work off tiles; below [`QUANTISED_UNITS`] nothing is quantised.
    units: u32,
    launch_ns: f64,
    flops_per_ns: f64,
    memory_bytes_per_ns: f64,
    cache_bytes_per_ns: f64,
    wave_ns: f64,
    split_ns: f64,
    /// How much slower small tiles run: log of the loss at tiles of nothing.
    small_tile_loss: f64,
    /// Share of the units, at which half of what full occupancy gains is lost.
    occupancy_half: f64,
    /// The p-norm's p is two to this power.
    sharpness: u32,
    /// The only way to cut products that the library takes; any of them where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    only: Option<usize>,
    #[serde(skip)]
    prepared: Prepared,
}

/// What is derived from the constants once.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Prepared {
    /// Time of one multiply-add element of each candidate's tile on one unit.
    unit_ns_per_flop: [f64; CANDIDATES],
    cache_ns_per_byte: f64,
    memory_ns_per_byte: f64,
    per_unit: f64,
}

impl GemmTerm {
    fn of(units: u32, sharpness: u32, parameters: &[f64]) -> Self {
        let constant = |index: usize| round9(exp(parameters[index]));
        let mut term = GemmTerm {
            units,
            launch_ns: constant(0),
            flops_per_ns: constant(1),
            memory_bytes_per_ns: constant(2),
            cache_bytes_per_ns: constant(3),
            wave_ns: constant(4),
            split_ns: constant(5),
            small_tile_loss: constant(6),
            occupancy_half: constant(7),
            sharpness,
            only: None,
            prepared: Prepared::default(),
        };
        term.prepare();
        term
    }

    fn quantised(&self) -> bool {
        self.units >= QUANTISED_UNITS
    }

    /// Fills the derived constants.
    pub(super) fn prepare(&mut self) {
        /// Harmonic mean side of a 128x256 tile: from here on a tile runs at full rate.
        const FULL_RATE_SIDE: f64 = 170.0;
        for (slot, tile) in self.prepared.unit_ns_per_flop.iter_mut().zip(&TILES) {
            let (rows, columns) = (f64::from(1 << tile.rows), f64::from(1 << tile.columns));
            let side = 2.0 * rows * columns / (rows + columns);
            let short = (1.0 - log2(side) / log2(FULL_RATE_SIDE)).max(0.0);
            let rate = self.flops_per_ns * exp(-self.small_tile_loss * short);
            *slot = f64::from(self.units.max(1)) / rate;
        }
        self.prepared.cache_ns_per_byte = 1.0 / self.cache_bytes_per_ns;
        self.prepared.memory_ns_per_byte = 1.0 / self.memory_bytes_per_ns;
        self.prepared.per_unit = 1.0 / f64::from(self.units.max(1));
    }

    pub(super) fn log_ns(&self, point: &Point, features: &mut Features) -> f64 {
        let Point::Gemm(point) = point else { return 0.0 };
        let shape = Shape::of(point);
        let all = self.candidates(&shape);
        let total = self.launch_ns + all.total_ns[all.best];
        features::push(self, point, &shape, &all, features);
        ln(total)
    }

    pub(super) fn parts(&self, point: &Point) -> Vec<Part> {
        let Point::Gemm(point) = point else { return Vec::new() };
        let all = self.candidates(&Shape::of(point));
        let best = all.best;
        let mut arithmetic = Part::new("arithmetic", all.arithmetic_ns[best]);
        if self.quantised() {
            let (tile, units) = (TILES[best], self.units);
            let waves = all.tiles[best] * self.prepared.per_unit;
            let idle = (1.0 - waves / ceil(waves)) * 100.0;
            arithmetic = arithmetic.with(format!(
                "{waves:.2} waves of {units} units in tiles of {}x{}, {idle:.0} % of the last idle",
                1 << tile.rows,
                1 << tile.columns,
            ));
        }
        let mut parts = vec![
            Part::new("launch", self.launch_ns),
            arithmetic,
            Part::new("memory", all.memory_ns[best]),
        ];
        let further = [
            ("cache", all.cache_ns[best]),
            ("reduction", all.reduction_ns[best]),
            ("edges", all.edges_ns),
        ];
        parts.extend(
            further.into_iter().filter(|part| part.1 > 0.0).map(|(n, ns)| Part::new(n, ns)),
        );
        parts
    }

    pub(super) fn floor_ns(&self) -> f64 {
        self.launch_ns
    }

    pub(super) fn is_sound(&self) -> bool {
        let rates = [self.flops_per_ns, self.memory_bytes_per_ns, self.cache_bytes_per_ns];
        possible(&[self.launch_ns, self.wave_ns, self.split_ns])
            && possible(&[self.small_tile_loss, self.occupancy_half])
            && possible(&rates)
            && rates.iter().all(|rate| *rate > 0.0)
            && self.launch_ns > 0.0
            && self.sharpness <= 4
            && self.only.is_none_or(|only| only < CANDIDATES)
    }
}
