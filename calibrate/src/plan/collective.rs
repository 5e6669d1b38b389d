//! The points of collectives: per collective, dtype and number of ranks a line over the bytes.
//!
//! Sizes go from 8 bytes to as much as fits: by powers of eight in the first pass, then of four,
//! and of two between 64 KiB and 16 MiB, where NCCL changes its protocols; then of two everywhere.
//! The last pass refines where the curve bends by being dense everywhere: a plan is made before
//! anything is measured and cannot know where that is. Which of its sizes come first is decided
//! by what was measured (`sweep::bends`).
//!
//! In flight and out of place is the usual manner. In place and isolated are measured beside it,
//! sparsely, and so are further dtypes where elements are added up.

use kernelgauge_data::{
    CacheState, Collective, CollectivePoint, Dtype, EVEN, Links, Manner, Point,
};

use super::{Candidate, DEEPEST};

/// Powers of two: 8 bytes to 16 GiB.
const SMALLEST: u32 = 3;
const LARGEST: u32 = 34;
/// Where protocols change: 64 KiB to 16 MiB.
const DENSE: std::ops::RangeInclusive<u32> = 16..=24;
/// Isolated executions up to 4 MiB: of longer ones the launch is no part worth telling.
const LARGEST_ISOLATED: u32 = 22;
/// The dtype of every line, and those of sums beside it.
const USUAL: Dtype = Dtype::F16;
const OTHERS: [Dtype; 3] = [Dtype::F32, Dtype::Bf16, Dtype::Int8];
/// The largest share of an uneven all-to-all, in percent of the mean.
const UNEVEN: u64 = 200;

/// The candidate points of `count` GPUs that are linked by `links`, and of all GPUs of `nodes`
/// such nodes.
pub fn candidates(count: u32, links: Links, nodes: u32) -> Vec<Candidate> {
    let mut lines = Vec::new();
    let within = numbers_of_ranks(u64::from(count)).into_iter().map(|ranks| (ranks, 1, links));
    let all = u64::from(count) * u64::from(nodes);
    let across = (nodes > 1).then_some((all, u64::from(nodes), Links::Network));
    for (ranks, nodes, links) in within.chain(across) {
        for collective in Collective::ALL {
            let (dtype, manner) = (USUAL, Manner::Usual);
            let line = Line { collective, ranks, nodes, links, dtype, manner };
            line.add(DEEPEST, LARGEST, &mut lines);
            Line { manner: Manner::Isolated, ..line }.add(0, LARGEST_ISOLATED, &mut lines);
            if has_in_place(collective) {
                Line { manner: Manner::InPlace, ..line }.add(1, LARGEST, &mut lines);
            }
            for dtype in OTHERS.into_iter().filter(|_| collective.reduces()) {
                Line { dtype, ..line }.add(1, LARGEST, &mut lines);
            }
        }
    }
    lines
}

/// Powers of two, and all there are.
fn numbers_of_ranks(count: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> =
        (1..64).map(|power| 1 << power).take_while(|ranks| *ranks < count).collect();
    numbers.extend((count > 1).then_some(count));
    numbers
}

fn has_in_place(collective: Collective) -> bool {
    matches!(
        collective,
        Collective::AllReduce
            | Collective::AllGather
            | Collective::ReduceScatter
            | Collective::Broadcast
    )
}

/// Points that differ only in their size.
#[derive(Debug, Clone, Copy)]
struct Line {
    collective: Collective,
    ranks: u64,
    nodes: u64,
    links: Links,
    dtype: Dtype,
    manner: Manner,
}

impl Line {
    /// Adds the passes up to `deepest`.
    fn add(self, deepest: u8, largest: u32, candidates: &mut Vec<Candidate>) {
        for exponent in SMALLEST..=largest {
            let level = level(exponent);
            if level > deepest {
                continue;
            }
            let point = Point::Collective(self.point(exponent));
            candidates.push(Candidate {
                point,
                cache: CacheState::Hot,
                manner: self.manner,
                level,
            });
        }
    }

    fn point(self, exponent: u32) -> CollectivePoint {
        let Line { collective, ranks, nodes, links, dtype, .. } = self;
        // Whole parts of whole elements, whatever the collective divides.
        let unit = ranks * dtype.size();
        let bytes = (1_u64 << exponent) / unit * unit;
        CollectivePoint {
            collective,
            dtype,
            ranks,
            nodes,
            links,
            bytes: bytes.max(unit),
            imbalance: if collective == Collective::AllToAllV { UNEVEN } else { EVEN },
        }
    }
}

fn level(exponent: u32) -> u8 {
    match exponent {
        _ if exponent.is_multiple_of(3) => 0,
        _ if DENSE.contains(&exponent) || exponent.is_multiple_of(2) => 1,
        _ => DEEPEST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_powers_of_two_and_all_of_them() {
        assert_eq!(numbers_of_ranks(8), [2, 4, 8]);
        assert_eq!(numbers_of_ranks(6), [2, 4, 6]);
        assert_eq!(numbers_of_ranks(2), [2]);
        assert!(candidates(1, Links::Unstated, 1).is_empty());
    }

    #[test]
    fn over_several_nodes_there_are_lines_of_all_gpus_too() {
        let (one, two) = (candidates(8, Links::Nvswitch, 1), candidates(8, Links::Nvswitch, 2));
        assert_eq!(two[..one.len()], one);
        assert!(two.len() > one.len());
        for candidate in &two[one.len()..] {
            let Point::Collective(point) = &candidate.point else { panic!("{candidate:?}") };
            assert_eq!((point.ranks, point.nodes, point.links), (16, 2, Links::Network));
            candidate.point.check().unwrap();
        }
    }

    #[test]
    fn every_point_is_valid_whatever_number_of_gpus() {
        for count in [2, 3, 8] {
            let candidates = candidates(count, Links::Pcie, 1);
            for candidate in &candidates {
                candidate.point.check().unwrap();
            }
            let first = candidates.iter().filter(|candidate| candidate.level == 0).count();
            assert!(first < candidates.len() / 2, "{first} of {}", candidates.len());
        }
    }
}
