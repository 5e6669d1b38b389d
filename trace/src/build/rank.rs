//! One rank of the graph, from its recording and, where there is one, its execution trace.

use super::translate::Translator;
use super::{collectives, device, edges, host, nodes, steps};
use crate::execution::ExecutionTrace;
use crate::graph::{Device, Graph, Launching, Rank, TaskKind, Timing};
use crate::recording::{NONE, RankSource, Recording};
use crate::time::Moment;

/// Adds a rank: its processors, calls, tasks, collectives and edges.
pub fn add(
    graph: &mut Graph,
    number: u32,
    recording: Recording,
    execution: Option<&ExecutionTrace>,
) {
    let place = graph.ranks.len() as u32;
    let first_processor = graph.processors.len() as u32;
    let first_call = graph.calls.len();
    let first_task = graph.tasks.len();
    let mut translator = Translator::new(&recording.names);
    let host = host::add(graph, &mut translator, &recording, place);
    let communications = device::add(graph, &mut translator, &recording, place, &host);
    let marked = steps::marked(graph, &graph.calls[first_call..]);
    let steps_marked = !marked.is_empty();
    let span = span(graph, first_task);
    let steps = if steps_marked { marked } else { span.map_or(Vec::new(), steps::whole) };
    let device = used_device(&recording);
    graph.ranks.push(Rank {
        number,
        by: recording.rank.map_or(RankSource::Order, |stated| stated.by),
        source: recording.source.clone(),
        device,
        world_size: recording.world_size,
        processors: first_processor..graph.processors.len() as u32,
        steps,
        steps_marked,
        launching: Launching::default(),
        oddities: recording.oddities.clone(),
    });
    assign_steps(graph, place, first_call, first_task);
    if let Some(execution) = execution {
        nodes::link(graph, place, execution);
    }
    let source = collectives::Source { recording: &recording, host: &host, execution };
    collectives::describe(graph, place, &communications, &source);
    edges::tie(graph, place, &recording, &host);
}

/// From the first task of a rank to the last.
fn span(graph: &Graph, first_task: usize) -> Option<Timing> {
    let timings = || graph.tasks[first_task..].iter().filter_map(|task| task.timing);
    let start = timings().map(|timing| timing.start).min()?;
    let end = timings().map(Timing::end).max()?;
    Some(Timing { start, duration: end.since(start) })
}

/// The device most of the work ran on.
fn used_device(recording: &Recording) -> Option<Device> {
    let counted = |device: &Device| {
        let on = |facts: &&crate::recording::DeviceFacts| {
            facts.device != NONE && facts.device == i64::from(device.id)
        };
        recording.device_facts.rows().iter().filter(on).count()
    };
    // Of equals the first: recordings list all devices of a host, used or not.
    recording.devices.iter().rev().max_by_key(|device| counted(device)).cloned()
}

fn assign_steps(graph: &mut Graph, rank: u32, first_call: usize, first_task: usize) {
    let Graph { ranks, calls, tasks, .. } = graph;
    let steps = &ranks[rank as usize].steps;
    let at = |timing: Option<Timing>| {
        steps::at(steps, timing.map_or(Moment::default(), |timing| timing.start))
    };
    for call in &mut calls[first_call..] {
        call.step = at(call.timing);
    }
    for task in first_task..tasks.len() {
        // Work on a device belongs to the step that launched it.
        let launch = tasks[task].launch.map_or(task, |launch| launch.0 as usize);
        tasks[task].step = at(tasks[launch].timing).filter(|&step| {
            // A thread that idles from one step into the next belongs to neither.
            let idles = matches!(tasks[task].kind, TaskKind::Gap | TaskKind::Wait);
            let end = tasks[task].timing.map(Timing::end);
            !idles || steps.get(step as usize).map(|step| step.timing.end()) >= end
        });
    }
}
