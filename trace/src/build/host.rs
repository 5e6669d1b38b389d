//! The threads of a rank: calls that nest, and the pieces between them.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::forest::{self, Interval};
use super::pieces::{self, Piece};
use super::steps;
use super::translate::Translator;
use crate::graph::{
    Call, CallId, CallKind, Graph, Processor, ProcessorId, ProcessorKind, Provenance, Task, TaskId,
    TaskKind, Timing,
};
use crate::names::Symbol;
use crate::recording::{Category, Event, NONE, Recording};

/// A runtime call and its piece of the thread.
#[derive(Debug, Clone, Copy)]
pub struct Launch {
    /// The call.
    pub call: CallId,
    /// Its piece.
    pub task: TaskId,
}

/// How later stages find calls of a rank.
#[derive(Debug, Default)]
pub struct Host {
    /// Runtime calls by correlation.
    pub launches: HashMap<i64, Launch>,
    /// Ops and annotations by the profiler's number.
    pub by_external: HashMap<i64, CallId>,
    /// What ops stated of collectives: rows of the recording's table.
    pub collectives: HashMap<CallId, crate::recording::FactsId>,
}

/// Lays the host's events of a recording on threads of the graph.
pub fn add(
    graph: &mut Graph,
    translator: &mut Translator<'_>,
    recording: &Recording,
    rank: u32,
) -> Host {
    let mut host = Host::default();
    for events in threads(recording) {
        thread(graph, translator, recording, rank, &events, &mut host);
    }
    host
}

fn kind(category: Category) -> Option<CallKind> {
    match category {
        Category::Op => Some(CallKind::Op),
        Category::Annotation => Some(CallKind::Annotation),
        Category::Runtime => Some(CallKind::Runtime),
        _ => None,
    }
}

/// The host's events of each thread, outer before inner; threads in the order of their first
/// event.
fn threads(recording: &Recording) -> Vec<Vec<&Event>> {
    let mut threads: Vec<Vec<&Event>> = vec![Vec::new(); recording.tracks.len()];
    for event in recording.events.iter().filter(|event| kind(event.category).is_some()) {
        if let Some(thread) = threads.get_mut(event.track.0 as usize) {
            thread.push(event);
        }
    }
    for thread in &mut threads {
        // Numbers of the profiler grow in the order of beginning; runtime calls have none of
        // their own, and nothing lies within them.
        thread.sort_by_key(|event| {
            let runtime = event.category == Category::Runtime;
            let number = if runtime { i64::MAX } else { event.external };
            (event.start, Reverse(event.duration), event.category, number)
        });
    }
    threads.retain(|thread| !thread.is_empty());
    threads.sort_by_key(|thread| thread.first().map(|event| event.start));
    threads
}

fn thread(
    graph: &mut Graph,
    translator: &mut Translator<'_>,
    recording: &Recording,
    rank: u32,
    events: &[&Event],
    host: &mut Host,
) {
    let Some(first) = events.first() else { return };
    let Some(track) = recording.tracks.get(first.track.0 as usize) else { return };
    let intervals: Vec<Interval> =
        events.iter().map(|event| Interval { start: event.start, end: event.end() }).collect();
    let nesting = forest::nest(&intervals);
    graph.links.crossings += nesting.crossings;
    let processor = ProcessorId(graph.processors.len() as u32);
    let first_call = graph.calls.len() as u32;
    for (event, parent) in events.iter().zip(&nesting.parents) {
        let parent = parent.map(|parent| CallId(first_call + parent));
        call(graph, translator, recording, processor, event, parent, host);
    }
    let runtime = |place: u32| events[place as usize].category == Category::Runtime;
    let first_task = graph.tasks.len() as u32;
    let mut correlations = Vec::new();
    for piece in pieces::cut(&intervals, &nesting, runtime) {
        let task = TaskId(graph.tasks.len() as u32);
        if let Some(place) = piece.inside.filter(|&place| runtime(place)) {
            correlations.push((events[place as usize].correlation, first_call + place, task));
        }
        lay(graph, processor, first_task, piece, first_call);
    }
    for (correlation, call, task) in correlations {
        if correlation != NONE {
            let launch = Launch { call: CallId(call), task };
            host.launches.entry(correlation).or_insert(launch);
        }
    }
    let kind = ProcessorKind::Thread {
        process: translator.symbol(&mut graph.names, track.process),
        thread: translator.symbol(&mut graph.names, track.thread),
    };
    let tasks = first_task..graph.tasks.len() as u32;
    let calls = first_call..graph.calls.len() as u32;
    graph.processors.push(Processor { rank, kind, tasks, calls });
}

fn call(
    graph: &mut Graph,
    translator: &mut Translator<'_>,
    recording: &Recording,
    processor: ProcessorId,
    event: &Event,
    parent: Option<CallId>,
    host: &mut Host,
) {
    let id = CallId(graph.calls.len() as u32);
    let kind = kind(event.category).unwrap_or(CallKind::Op);
    let stated = |number: i64| (number != NONE).then_some(number);
    let own = event.facts.filter(|_| kind != CallKind::Runtime);
    let facts =
        own.and_then(|row| translator.op(&mut graph.names, &mut graph.ops, &recording.ops, row));
    if kind != CallKind::Runtime {
        if let Some(number) = stated(event.external) {
            host.by_external.entry(number).or_insert(id);
        }
        let collective = own.and_then(|row| recording.ops.get(row)?.collective);
        if let Some(collective) = collective {
            host.collectives.insert(id, collective);
        }
    }
    graph.links.ops += u64::from(kind == CallKind::Op);
    graph.calls.push(Call {
        kind,
        name: translator.symbol(&mut graph.names, event.name),
        processor,
        timing: Some(Timing { start: event.start, duration: event.duration }),
        parent,
        facts,
        sequence: stated(event.sequence),
        record_function: stated(event.record_function),
        node: None,
        step: None,
    });
}

/// Adds a piece as a task. Gaps that only an annotation's border parts are one gap, unless it is
/// the border of a step.
fn lay(graph: &mut Graph, processor: ProcessorId, first: u32, piece: Piece, first_call: u32) {
    let inside = piece.inside.map(|place| CallId(first_call + place));
    let call = inside.map(|call| graph.call(call));
    let (kind, name) = match call.map(|call| (call.kind, call.name)) {
        Some((CallKind::Op, name)) => (TaskKind::Op, name),
        Some((CallKind::Runtime, name)) => (TaskKind::Runtime, name),
        Some((CallKind::Annotation, _)) | None => (TaskKind::Gap, Symbol::EMPTY),
    };
    let duration = piece.end.since(piece.start);
    let bounds_step = |call: Option<CallId>| {
        call.is_some_and(|call| steps::number(graph.names.text(graph.call(call).name)).is_some())
    };
    let merges = kind == TaskKind::Gap
        && graph.tasks.len() > first as usize
        && graph.tasks.last().is_some_and(|last| {
            last.kind == TaskKind::Gap
                && bounds_step(last.call) == bounds_step(inside)
                && last.call.is_some() == inside.is_some()
        });
    if merges && let Some(timing) = graph.tasks.last_mut().and_then(|last| last.timing.as_mut()) {
        timing.duration = timing.duration + duration;
        return;
    }
    graph.tasks.push(Task {
        kind,
        name,
        processor,
        timing: Some(Timing { start: piece.start, duration }),
        provenance: Provenance::Measured,
        call: inside,
        launch: None,
        collective: None,
        bytes: None,
        step: None,
    });
}
