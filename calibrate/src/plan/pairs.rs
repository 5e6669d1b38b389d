//! Peer copies between every two GPUs: three sizes each, to see which pair is linked worse.
//!
//! Between the first two there is a whole line (`gpu`), which is what a model speaks of.

use kernelgauge_data::{CacheState, CopyDirection, CopyPoint, Manner, Point};

use super::Candidate;

/// One size for the start-up cost, one for the bend, one for the bandwidth: 64 KiB, 4 MiB,
/// 256 MiB.
const SIZES: [u32; 3] = [16, 22, 28];

/// The candidate points of `count` GPUs.
pub fn candidates(count: u32) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
    for (from, to) in pairs.filter(|(from, to)| from != to && (*from, *to) != (0, 1)) {
        for exponent in SIZES {
            let direction = CopyDirection::PeerToPeer;
            let point = Point::Copy(CopyPoint { direction, pinned: false, bytes: 1 << exponent });
            let manner = Manner::Pair { from, to };
            candidates.push(Candidate { point, cache: CacheState::Hot, manner, level: 1 });
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ordered_pair_but_the_first_is_there() {
        assert_eq!(candidates(8).len(), 55 * SIZES.len());
        assert!(candidates(1).is_empty());
    }
}
