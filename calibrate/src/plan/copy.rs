//! The points of a copy sweep: host to host, from a kilobyte to a quarter of a gigabyte.

use kernelgauge_data::{CacheState, CopyDirection, CopyPoint, Point};

use super::scatter::{Scatter, log_between};
use super::{Candidate, DEEPEST};

/// Bytes of the smallest copy.
const FEWEST: u64 = 1 << 10;
/// Bytes of the largest.
const MOST: u64 = 1 << 28;

/// The candidate points, hot and cold.
pub fn candidates() -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for cache in [CacheState::Hot, CacheState::Cold] {
        let mut add = |level, bytes| {
            let direction = CopyDirection::HostToHost;
            let point = Point::Copy(CopyPoint { direction, pinned: false, bytes });
            candidates.push(Candidate::usual(point, cache, level));
        };
        for exponent in 10..=28 {
            add(u8::from(exponent % 2 == 1), 1 << exponent);
        }
        for exponent in 10..28 {
            add(DEEPEST, 3 << (exponent - 1));
        }
        let mut sizes = Scatter::<1>::new();
        for (level, count) in [8, 8, 16].into_iter().enumerate() {
            for [size] in sizes.by_ref().take(count) {
                add(level as u8, log_between(FEWEST, MOST, size));
            }
        }
    }
    candidates
}
