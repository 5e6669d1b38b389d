//! The streams of a rank: work on devices, tied to the runtime call that launched it.

use std::collections::BTreeMap;

use super::host::Host;
use super::translate::Translator;
use crate::graph::{
    CallId, CallKind, Graph, Processor, ProcessorId, ProcessorKind, Provenance, Task, TaskId,
    TaskKind, Timing,
};
use crate::names::Names;
use crate::recording::{Category, DeviceFacts, Event, FactsId, NONE, Recording, Track};

/// Work on a device that communicates, and what it states.
#[derive(Debug, Clone, Copy)]
pub struct Communication {
    /// The work.
    pub task: TaskId,
    /// What it states, as a row of the recording's table.
    pub stated: Option<FactsId>,
}

/// Lays the device's events of a recording on streams of the graph. Returns what communicates.
pub fn add(
    graph: &mut Graph,
    translator: &mut Translator<'_>,
    recording: &Recording,
    rank: u32,
    host: &Host,
) -> Vec<Communication> {
    let mut communications = Vec::new();
    let first_call = host.launches.keys().min().copied();
    for ((device, stream), events) in streams(recording) {
        let processor = ProcessorId(graph.processors.len() as u32);
        let first = graph.tasks.len() as u32;
        let mut busy_until = None;
        for event in events {
            let id = TaskId(graph.tasks.len() as u32);
            let facts = facts(recording, event);
            let name = recording.names.text(event.name);
            let communicates = event.category == Category::Kernel
                && (facts.is_some_and(|facts| facts.collective.is_some()) || is_collective(name));
            if communicates {
                let stated = facts.and_then(|facts| facts.collective);
                communications.push(Communication { task: id, stated });
            }
            let task = work(graph, translator, event, facts, processor, host, communicates);
            count(graph, &task);
            let before = event.correlation != NONE && Some(event.correlation) < first_call;
            graph.links.launched_before += u64::from(before);
            graph.links.overlaps += u64::from(busy_until.is_some_and(|until| event.start < until));
            busy_until = busy_until.max(Some(event.end()));
            graph.tasks.push(task);
        }
        let tasks = first..graph.tasks.len() as u32;
        let calls = graph.calls.len() as u32;
        let kind = ProcessorKind::Stream { device, stream };
        graph.processors.push(Processor { rank, kind, tasks, calls: calls..calls });
    }
    communications
}

/// Whether a kernel's name is one of NCCL, RCCL or MSCCL.
fn is_collective(name: &str) -> bool {
    const PREFIXES: [&str; 4] = ["ncclKernel", "ncclDevKernel", "nccl_", "mscclKernel"];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn facts<'a>(recording: &'a Recording, event: &Event) -> Option<&'a DeviceFacts> {
    event.facts.and_then(|row| recording.device_facts.get(row))
}

/// Work on devices by device and stream, in the order in which it began.
fn streams(recording: &Recording) -> BTreeMap<(i64, i64), Vec<&Event>> {
    let mut streams: BTreeMap<(i64, i64), Vec<&Event>> = BTreeMap::new();
    let work = recording.events.iter().filter(|event| event.category.is_device_work());
    for event in work {
        let track = recording.tracks.get(event.track.0 as usize);
        let place = place(facts(recording, event), track, &recording.names);
        streams.entry(place).or_default().push(event);
    }
    for events in streams.values_mut() {
        events.sort_by_key(|event| (event.start, event.end()));
    }
    streams
}

/// Device and stream as stated, else as the row of the timeline says.
fn place(facts: Option<&DeviceFacts>, track: Option<&Track>, names: &Names) -> (i64, i64) {
    let number = |text: &str| {
        let digits = text.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        digits.split_whitespace().next().and_then(|digits| digits.parse().ok())
    };
    let stated = |number: i64| (number != NONE).then_some(number);
    let device = facts.and_then(|facts| stated(facts.device));
    let stream = facts.and_then(|facts| stated(facts.stream));
    let row =
        |of: fn(&Track) -> crate::Symbol| track.and_then(|track| number(names.text(of(track))));
    (
        device.or_else(|| row(|track| track.process)).unwrap_or(0),
        stream.or_else(|| row(|track| track.thread)).unwrap_or(0),
    )
}

fn work(
    graph: &mut Graph,
    translator: &mut Translator<'_>,
    event: &Event,
    facts: Option<&DeviceFacts>,
    processor: ProcessorId,
    host: &Host,
    communicates: bool,
) -> Task {
    let kind = match event.category {
        _ if communicates => TaskKind::Collective,
        Category::Copy => TaskKind::Copy,
        Category::Fill => TaskKind::Fill,
        _ => TaskKind::Kernel,
    };
    let launch = host.launches.get(&event.correlation).filter(|_| event.correlation != NONE);
    let around = launch.and_then(|launch| graph.call(launch.call).parent);
    // The profiler's number of the op helps where the launch lies outside of every op; in some
    // years it repeats the correlation and says nothing.
    let numbered = (event.external != NONE && event.external != event.correlation)
        .then(|| host.by_external.get(&event.external).copied())
        .flatten();
    let call = op(graph, around).or_else(|| op(graph, numbered)).or(around).or(numbered);
    let moved = facts.map(|facts| facts.bytes).filter(|&bytes| bytes != NONE);
    Task {
        kind,
        name: translator.symbol(&mut graph.names, event.name),
        processor,
        timing: Some(Timing { start: event.start, duration: event.duration }),
        provenance: Provenance::Measured,
        call,
        launch: launch.map(|launch| launch.task),
        collective: None,
        bytes: moved.and_then(|bytes| u64::try_from(bytes).ok()),
        step: None,
    }
}

/// The innermost op at or around a call.
fn op(graph: &Graph, mut call: Option<CallId>) -> Option<CallId> {
    while let Some(id) = call {
        let this = graph.call(id);
        if this.kind == CallKind::Op {
            return Some(id);
        }
        call = this.parent;
    }
    None
}

fn count(graph: &mut Graph, task: &Task) {
    let links = &mut graph.links;
    links.device_work += 1;
    links.launched += u64::from(task.launch.is_some());
    let within = task.call.is_some_and(|call| graph.calls[call.0 as usize].kind == CallKind::Op);
    links.within_op += u64::from(within);
}
