//! Calls of a thread that wait for a device.

use std::collections::HashMap;

use kernelgauge_data::Nanos;

use super::queue::Queues;
use crate::build::host::Host;
use crate::graph::{Edge, EdgeKind, Graph, TaskId, TaskKind, Timing};
use crate::recording::{Category, NONE, Recording, SyncFacts};
use crate::time::Moment;

/// What a runtime call waits for, as its name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// All work of the device.
    Device,
    /// The work of one stream or before one event.
    Some,
    /// The copy it launches.
    OwnCopy,
}

/// What a call of the CUDA or HIP runtime or driver waits for.
fn waits(name: &str) -> Option<Waits> {
    let bare = ["cuda", "hip", "cu", "mtia"].iter().find_map(|prefix| name.strip_prefix(prefix))?;
    let bare = bare.trim_end_matches("_ptsz").split("_v").next().unwrap_or(bare);
    match bare {
        "DeviceSynchronize" | "CtxSynchronize" | "ThreadSynchronize" => Some(Waits::Device),
        "StreamSynchronize" | "EventSynchronize" => Some(Waits::Some),
        _ if bare.starts_with("Memcpy") => Some(Waits::OwnCopy),
        _ => None,
    }
}

/// Ties the end of calls that wait to the end of the work they wait for.
pub fn tie(graph: &mut Graph, rank: u32, recording: &Recording, host: &Host, queues: &Queues) {
    let recorded = recorded(recording);
    graph.links.recorded_syncs += recorded.len() as u64;
    let own = own_work(graph, rank);
    let correlations: HashMap<TaskId, i64> =
        host.launches.iter().map(|(&correlation, launch)| (launch.task, correlation)).collect();
    for call in runtime_calls(graph, rank) {
        let Some(timing) = graph.task(call).timing else { continue };
        let Some(waits) = waits(graph.names.text(graph.task(call).name)) else { continue };
        let facts = correlations.get(&call).and_then(|number| recorded.get(number));
        let awaited: Vec<TaskId> = match (waits, facts) {
            (Waits::OwnCopy, _) => match own.get(&call) {
                Some(&copy) if blocks(graph, copy, timing) => vec![copy],
                _ => continue,
            },
            (Waits::Device, _) => {
                let last = |stream| queues.last_before(stream, timing.start);
                queues.streams().filter_map(last).collect()
            }
            (Waits::Some, Some(facts)) => stated(facts, timing, graph, host, queues),
            (Waits::Some, None) => latest(graph, timing, queues).into_iter().collect(),
        };
        graph.links.waiting_calls += 1;
        graph.links.waits_for_nothing += u64::from(awaited.is_empty());
        for work in awaited {
            push(graph, work, call, timing);
        }
    }
}

/// Recorded waits of threads by correlation.
fn recorded(recording: &Recording) -> HashMap<i64, &SyncFacts> {
    let events = recording.events.iter().filter(|event| event.category == Category::Sync);
    let facts = events.filter_map(|event| {
        let facts = recording.syncs.get(event.facts?)?;
        (event.correlation != NONE).then_some((event.correlation, facts))
    });
    facts.collect()
}

fn runtime_calls(graph: &Graph, rank: u32) -> Vec<TaskId> {
    let tasks = graph.threads_of(rank).flat_map(|(_, thread)| thread.tasks.clone().map(TaskId));
    tasks.filter(|&task| graph.task(task).kind == TaskKind::Runtime).collect()
}

/// The copy each call launched.
fn own_work(graph: &Graph, rank: u32) -> HashMap<TaskId, TaskId> {
    let tasks = graph.streams_of(rank).flat_map(|(_, stream)| stream.tasks.clone().map(TaskId));
    let copies = tasks.filter(|&task| graph.task(task).kind == TaskKind::Copy);
    copies.filter_map(|task| Some((graph.task(task).launch?, task))).collect()
}

/// A copy that had ended when its call returned was waited for.
fn blocks(graph: &Graph, copy: TaskId, call: Timing) -> bool {
    graph.task(copy).timing.is_some_and(|timing| timing.end() <= call.end())
}

/// The last work before what a recorded wait names.
fn stated(
    facts: &SyncFacts,
    call: Timing,
    graph: &Graph,
    host: &Host,
    queues: &Queues,
) -> Vec<TaskId> {
    let device = if facts.device == NONE { 0 } else { facts.device };
    let named = [facts.awaited_stream, facts.stream];
    let stream = named.into_iter().find(|&stream| stream != NONE && stream >= 0);
    let before = record(facts, graph, host).unwrap_or(call.start);
    match stream {
        Some(stream) => queues.last_before((device, stream), before).into_iter().collect(),
        None => queues.streams().filter_map(|one| queues.last_before(one, before)).collect(),
    }
}

/// When the event of a wait was recorded on the host.
pub fn record(facts: &SyncFacts, graph: &Graph, host: &Host) -> Option<Moment> {
    let launch = host.launches.get(&facts.record_correlation)?;
    graph.task(launch.task).timing.map(|timing| timing.start)
}

/// Without a record of what was waited for: of the last work of each stream, what ended last
/// while the call was waiting. A call that waited for nothing has none.
fn latest(graph: &Graph, call: Timing, queues: &Queues) -> Option<TaskId> {
    let last = queues.streams().filter_map(|stream| queues.last_before(stream, call.start));
    let ended = last.filter_map(|task| Some((graph.task(task).timing?.end(), task)));
    let during = ended.filter(|&(end, _)| end >= call.start && end <= call.end());
    during.max().map(|(_, task)| task)
}

fn push(graph: &mut Graph, work: TaskId, call: TaskId, timing: Timing) {
    let Some(end) = graph.task(work).timing.map(Timing::end) else { return };
    // Work that had ended before holds nothing back here, but may elsewhere.
    let lag = if end > timing.start { timing.end().since(end) } else { Nanos::new(0) };
    graph.edges.push(Edge { from: work, to: call, kind: EdgeKind::Sync, lag });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_waited_for() {
        assert_eq!(waits("cudaDeviceSynchronize"), Some(Waits::Device));
        assert_eq!(waits("hipDeviceSynchronize"), Some(Waits::Device));
        assert_eq!(waits("cuCtxSynchronize"), Some(Waits::Device));
        assert_eq!(waits("cudaStreamSynchronize"), Some(Waits::Some));
        assert_eq!(waits("cuMemcpyDtoH_v2"), Some(Waits::OwnCopy));
        assert_eq!(waits("hipMemcpyWithStream"), Some(Waits::OwnCopy));
        assert_eq!(waits("cudaLaunchKernel"), None);
        assert_eq!(waits("cudaStreamWaitEvent"), None);
        assert_eq!(waits("aten::item"), None);
    }
}
