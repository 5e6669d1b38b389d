//! What trees see of a product: sizes, shares of tiles and waves, and what the candidates take.
//!
//! Trees cut a feature at thresholds, so a ratio or a remainder that decides which kernel a
//! library picks has to be a feature of its own. Which of them a tree uses is left to the fit.

use kernelgauge_data::GemmPoint;

use super::GemmTerm;
use super::candidates::{Candidates, Shape, ceil, filled};
use crate::terms::Features;

/// Rows and columns of tiles whose number per unit, and share of the last wave, are features:
/// what kernels of cuBLAS and CUTLASS are made of, in either orientation.
const TILES: [(u64, u64); 18] = [
    (16, 64),
    (64, 16),
    (32, 64),
    (64, 32),
    (64, 64),
    (64, 128),
    (128, 64),
    (64, 256),
    (256, 64),
    (128, 128),
    (128, 192),
    (192, 128),
    (128, 256),
    (256, 128),
    (192, 256),
    (256, 256),
    (128, 512),
    (512, 128),
];

/// Appends the features of a point to `features`.
pub(super) fn push(
    term: &GemmTerm,
    point: &GemmPoint,
    shape: &Shape,
    all: &Candidates,
    features: &mut Features,
) {
    let [m, n, k] = [point.m, point.n, point.k].map(|v| v as f64);
    let mut push = |values: &[f64]| values.iter().for_each(|value| features.push(*value));
    push(&[m, n, k, m * n, m * k, n * k, m * k + n * k, m.min(n), m.max(n)]);
    push(&[shape.flops, shape.bytes, shape.flops / shape.bytes, n / k, m / n, m / k]);
    push(&[point.m, point.n, point.k].map(|value| f64::from(value.trailing_zeros().min(10))));
    push(&[8, 16, 32, 64, 128, 192, 256].map(|multiple| filled(point.m, multiple)));
    push(&[16, 64, 128, 256].map(|multiple| (point.m % multiple) as f64));
    push(&[128, 192, 256, 512, 1024].map(|multiple| filled(point.n, multiple)));
    push(&[64, 128, 256, 512].map(|multiple| filled(point.k, multiple)));
    let best = all.best;
    let total = all.total_ns[best];
    let [arithmetic, memory] = [all.arithmetic_ns[best], all.memory_ns[best]];
    push(&[point.batch as f64, total, arithmetic, memory, arithmetic / memory]);
    push(&[total / arithmetic, total / memory, shape.flops / total, shape.bytes / total]);
    if !term.quantised() {
        return;
    }
    let cache = all.cache_ns[best];
    push(&[best as f64, cache, arithmetic / cache, memory / cache]);
    push(&all.total_ns.map(|of_candidate| of_candidate / total));
    let mut push_waves = |waves: f64| push(&[waves, waves / ceil(waves)]);
    push_waves(all.tiles[best] * term.prepared.per_unit);
    for (rows, columns) in TILES {
        push_waves(shape.tiles_of(rows, columns) * term.prepared.per_unit);
    }
}
