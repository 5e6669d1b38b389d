//! Threads that wait for each other: a program that calls backward waits while autograd's
//! threads run.
//!
//! The evidence is autograd's: ops of the other thread that name this one as that of their
//! forward ops, by arrows from forward to backward or by the number of the thread. A gap of the
//! waiting thread must span the whole burst of the other, and a gap of the other must span the
//! moment at which this one began to wait. Everything else stays a gap.

use std::collections::{BTreeMap, BTreeSet};

use kernelgauge_data::Nanos;

use crate::graph::{Edge, EdgeKind, Graph, ProcessorId, ProcessorKind, TaskId, TaskKind, Timing};
use crate::recording::{Recording, TrackId};

/// Turns explained gaps into waits with an edge from what they wait for, and ties backward ops
/// to their forward ops.
pub fn tie(graph: &mut Graph, rank: u32, recording: &Recording) {
    let arrows = arrows(graph, rank, recording);
    let mut backward: BTreeSet<ProcessorId> = arrows.keys().map(|&(_, to)| to).collect();
    backward.extend(numbered(graph, rank));
    for (&(_, _), pairs) in &arrows {
        for &(from, to) in pairs {
            graph.edges.push(Edge {
                from,
                to,
                kind: EdgeKind::ForwardBackward,
                lag: Nanos::new(0),
            });
        }
    }
    let threads: Vec<ProcessorId> = graph.threads_of(rank).map(|(thread, _)| thread).collect();
    for &other in &backward {
        for &waiting in threads.iter().filter(|&&thread| !backward.contains(&thread)) {
            explain(graph, waiting, other);
        }
    }
}

/// Threads whose ops state the thread of their forward op.
fn numbered(graph: &Graph, rank: u32) -> Vec<ProcessorId> {
    let states = |thread: &ProcessorId| {
        graph.calls_of(*thread).iter().any(|call| {
            let facts = call.facts.and_then(|row| graph.ops.get(row));
            facts.is_some_and(|facts| facts.forward_thread > 0)
        })
    };
    graph.threads_of(rank).map(|(thread, _)| thread).filter(states).collect()
}

type Arrows = BTreeMap<(ProcessorId, ProcessorId), Vec<(TaskId, TaskId)>>;

/// Forward and backward tasks on different threads that a recorded arrow ties, by thread.
fn arrows(graph: &Graph, rank: u32, recording: &Recording) -> Arrows {
    let mut begun = BTreeMap::new();
    let mut arrows: Arrows = BTreeMap::new();
    let names: BTreeMap<(&str, &str), ProcessorId> = graph
        .processors_of(rank)
        .filter_map(|(thread, processor)| match processor.kind {
            ProcessorKind::Thread { process, thread: name } => {
                Some(((graph.names.text(process), graph.names.text(name)), thread))
            }
            ProcessorKind::Stream { .. } => None,
        })
        .collect();
    let thread = |track: TrackId| {
        let track = recording.tracks.get(track.0 as usize)?;
        let text = |symbol| recording.names.text(symbol);
        names.get(&(text(track.process), text(track.thread))).copied()
    };
    for flow in &recording.flows {
        let Some(processor) = thread(flow.track) else { continue };
        let Some(task) = at(graph, processor, flow.at) else { continue };
        if flow.begins {
            begun.insert(flow.id, (processor, task));
        } else if let Some(&(forward, from)) = begun.get(&flow.id)
            && forward != processor
            && ends(graph, from) <= starts(graph, task)
        {
            arrows.entry((forward, processor)).or_default().push((from, task));
        }
    }
    arrows
}

/// The piece of a thread that runs at a moment.
fn at(graph: &Graph, processor: ProcessorId, moment: crate::Moment) -> Option<TaskId> {
    let range = graph.processor(processor).tasks.clone();
    let tasks = graph.tasks_of(processor);
    let after =
        tasks.partition_point(|task| task.timing.is_some_and(|timing| timing.start <= moment));
    let place = after.checked_sub(1)?;
    Some(TaskId(range.start + place as u32))
}

fn starts(graph: &Graph, task: TaskId) -> Option<crate::Moment> {
    graph.task(task).timing.map(|timing| timing.start)
}

fn ends(graph: &Graph, task: TaskId) -> Option<crate::Moment> {
    graph.task(task).timing.map(Timing::end)
}

/// Gaps of `waiting` that span a burst of `other`.
fn explain(graph: &mut Graph, waiting: ProcessorId, other: ProcessorId) {
    let gaps: Vec<TaskId> = gaps(graph, waiting);
    for gap in gaps {
        let (Some(start), Some(end)) = (starts(graph, gap), ends(graph, gap)) else { continue };
        let Some(burst) = burst(graph, other, start, end) else { continue };
        let range = graph.processor(waiting).tasks.clone();
        let before = (gap.0 > range.start).then(|| TaskId(gap.0 - 1));
        if let Some((before, idle)) = before.zip(burst.idle) {
            wait(graph, before, idle);
        }
        wait(graph, burst.last, gap);
    }
}

fn gaps(graph: &Graph, thread: ProcessorId) -> Vec<TaskId> {
    let range = graph.processor(thread).tasks.clone();
    range.map(TaskId).filter(|&task| graph.task(task).kind == TaskKind::Gap).collect()
}

/// Work of a thread between two of its gaps.
struct Burst {
    /// The gap before it, if the thread had worked before.
    idle: Option<TaskId>,
    /// Its last piece.
    last: TaskId,
}

/// The burst that lies wholly between two moments, where a gap or nothing surrounds it at both.
fn burst(
    graph: &Graph,
    thread: ProcessorId,
    start: crate::Moment,
    end: crate::Moment,
) -> Option<Burst> {
    let range = graph.processor(thread).tasks.clone();
    let tasks = graph.tasks_of(thread);
    let begins = |place: usize| tasks.get(place).and_then(|task| task.timing);
    let mut first =
        tasks.partition_point(|task| task.timing.is_some_and(|timing| timing.start < start));
    let mut idle = None;
    if let Some(before) = first.checked_sub(1) {
        let still = begins(before)?.end() > start;
        if still && tasks[before].kind != TaskKind::Gap {
            return None;
        }
        idle = (tasks[before].kind == TaskKind::Gap).then_some(before);
    }
    if idle.is_none() && begins(first).is_some() && tasks[first].kind == TaskKind::Gap {
        idle = Some(first);
        first += 1;
    }
    let after = tasks.partition_point(|task| task.timing.is_some_and(|timing| timing.start < end));
    let mut last = after.checked_sub(1).filter(|&last| last >= first)?;
    if begins(last)?.end() > end {
        if tasks[last].kind != TaskKind::Gap {
            return None;
        }
        last = last.checked_sub(1).filter(|&last| last >= first)?;
    }
    let id = |place: usize| TaskId(range.start + place as u32);
    Some(Burst { idle: idle.map(id), last: id(last) })
}

/// Makes a gap a wait that ends when `from` has ended.
fn wait(graph: &mut Graph, from: TaskId, gap: TaskId) {
    let (Some(woken), Some(ended)) = (ends(graph, gap), ends(graph, from)) else { return };
    if ended > woken {
        return;
    }
    graph.tasks[gap.0 as usize].kind = TaskKind::Wait;
    let lag = woken.since(ended);
    graph.edges.push(Edge { from, to: gap, kind: EdgeKind::Wake, lag });
}
