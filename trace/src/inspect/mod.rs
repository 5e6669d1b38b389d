//! What a recorded graph says: where the time of each step went, what ranks wait for, and what
//! the recording does not show.
//!
//! Left to others: the graph (`build`), how it looks (`kernelgauge-predict`).

mod advice;
mod collectives;
mod idle;
mod intervals;
mod skew;
mod step;
mod top;

pub use advice::Advice;
pub use collectives::CollectiveLine;
pub use idle::Idle;
pub use skew::Skew;
pub use step::{HostBound, StepReport, StreamBusy};
pub use top::OpLine;

use crate::graph::Graph;

/// What a graph says.
#[derive(Debug)]
pub struct Inspection {
    /// Each rank with its steps.
    pub ranks: Vec<RankReport>,
    /// Collectives, alike ones in one line.
    pub collectives: Vec<CollectiveLine>,
    /// How far ranks are apart; none for a single one.
    pub skew: Option<Skew>,
    /// Ops by the time of the device work they launched, all ranks together.
    pub ops: Vec<OpLine>,
    /// What to know about the recording, and what to record differently.
    pub advice: Vec<Advice>,
}

/// A rank.
#[derive(Debug)]
pub struct RankReport {
    /// Its place among the ranks of the graph.
    pub place: usize,
    /// Its steps.
    pub steps: Vec<StepReport>,
}

/// Inspects a graph.
pub fn inspect(graph: &Graph) -> Inspection {
    let transfers = step::transfers(graph);
    let ranks: Vec<RankReport> = (0..graph.ranks.len())
        .map(|place| RankReport { place, steps: step::reports(graph, place, &transfers) })
        .collect();
    let collectives = collectives::lines(graph);
    let skew = skew::of(graph, &ranks);
    let ops = top::lines(graph);
    let advice = advice::of(graph, &ranks);
    Inspection { ranks, collectives, skew, ops, advice }
}
