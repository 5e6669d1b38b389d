//! Streams that wait for each other through events.

use super::queue::Queues;
use super::sync::record;
use crate::build::host::Host;
use crate::graph::{Edge, EdgeKind, Graph, Timing};
use crate::recording::{Category, NONE, Recording};

/// Ties the first work launched after a recorded `Stream Wait Event` to the last work launched
/// before the event was recorded on the other stream.
///
/// Without such records (`cuda_sync` events are off by default) the order of streams is not
/// known, and no edge is made up.
pub fn tie(graph: &mut Graph, recording: &Recording, host: &Host, queues: &Queues) {
    let waits = recording.events.iter().filter(|event| event.category == Category::Sync);
    let mut found = Vec::new();
    for event in waits {
        let name = recording.names.text(event.name);
        if name != "Stream Wait Event" && name != "Stream Wait" {
            continue;
        }
        let Some(facts) = event.facts.and_then(|row| recording.syncs.get(row)) else { continue };
        if facts.stream == NONE || facts.awaited_stream == NONE {
            continue;
        }
        let device = if facts.device == NONE { 0 } else { facts.device };
        let call = host.launches.get(&event.correlation);
        let called = call.and_then(|launch| graph.task(launch.task).timing);
        let at = called.map_or(event.start, |timing: Timing| timing.start);
        let recorded = record(facts, graph, host).unwrap_or(at);
        let from = queues.last_before((device, facts.awaited_stream), recorded);
        let to = queues.first_from((device, facts.stream), at);
        found.extend(from.zip(to));
    }
    for (from, to) in found {
        let timing = |task| graph.task(task).timing;
        let Some((before, after)) = timing(from).zip(timing(to)) else { continue };
        // Work that ran before what it should wait for did not wait for it: the event had been
        // recorded twice, or streams are named otherwise here.
        if from == to || after.start < before.start {
            continue;
        }
        // How long the waiting work took to start is told by its launch and its stream.
        let lag = kernelgauge_data::Nanos::new(0);
        graph.edges.push(Edge { from, to, kind: EdgeKind::Event, lag });
    }
}
