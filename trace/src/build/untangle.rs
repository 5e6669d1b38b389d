//! Takes out what contradicts itself: a recording whose clocks, correlations or ranks disagree may
//! make tasks wait for each other in a circle.
//!
//! The order of threads and streams is kept; it alone has no circle. What goes is counted.

use std::collections::HashSet;

use kernelgauge_data::Nanos;

use crate::graph::check;
use crate::graph::{Edge, EdgeKind, Graph, Rendezvous, TaskId, TaskKind, Timing};

/// Removes edges, and parts rendezvous, until nothing waits for itself.
pub fn untangle(graph: &mut Graph) {
    let steps: [fn(&Graph, &Edge) -> bool; 3] = [
        backward,
        |_, edge| !matches!(edge.kind, EdgeKind::Thread | EdgeKind::Stream | EdgeKind::Launch),
        |_, edge| !matches!(edge.kind, EdgeKind::Thread | EdgeKind::Stream),
    ];
    for goes in steps {
        let stuck: HashSet<TaskId> = check::stuck(graph).into_iter().collect();
        if stuck.is_empty() {
            return;
        }
        let within = |edge: &Edge| stuck.contains(&edge.from) && stuck.contains(&edge.to);
        let (gone, kept): (Vec<Edge>, Vec<Edge>) =
            graph.edges.iter().partition(|edge| within(edge) && goes(graph, edge));
        graph.links.contradictions += gone.len() as u64;
        graph.edges = kept;
        for edge in gone {
            forget(graph, edge);
        }
    }
    let stuck: HashSet<TaskId> = check::stuck(graph).into_iter().collect();
    if !stuck.is_empty() {
        part(graph, &stuck);
    }
}

/// Whether what waits was over before what it waits for: never true of what the recorder saw.
fn backward(graph: &Graph, edge: &Edge) -> bool {
    if matches!(edge.kind, EdgeKind::Thread | EdgeKind::Stream) {
        return false;
    }
    let timing = |task: TaskId| graph.task(task).timing;
    let Some((from, to)) = timing(edge.from).zip(timing(edge.to)) else { return false };
    let from = if edge.kind.from_start() { from.start } else { from.end() };
    let to = if edge.kind.holds_end() { to.end() } else { to.start };
    to < from
}

/// What a task says of an edge that is gone.
fn forget(graph: &mut Graph, edge: Edge) {
    let to = edge.to.0 as usize;
    match edge.kind {
        EdgeKind::Launch => {
            graph.tasks[to].launch = None;
            graph.links.launched -= 1;
        }
        EdgeKind::Wake => graph.tasks[to].kind = TaskKind::Gap,
        _ => {}
    }
}

/// Ranks whose collectives come in contradicting orders do not meet.
fn part(graph: &mut Graph, stuck: &HashSet<TaskId>) {
    let mut parted = Vec::with_capacity(graph.rendezvous.len());
    for meeting in std::mem::take(&mut graph.rendezvous) {
        if !meeting.members.iter().any(|member| stuck.contains(member)) {
            parted.push(meeting);
            continue;
        }
        graph.links.contradictions += 1;
        let missing = meeting.missing.map(|missing| missing + meeting.members.len() as u32 - 1);
        parted.extend(meeting.members.iter().map(|&member| Rendezvous {
            members: vec![member],
            group: meeting.group,
            transfer: alone(missing, graph.task(member).timing),
            missing,
        }));
    }
    graph.rendezvous = parted;
}

fn alone(missing: Option<u32>, timing: Option<Timing>) -> Option<Nanos> {
    timing.filter(|_| missing == Some(0)).map(|timing| timing.duration)
}
