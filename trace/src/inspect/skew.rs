//! How far ranks are apart.

use std::collections::BTreeMap;

use kernelgauge_data::Nanos;

use super::RankReport;
use crate::graph::Graph;
use crate::recording::RankSource;

/// How far ranks are apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skew {
    /// The shortest and the longest step over all ranks, of the step number where they differ
    /// most, with the numbers of the ranks.
    pub steps: Option<StepSkew>,
    /// The rank that most often comes last to collectives, with how often, of how many whole
    /// ones.
    pub last: Option<(u32, u64, u64)>,
    /// The largest time between the first and the last arrival at a whole collective.
    pub largest_spread: Option<Nanos>,
}

/// The shortest and longest run of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepSkew {
    /// The step.
    pub number: u64,
    /// The rank whose step is shortest, and how long it is.
    pub shortest: (u32, Nanos),
    /// The rank whose step is longest, and how long it is.
    pub longest: (u32, Nanos),
}

/// The skew of several ranks.
pub fn of(graph: &Graph, ranks: &[RankReport]) -> Option<Skew> {
    // Ranks by place that never meet may be different runs.
    let placed = graph.ranks.iter().any(|rank| rank.by == RankSource::Order);
    if ranks.len() < 2 || (placed && graph.rendezvous.is_empty()) {
        return None;
    }
    let mut numbers: BTreeMap<u64, Vec<(u32, Nanos)>> = BTreeMap::new();
    for report in ranks {
        let rank = graph.ranks[report.place].number;
        for step in &report.steps {
            numbers.entry(step.number).or_default().push((rank, step.timing.duration));
        }
    }
    let skews = numbers.into_iter().filter_map(|(number, mut times)| {
        times.sort_by_key(|&(rank, time)| (time, rank));
        let (shortest, longest) = (*times.first()?, *times.last()?);
        (times.len() > 1).then_some(StepSkew { number, shortest, longest })
    });
    let difference = |skew: &StepSkew| skew.longest.1.get() - skew.shortest.1.get();
    let steps = skews.max_by_key(difference);
    let (last, largest_spread) = arrivals(graph);
    if steps.is_none() && last.is_none() {
        return None;
    }
    Some(Skew { steps, last, largest_spread })
}

fn arrivals(graph: &Graph) -> (Option<(u32, u64, u64)>, Option<Nanos>) {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    let (mut all, mut spread) = (0, None);
    for meeting in graph.rendezvous.iter().filter(|one| one.is_whole() && one.members.len() > 1) {
        let arrival = |&task: &crate::graph::TaskId| {
            let this = graph.task(task);
            let rank = graph.ranks[graph.processor(this.processor).rank as usize].number;
            Some((this.timing?.start, rank))
        };
        let mut arrivals: Vec<_> = meeting.members.iter().filter_map(arrival).collect();
        arrivals.sort_unstable();
        let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) else { continue };
        all += 1;
        *counts.entry(last.1).or_default() += 1;
        spread = spread.max(Some(last.0.since(first.0)));
    }
    let last = counts.into_iter().max_by_key(|&(rank, count)| (count, std::cmp::Reverse(rank)));
    (last.map(|(rank, count)| (rank, count, all)), spread)
}
