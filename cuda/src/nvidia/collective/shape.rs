//! How large each rank's buffers are, and which number of which rank ends where.

use kernelgauge_data::{Collective, CollectivePoint};

use super::uneven;
use crate::nccl::{Part, elements};

/// The rank that collectives with a root have it at.
pub const ROOT: u32 = 0;

/// A collective point in elements.
#[derive(Debug, Clone)]
pub struct Shape {
    collective: Collective,
    ranks: u64,
    /// What the calls of NCCL take.
    pub count: u64,
    /// What each rank sends to each, where ranks send unequal parts.
    uneven: Vec<u64>,
}

impl Shape {
    /// The shape of `point`; none where its bytes are not whole parts of whole elements.
    pub fn of(point: &CollectivePoint, seed: u64) -> Option<Self> {
        let CollectivePoint { collective, ranks, imbalance, .. } = *point;
        let count = elements(point).filter(|count| *count > 0)?;
        let uneven = match collective {
            Collective::AllToAllV => uneven::parts(count * ranks, ranks, imbalance, seed),
            _ => Vec::new(),
        };
        Some(Shape { collective, ranks, count, uneven })
    }

    /// Elements that `rank` sends from.
    pub fn sent(&self, rank: u64) -> u64 {
        let is_root = rank == u64::from(ROOT);
        match self.collective {
            Collective::ReduceScatter | Collective::AllToAll => self.count * self.ranks,
            Collective::AllToAllV => self.part(rank) * self.ranks,
            Collective::Scatter if is_root => self.count * self.ranks,
            Collective::Scatter => 0,
            Collective::Broadcast if !is_root => 0,
            _ => self.count,
        }
    }

    /// Elements that `rank` receives.
    pub fn received(&self, rank: u64) -> u64 {
        let is_root = rank == u64::from(ROOT);
        match self.collective {
            Collective::AllGather | Collective::AllToAll => self.count * self.ranks,
            Collective::AllToAllV => self.uneven.iter().sum(),
            Collective::Gather if is_root => self.count * self.ranks,
            Collective::Gather => 0,
            Collective::Reduce if !is_root => 0,
            _ => self.count,
        }
    }

    /// The ranks, and places in their buffers, whose numbers add up to what `rank` has at `place`.
    pub fn sources(&self, rank: u64, place: u64) -> impl Iterator<Item = (u64, u64)> {
        let Shape { collective, ranks, count, .. } = *self;
        let (part, within) = (place / count, place % count);
        let (first, from) = match collective {
            Collective::AllReduce | Collective::Reduce => (0, place),
            Collective::ReduceScatter => (0, rank * count + place),
            Collective::Broadcast => (u64::from(ROOT), place),
            Collective::AllGather | Collective::Gather => (part, within),
            Collective::AllToAll => (part, rank * count + within),
            Collective::Scatter => (u64::from(ROOT), rank * count + place),
            Collective::SendRecv => ((rank + ranks - 1) % ranks, place),
            Collective::AllToAllV => self.uneven_source(rank, place),
        };
        let several = if collective.reduces() { ranks } else { 1 };
        (first..first + several).map(move |source| (source, from))
    }

    /// The parts that `rank` sends and receives, where they are unequal.
    pub fn parts(&self, rank: u64) -> (Vec<Part>, Vec<Part>) {
        let own = self.part(rank);
        let send = (0..self.ranks).map(|peer| Part { offset: peer * own, count: own });
        let mut offset = 0;
        let receive = self.uneven.iter().map(|count| {
            let part = Part { offset, count: *count };
            offset += count;
            part
        });
        (send.collect(), receive.collect())
    }

    fn part(&self, rank: u64) -> u64 {
        self.uneven.get(rank as usize).copied().unwrap_or_default()
    }

    fn uneven_source(&self, rank: u64, place: u64) -> (u64, u64) {
        let mut begin = 0;
        for (source, count) in (0..).zip(&self.uneven) {
            if place < begin + count {
                return (source, rank * count + (place - begin));
            }
            begin += count;
        }
        (0, 0)
    }
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{Dtype, Links};

    use super::*;

    fn shape(collective: Collective, imbalance: u64) -> Shape {
        let point = CollectivePoint {
            collective,
            dtype: Dtype::F32,
            ranks: 4,
            nodes: 1,
            links: Links::Unstated,
            bytes: 4 * 16,
            imbalance,
        };
        Shape::of(&point, 5).unwrap()
    }

    #[test]
    fn every_element_comes_from_a_place_that_its_sender_has() {
        for collective in Collective::ALL {
            let imbalance = if collective == Collective::AllToAllV { 250 } else { 100 };
            let shape = shape(collective, imbalance);
            for rank in 0..4 {
                for place in 0..shape.received(rank) {
                    for (source, from) in shape.sources(rank, place) {
                        assert!(source < 4 && from < shape.sent(source), "{collective} {rank}");
                    }
                }
            }
        }
    }

    #[test]
    fn counts_of_uneven_parts_add_up() {
        let shape = shape(Collective::AllToAllV, 250);
        for rank in 0..4 {
            let (send, receive) = shape.parts(rank);
            assert_eq!(send.iter().map(|part| part.count).sum::<u64>(), shape.sent(rank));
            assert_eq!(receive.iter().map(|part| part.count).sum::<u64>(), 16);
            // What a rank receives from another is what that one sends to it.
            for (source, part) in (0..).zip(&receive) {
                assert_eq!(part.count, shape.parts(source).0[rank as usize].count);
            }
        }
    }
}
