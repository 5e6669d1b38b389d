//! Peer copies between every two GPUs: three sizes each, to see which pair is linked worse.
//!
//! Between the first two there is a whole line (`gpu`), which is what a model speaks of, and one
//! in each direction between the first pair of every other kind of link.

use kernelgauge_data::{CacheState, CopyDirection, CopyPoint, Manner, Point};

use super::catalogue::Routes;
use super::{Candidate, gpu};

/// One size for the start-up cost, one for the bend, one for the bandwidth: 64 KiB, 4 MiB,
/// 256 MiB.
const SIZES: [u32; 3] = [16, 22, 28];

/// The candidate points of `count` GPUs, whole lines on `routes`.
pub fn candidates(count: u32, routes: Routes) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    let mut add = |from, to, level, bytes| {
        let direction = CopyDirection::PeerToPeer;
        let point = Point::Copy(CopyPoint { direction, pinned: false, bytes });
        let manner = Manner::Pair { from, to };
        candidates.push(Candidate { point, cache: CacheState::Hot, manner, level });
    };
    let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
    for (from, to) in pairs.filter(|(from, to)| from != to && (*from, *to) != (0, 1)) {
        for exponent in SIZES {
            add(from, to, 1, 1 << exponent);
        }
        if routes.contains(&Some((from, to))) || routes.contains(&Some((to, from))) {
            gpu::peer_line(|level, bytes| add(from, to, level, bytes));
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ordered_pair_but_the_first_is_there() {
        assert_eq!(candidates(8, Routes::default()).len(), 55 * SIZES.len());
        assert!(candidates(1, Routes::default()).is_empty());
    }

    #[test]
    fn the_first_pair_of_another_kind_has_a_whole_line_both_ways() {
        let mut routes = Routes::default();
        routes[0] = Some((0, 2));
        let candidates = candidates(4, routes);
        let of = |from, to| {
            let manner = Manner::Pair { from, to };
            candidates.iter().filter(|candidate| candidate.manner == manner).count()
        };
        assert!(of(0, 2) > 40 && of(0, 2) == of(2, 0), "{}", of(0, 2));
        assert_eq!(of(1, 3), SIZES.len());
    }
}
