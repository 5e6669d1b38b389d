//! Collectives over all ranks: how many, how large, transfer against waiting.

use std::collections::BTreeMap;

use kernelgauge_data::Nanos;

use crate::graph::{CollectiveKind, Graph, Rendezvous};

/// Collectives of one kind, size and group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectiveLine {
    /// What it does, where known.
    pub kind: Option<CollectiveKind>,
    /// Element type as recorded.
    pub dtype: String,
    /// Bytes the first recorded rank puts in, where known.
    pub bytes_in: Option<u64>,
    /// Bytes the first recorded rank gets out, where known.
    pub bytes_out: Option<u64>,
    /// Ranks of the group, where known.
    pub ranks: Option<u32>,
    /// Name of the group as recorded.
    pub group: String,
    /// How many of them there are.
    pub count: u64,
    /// How many of these lack a rank.
    pub partial: u64,
    /// The median transfer of those that are whole.
    pub transfer: Option<Nanos>,
    /// Time over all ranks, waiting included.
    pub time: Nanos,
    /// Of the time of those that are whole, what ranks spent waiting for others.
    pub waiting: Option<Nanos>,
    /// The largest time between the first and the last arrival of those that are whole.
    pub spread: Option<Nanos>,
}

/// Lines by total time, the longest first.
pub fn lines(graph: &Graph) -> Vec<CollectiveLine> {
    let mut groups: BTreeMap<_, Vec<&Rendezvous>> = BTreeMap::new();
    for meeting in &graph.rendezvous {
        let first = meeting.members.first().and_then(|&task| graph.task(task).collective);
        let Some(first) = first.map(|id| graph.collective(id)) else { continue };
        let key = (first.kind, first.bytes_in, first.bytes_out, first.dtype, meeting.group);
        groups.entry(key).or_default().push(meeting);
    }
    let mut lines: Vec<CollectiveLine> = groups
        .into_iter()
        .map(|((kind, bytes_in, bytes_out, dtype, group), meetings)| {
            let group = group.and_then(|group| graph.groups.get(group.0 as usize));
            let mut line = CollectiveLine {
                kind,
                dtype: graph.names.text(dtype).to_owned(),
                bytes_in,
                bytes_out,
                ranks: group.and_then(|group| group.size),
                group: group.map_or("", |group| graph.names.text(group.name)).to_owned(),
                count: meetings.len() as u64,
                partial: 0,
                transfer: None,
                time: Nanos::default(),
                waiting: None,
                spread: None,
            };
            fill(graph, &mut line, &meetings);
            line
        })
        .collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.time));
    lines
}

fn fill(graph: &Graph, line: &mut CollectiveLine, meetings: &[&Rendezvous]) {
    let mut transfers = Vec::new();
    for meeting in meetings {
        let timings: Vec<_> =
            meeting.members.iter().filter_map(|&task| graph.task(task).timing).collect();
        let time = timings.iter().fold(Nanos::default(), |sum, timing| sum + timing.duration);
        line.time = line.time + time;
        let Some(transfer) = meeting.transfer else {
            line.partial += 1;
            continue;
        };
        transfers.push(transfer);
        let moved = Nanos::new(transfer.get().saturating_mul(timings.len() as u64));
        line.waiting = Some(line.waiting.unwrap_or_default() + time.saturating_sub(moved));
        let first = timings.iter().map(|timing| timing.start).min();
        let last = timings.iter().map(|timing| timing.start).max();
        line.spread = line.spread.max(last.zip(first).map(|(last, first)| last.since(first)));
    }
    transfers.sort_unstable();
    line.transfer = transfers.get(transfers.len() / 2).copied();
}
