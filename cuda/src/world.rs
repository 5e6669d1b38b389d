//! A communicator whose ranks are spread over processes, as one of these processes sees it.
//!
//! Left to others: who starts the processes, and how the id travels between them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which ranks of how many this process drives: one per GPU it measures, in their order.
///
/// An id serves one communicator: each [`Device::join`](crate::Device::join) takes a fresh one.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct World {
    /// What [`Device::unique_id`](crate::Device::unique_id) gave in one of the processes. It holds
    /// an address of that process: it is passed on and never written or shown.
    pub id: Vec<u8>,
    /// Ranks of all processes.
    pub ranks: u32,
    /// The first of this process's.
    pub first_rank: u32,
    /// Ranks of this process: its first GPUs.
    pub local_ranks: u32,
    /// Nodes that the ranks are spread over.
    pub nodes: u32,
}

/// Without the id, which holds an address.
impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let World { id: _, ranks, first_rank, local_ranks, nodes } = self;
        write!(f, "World({local_ranks} of {ranks} ranks from {first_rank} on, {nodes} nodes)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_not_shown_by_accident() {
        let world = World { id: vec![77; 128], ranks: 8, first_rank: 4, local_ranks: 4, nodes: 2 };
        assert_eq!(format!("{world:?}"), "World(4 of 8 ranks from 4 on, 2 nodes)");
    }
}
