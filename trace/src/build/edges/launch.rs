//! Launches and the order of streams, and what they cost.
//!
//! Work on a stream waits for its launch and for the work before it. Which of the two held it
//! back decides what the time between them means: on an idle stream it is the latency of the
//! launch; on a busy one the launch had long arrived, and charging the time in the queue to the
//! launch would freeze it there whatever becomes of the work before.

use kernelgauge_data::Nanos;

use crate::graph::{Edge, EdgeKind, Graph, Launching, TaskId, Timing};

/// Ties work on devices to its launch and to the work before it on its stream.
pub fn tie(graph: &mut Graph, rank: u32) {
    let launching = measure(graph, rank);
    graph.ranks[rank as usize].launching = launching;
    let latency = launching.latency.unwrap_or_default();
    for (before, task) in neighbours(graph, rank) {
        let Some(timing) = graph.task(task).timing else { continue };
        let launch = graph.task(task).launch;
        let launched = launch.and_then(|launch| Some((launch, graph.task(launch).timing?.start)));
        let previous = before.and_then(|before| Some((before, graph.task(before).timing?.end())));
        if let Some((launch, at)) = launched {
            graph.links.before_launch += u64::from(timing.start < at);
            let waited = timing.start.since(at);
            let queued = previous.is_some_and(|(_, end)| end > at + latency);
            let lag = if queued { waited.min(latency) } else { waited };
            graph.edges.push(Edge { from: launch, to: task, kind: EdgeKind::Launch, lag });
        }
        if let Some((before, end)) = previous {
            let held = launched.is_none_or(|(_, at)| end > at + latency);
            let lag = if held { timing.start.since(end) } else { Nanos::new(0) };
            graph.edges.push(Edge { from: before, to: task, kind: EdgeKind::Stream, lag });
        }
    }
}

/// The tasks of a rank's streams, each with the one before it.
fn neighbours(graph: &Graph, rank: u32) -> Vec<(Option<TaskId>, TaskId)> {
    let tasks = graph.streams_of(rank).flat_map(|(_, stream)| {
        let first = stream.tasks.start;
        stream
            .tasks
            .clone()
            .map(move |task| ((task > first).then(|| TaskId(task - 1)), TaskId(task)))
    });
    tasks.collect()
}

/// What launching costs: the lower quartile of the latency on an idle stream, the tenth
/// percentile of the gap on a busy one. Both are near what the hardware takes; larger ones have
/// other reasons.
fn measure(graph: &Graph, rank: u32) -> Launching {
    let mut latencies = Vec::new();
    let mut gaps = Vec::new();
    for (before, task) in neighbours(graph, rank) {
        let start = |timing: Timing| timing.start;
        let Some(began) = graph.task(task).timing.map(start) else { continue };
        let launched =
            graph.task(task).launch.and_then(|launch| graph.task(launch).timing.map(start));
        let previous = before.and_then(|before| graph.task(before).timing.map(Timing::end));
        let Some(launched) = launched.filter(|&launched| launched <= began) else { continue };
        match previous {
            Some(previous) if previous > launched => {
                if began >= previous {
                    gaps.push(began.since(previous));
                }
            }
            _ => latencies.push(began.since(launched)),
        }
    }
    Launching { latency: quantile(&mut latencies, 1, 4), gap: quantile(&mut gaps, 1, 10) }
}

/// The element of which `part` of `whole` elements are smaller.
fn quantile(values: &mut [Nanos], part: usize, whole: usize) -> Option<Nanos> {
    let place = values.len().saturating_sub(1) * part / whole;
    (!values.is_empty()).then(|| *values.select_nth_unstable(place).1)
}
