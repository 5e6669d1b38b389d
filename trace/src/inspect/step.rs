//! Where the time of a step went on one rank.

use std::collections::{BTreeMap, HashMap, HashSet};

use kernelgauge_data::Nanos;

use super::idle::{self, Idle};
use super::intervals::Intervals;
use crate::graph::{EdgeKind, Graph, ProcessorKind, Task, TaskId, TaskKind, Timing};

/// A step of a rank: its window is that of the mark on the host.
#[derive(Debug)]
pub struct StepReport {
    /// Its number as marked.
    pub number: u64,
    /// When it ran.
    pub timing: Timing,
    /// Time in which kernels ran that compute.
    pub compute: Nanos,
    /// Time in which copies or fills ran.
    pub copies: Nanos,
    /// Time in which collectives ran, waiting included.
    pub communication: Nanos,
    /// Of that, while nothing else ran on the device.
    pub exposed_communication: Nanos,
    /// Of the collectives that began in this step, the time of the transfer, as far as all
    /// ranks were recorded.
    pub transfer: Nanos,
    /// Of these, the time spent waiting for other ranks.
    pub waiting: Nanos,
    /// Whether `transfer` and `waiting` cover every collective of the step.
    pub split_known: bool,
    /// Time in which nothing ran on the device, by cause.
    pub idle: Idle,
    /// Each stream.
    pub streams: Vec<StreamBusy>,
    /// Whether the host holds the device back.
    pub host_bound: HostBound,
    /// Pieces of work on the device.
    pub device_work: u64,
}

/// A stream within a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamBusy {
    /// The device.
    pub device: i64,
    /// The stream.
    pub stream: i64,
    /// Time in which work ran.
    pub busy: Nanos,
    /// Pieces of work that ran.
    pub work: u64,
}

/// Whether the device stands idle because the host has not launched yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostBound {
    /// Under a tenth of the step.
    No,
    /// A tenth of the step or more, under a half.
    Partly,
    /// Half of the step or more.
    Yes,
    /// Nothing ran on a device.
    Unknown,
}

impl HostBound {
    fn of(idle: &Idle, span: Nanos, device_work: u64) -> Self {
        let waiting = idle.host.get() + idle.launch.get();
        match () {
            () if device_work == 0 || span.get() == 0 => HostBound::Unknown,
            () if waiting.saturating_mul(2) >= span.get() => HostBound::Yes,
            () if waiting.saturating_mul(10) >= span.get() => HostBound::Partly,
            () => HostBound::No,
        }
    }
}

/// The steps of a rank. `transfers` are those of the whole graph.
pub fn reports(graph: &Graph, rank: usize, transfers: &HashMap<TaskId, Nanos>) -> Vec<StepReport> {
    let Some(this) = graph.ranks.get(rank) else { return Vec::new() };
    let work = DeviceWork::of(graph, rank);
    this.steps
        .iter()
        .map(|step| report(graph, step.number, step.timing, &work, transfers))
        .collect()
}

/// Work on the devices of a rank.
pub struct DeviceWork {
    /// By start.
    work: Vec<(Timing, TaskId)>,
    /// The longest of it.
    longest: Nanos,
    /// What waits for another stream, as a recorded event says.
    pub held_by_stream: HashSet<TaskId>,
}

impl DeviceWork {
    fn of(graph: &Graph, rank: usize) -> Self {
        let mut work = Vec::new();
        for (_, processor) in graph.streams_of(rank as u32) {
            for task in processor.tasks.clone().map(TaskId) {
                work.extend(graph.task(task).timing.map(|timing| (timing, task)));
            }
        }
        work.sort_by_key(|(timing, task)| (timing.start, *task));
        let longest = work.iter().map(|(timing, _)| timing.duration).max().unwrap_or_default();
        let events = graph.edges.iter().filter(|edge| edge.kind == EdgeKind::Event);
        let held_by_stream = events.map(|edge| edge.to).collect();
        DeviceWork { work, longest, held_by_stream }
    }

    /// What begins at a moment or after it, in order.
    pub fn from(&self, moment: crate::Moment) -> impl Iterator<Item = (Timing, TaskId)> {
        let place = self.work.partition_point(|(timing, _)| timing.start < moment);
        self.work[place..].iter().copied()
    }

    /// What runs at some time within a window, in order of its start.
    fn during(&self, window: Timing) -> impl Iterator<Item = (Timing, TaskId)> {
        let back = i64::try_from(self.longest.get()).unwrap_or(i64::MAX);
        let candidates = self.from(window.start.shifted(-back));
        candidates
            .take_while(move |(timing, _)| timing.start < window.end())
            .filter(move |(timing, _)| timing.end() > window.start)
    }
}

/// The transfer of each member of a whole rendezvous.
pub fn transfers(graph: &Graph) -> HashMap<TaskId, Nanos> {
    let known = graph.rendezvous.iter().filter_map(|one| Some((&one.members, one.transfer?)));
    known.flat_map(|(members, time)| members.iter().map(move |&task| (task, time))).collect()
}

fn report(
    graph: &Graph,
    number: u64,
    window: Timing,
    work: &DeviceWork,
    transfers: &HashMap<TaskId, Nanos>,
) -> StepReport {
    let set = |wanted: &dyn Fn(&Task) -> bool| {
        let wanted = work.during(window).filter(|(_, task)| wanted(graph.task(*task)));
        Intervals::within(window, wanted.map(|(timing, _)| timing))
    };
    let compute = set(&|task| task.kind == TaskKind::Kernel);
    let copies = set(&|task| matches!(task.kind, TaskKind::Copy | TaskKind::Fill));
    let communication = set(&|task| task.kind == TaskKind::Collective);
    let other = compute.or(&copies);
    let busy = other.or(&communication);
    let idle = idle::causes(graph, &busy.holes(window), window, work);
    let overlapped = communication.shared(&other);
    let mut report = StepReport {
        number,
        timing: window,
        compute: compute.length(),
        copies: copies.length(),
        communication: communication.length(),
        exposed_communication: communication.length().saturating_sub(overlapped),
        transfer: Nanos::default(),
        waiting: Nanos::default(),
        split_known: true,
        idle,
        streams: streams(graph, window, work),
        host_bound: HostBound::Unknown,
        device_work: 0,
    };
    for (timing, task) in work.from(window.start).take_while(|one| one.0.start < window.end()) {
        report.device_work += 1;
        if graph.task(task).kind != TaskKind::Collective {
            continue;
        }
        match transfers.get(&task) {
            Some(&transfer) => {
                report.transfer = report.transfer + transfer;
                report.waiting = report.waiting + timing.duration.saturating_sub(transfer);
            }
            None => report.split_known = false,
        }
    }
    report.host_bound = HostBound::of(&report.idle, window.duration, report.device_work);
    report
}

fn streams(graph: &Graph, window: Timing, work: &DeviceWork) -> Vec<StreamBusy> {
    let mut streams: BTreeMap<(i64, i64), Vec<Timing>> = Default::default();
    for (timing, task) in work.during(window) {
        let ProcessorKind::Stream { device, stream } =
            graph.processor(graph.task(task).processor).kind
        else {
            continue;
        };
        streams.entry((device, stream)).or_default().push(timing);
    }
    let busy = |((device, stream), timings): ((i64, i64), Vec<Timing>)| StreamBusy {
        device,
        stream,
        work: timings.len() as u64,
        busy: Intervals::within(window, timings.into_iter()).length(),
    };
    streams.into_iter().map(busy).collect()
}
