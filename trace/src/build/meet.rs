//! Where ranks meet: the same collective of the same group on every rank.

use std::collections::BTreeMap;

use super::links::Links;
use crate::graph::{CollectiveId, CollectiveKind, Graph, GroupId, Rendezvous, TaskId};

/// A collective on one rank.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    rank: u32,
    task: TaskId,
    collective: CollectiveId,
}

/// Ties the collectives of all ranks.
pub fn tie(graph: &mut Graph) {
    let mut meetings: BTreeMap<(Option<GroupId>, u64), Vec<Arrival>> = BTreeMap::new();
    for (place, task) in graph.tasks.iter().enumerate() {
        let Some(id) = task.collective else { continue };
        let collective = graph.collective(id);
        let between_two =
            matches!(collective.kind, Some(CollectiveKind::Send | CollectiveKind::Receive));
        let Some(sequence) = collective.sequence.filter(|_| !between_two) else { continue };
        let rank = graph.processor(task.processor).rank;
        let arrival = Arrival { rank, task: TaskId(place as u32), collective: id };
        meetings.entry((collective.group, sequence)).or_default().push(arrival);
    }
    let mut rendezvous = Vec::with_capacity(meetings.len());
    let mut links = std::mem::take(&mut graph.links);
    for ((group, _), arrivals) in meetings {
        let arrivals = agreeing(graph, arrivals, &mut links);
        rendezvous.push(meeting(graph, group, &arrivals));
    }
    graph.links = links;
    graph.rendezvous = rendezvous;
}

/// One arrival of each rank, of the kind the first one has; others are counted and left alone.
fn agreeing(graph: &Graph, arrivals: Vec<Arrival>, links: &mut Links) -> Vec<Arrival> {
    let kind = |arrival: &Arrival| graph.collective(arrival.collective).kind;
    let Some(first) = arrivals.first().map(kind) else { return Vec::new() };
    let mut kept: Vec<Arrival> = Vec::new();
    for arrival in arrivals {
        let alike = kind(&arrival) == first || kind(&arrival).is_none() || first.is_none();
        if alike && kept.last().is_none_or(|last| last.rank != arrival.rank) {
            kept.push(arrival);
        } else {
            links.mismatched_collectives += 1;
        }
    }
    kept
}

fn meeting(graph: &Graph, group: Option<GroupId>, arrivals: &[Arrival]) -> Rendezvous {
    let size = group.and_then(|group| graph.groups.get(group.0 as usize)?.size);
    let present = arrivals.len() as u32;
    let missing = size.map(|size| size.saturating_sub(present));
    let durations = || {
        arrivals.iter().map(|arrival| graph.task(arrival.task).timing.map(|timing| timing.duration))
    };
    // The last to arrive waits for nobody: its duration is the transfer. Without all ranks the
    // last one may be one that was not recorded.
    let all_timed = durations().all(|duration| duration.is_some());
    let transfer = (missing == Some(0) && all_timed).then(|| durations().flatten().min()).flatten();
    Rendezvous {
        members: arrivals.iter().map(|arrival| arrival.task).collect(),
        group,
        transfer,
        missing,
    }
}
