//! What the terms of the host device share: its software, its splitting of work, its caches.

use kernelgauge_data::Machine;

/// Name of the software whose presence says that a machine was measured by the host device.
const SOFTWARE: &str = "gemm";

/// Bytes of memory traffic from which the host device uses all threads (its `SPLIT_BYTES`).
pub(super) const SPLIT_BYTES: f64 = (256 << 10) as f64;

/// Bytes of a cache line.
pub(super) const LINE: f64 = 64.0;

/// Bytes of a small page.
pub(super) const PAGE: f64 = 4096.0;

/// First-level data cache that most processors since 2019 have.
pub(super) const FIRST_LEVEL: f64 = (48 << 10) as f64;

/// Second-level caches that processors come with, the likeliest first.
pub(super) const SECOND_LEVELS: [f64; 3] = [1_048_576.0, 524_288.0, 2_097_152.0];

/// Shares of the last cache that this machine may really have, the likeliest first: a virtual
/// machine sees all of it and shares it with others.
pub(super) const LAST_LEVEL_SHARES: [f64; 4] = [0.5, 1.0, 0.25, 0.125];

/// Last cache of a machine that does not state one.
const LAST_LEVEL: f64 = 33_554_432.0;

/// Whether `machine` was measured by the host device.
pub(crate) fn speaks_for(machine: &Machine) -> bool {
    machine.software.contains_key(SOFTWARE)
}

/// Threads of `machine`.
pub(super) fn threads(machine: &Machine) -> u64 {
    u64::from(machine.hardware.units.unwrap_or(1).clamp(1, 4096))
}

/// Bytes of the last cache of `machine`.
pub(super) fn last_level(machine: &Machine) -> f64 {
    machine.hardware.cache_bytes.map_or(LAST_LEVEL, |bytes| bytes as f64)
}

/// Share of `footprint` bytes that a cache of `capacity` does not hold between two uses.
pub(super) fn missed(footprint: f64, capacity: f64) -> f64 {
    if footprint > capacity { 1.0 - capacity / footprint } else { 0.0 }
}

/// The search for the processor that was measured: changes one after the other, of which those
/// are kept that explain the times better. Its caches and loops hardly stand in for each other.
pub(super) struct Search<P, C, F> {
    evaluate: F,
    best: (f64, P, C),
}

impl<P: Copy + PartialEq, C, F: Fn(&P) -> (f64, C)> Search<P, C, F> {
    /// From `first`; `evaluate` gives the loss of the best costs of a processor, and these costs.
    pub(super) fn new(first: P, evaluate: F) -> Self {
        let (loss, costs) = evaluate(&first);
        Search { evaluate, best: (loss, first, costs) }
    }

    /// Tries the best so far with `change`.
    pub(super) fn consider(&mut self, change: impl FnOnce(&mut P)) {
        let mut other = self.best.1;
        change(&mut other);
        if other == self.best.1 {
            return;
        }
        let (loss, costs) = (self.evaluate)(&other);
        if loss < self.best.0 {
            self.best = (loss, other, costs);
        }
    }

    /// The best processor and its costs.
    pub(super) fn found(self) -> (P, C) {
        (self.best.1, self.best.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_keeps_what_explains_better() {
        let mut search = Search::new((1, 1), |(a, b): &(i32, i32)| {
            let loss = f64::from((a - 3).abs() + (b - 2).abs());
            (loss, a + b)
        });
        for a in 1..6 {
            search.consider(|pair| pair.0 = a);
        }
        for b in 1..6 {
            search.consider(|pair| pair.1 = b);
        }
        assert_eq!(search.found(), ((3, 2), 5));
    }

    #[test]
    fn what_exceeds_a_cache_misses() {
        assert_eq!((missed(0.0, 1.0), missed(1.0, 1.0), missed(4.0, 1.0)), (0.0, 0.0, 0.75));
    }
}
