//! Which rank a trace is of, from what its collectives say.

use crate::recording::{RankSource, StatedRank};

/// Votes of collectives for a rank.
#[derive(Debug, Default)]
pub(super) struct RankVotes {
    rank: Option<u32>,
    divided: bool,
}

impl RankVotes {
    /// A collective says it was called by `rank`.
    pub fn cast(&mut self, rank: u32) {
        self.divided |= self.rank.is_some_and(|earlier| earlier != rank);
        self.rank = Some(rank);
    }

    /// The rank all collectives agree on. Without first rank and stride, a collective of a
    /// smaller group gives the place in that group: then they disagree, and nothing is known.
    pub fn outcome(&self) -> Option<StatedRank> {
        let rank = self.rank.filter(|_| !self.divided)?;
        Some(StatedRank { rank, by: RankSource::Content })
    }
}
