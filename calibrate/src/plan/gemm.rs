//! The points of a GEMM sweep: lines of `m` at fixed `(n, k)` sites, and scattered shapes.
//!
//! Lines let a model interpolate; scattered shapes show it sizes that no register tile divides.

use kernelgauge_data::{CacheState, Dtype, GemmLayout, GemmPoint, Point};

use super::scatter::{Scatter, log_between};
use super::{Candidate, DEEPEST};

/// Largest value of `m`, `n` and `k`: 137 GFLOP, half a second on two cores.
const LARGEST: u64 = 4096;
/// Smallest `n` and `k`.
const NARROWEST: u64 = 32;

/// Sites of lines: the corners, the middle, and the oblong shapes of linear layers; the first
/// `FIRST_SITES` of them in the first pass.
const SITES: [(u64, u64); 7] =
    [(64, 64), (64, 1024), (512, 2048), (1024, 64), (256, 256), (1024, 1024), (2048, 512)];
const FIRST_SITES: usize = 4;
/// Sizes whose pairs are the sites of the last pass.
const GRID: [u64; 6] = [32, 128, 512, 1024, 2048, 4096];
/// Points that set the limits of the domain one parameter at a time, at little cost.
const LIMITS: [(u64, u64, u64); 5] = [
    (1, NARROWEST, NARROWEST),
    (LARGEST, NARROWEST, NARROWEST),
    (1, LARGEST, 512),
    (1, 512, LARGEST),
    (64, LARGEST, LARGEST),
];

/// The candidate points of both element types.
pub fn candidates() -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for (dtype, scattered) in [(Dtype::F32, [48, 80, 96]), (Dtype::F64, [32, 48, 64])] {
        let mut add = |level, (m, n, k)| {
            let point =
                Point::Gemm(GemmPoint { dtype, batch: 1, m, n, k, layout: GemmLayout::Unstated });
            candidates.push(Candidate::usual(point, CacheState::Hot, level));
        };
        LIMITS.into_iter().for_each(|shape| add(0, shape));
        for (site, (n, k)) in SITES.into_iter().enumerate() {
            let level = u8::from(site >= FIRST_SITES);
            [1, 8, 64, 256, 1024].into_iter().for_each(|m| add(level, (m, n, k)));
            [2, 4, 16, 32, 128, 512, 2048].into_iter().for_each(|m| add(1, (m, n, k)));
            [3, 6, 12, 24, 48, 96, 192, 384, 768, 1536, 3072]
                .into_iter()
                .for_each(|m| add(DEEPEST, (m, n, k)));
        }
        for (n, k) in GRID.into_iter().flat_map(|n| GRID.map(|k| (n, k))) {
            [1, 16, 128, 512, 2048, LARGEST].into_iter().for_each(|m| add(DEEPEST, (m, n, k)));
        }
        let mut shapes = Scatter::<3>::new().map(|[m, n, k]| {
            (
                log_between(1, LARGEST, m),
                log_between(NARROWEST, LARGEST, n),
                log_between(NARROWEST, LARGEST, k),
            )
        });
        for (level, count) in scattered.into_iter().enumerate() {
            shapes.by_ref().take(count).for_each(|shape| add(level as u8, shape));
        }
    }
    candidates
}
