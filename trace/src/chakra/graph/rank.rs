//! One rank of a graph out of its Chakra trace.

use std::collections::{BTreeMap, HashMap};

use kernelgauge_data::Nanos;

use super::communication::{self, Sequences};
use super::times::{self, Times};
use crate::chakra::export::order;
use crate::chakra::message::{ChakraNode, NodeType};
use crate::chakra::{ChakraTrace, attribute};
use crate::error::TraceError;
use crate::graph::{
    Edge, EdgeKind, Graph, Launching, Processor, ProcessorId, ProcessorKind, Provenance, Rank,
    Step, Task, TaskId, TaskKind, Timing,
};
use crate::names::Symbol;
use crate::recording::{Oddities, StatedRank};

/// Ids that an error lists.
const LISTED: usize = 8;

/// Where a node runs; threads come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    Thread(i64),
    /// Idle time of a stream that was written as a node of the host.
    IdleOf(i64),
    Stream(i64),
}

/// Adds the rank.
pub(super) fn add(
    graph: &mut Graph,
    stated: StatedRank,
    trace: &ChakraTrace,
) -> Result<(), TraceError> {
    let nodes: Vec<ChakraNode> =
        trace.nodes.iter().filter(|node| node.kind != NodeType::Metadata as i32).cloned().collect();
    let places = places(trace, &nodes)?;
    let mut oddities = Oddities { read: nodes.len() as u64, ..Oddities::default() };
    let mut arrows: Vec<(usize, usize)> = Vec::new();
    for (place, node) in nodes.iter().enumerate() {
        for dependency in &node.data_dependencies {
            match places.get(dependency) {
                Some(&before) => arrows.push((before, place)),
                None => oddities.unknown_dependencies += 1,
            }
        }
    }
    refuse_circles(trace, &nodes, &arrows)?;

    let mut lanes: BTreeMap<Lane, Vec<usize>> = BTreeMap::new();
    for (place, node) in nodes.iter().enumerate() {
        lanes.entry(lane(node)).or_default().push(place);
    }
    let kinds: Vec<Lane> = lanes.keys().copied().collect();
    let threads = kinds.iter().filter(|lane| !matches!(lane, Lane::Stream(_))).count();
    let lanes: Vec<Vec<usize>> = lanes.into_values().collect();
    let times = if times::were_recorded(&nodes) {
        times::recorded(&nodes, &lanes, threads)
    } else {
        let mut lane_of = vec![0; nodes.len()];
        for (lane, places) in lanes.iter().enumerate() {
            places.iter().for_each(|&place| lane_of[place] = lane);
        }
        times::earliest(&nodes, &lane_of, lanes.len(), &arrows)
    };
    graph.links.overlaps += times.overlaps;
    let adding = Adding { nodes: &nodes, arrows: &arrows, times: &times, kinds: &kinds };
    adding.to(graph, stated, trace, oddities);
    Ok(())
}

fn places(trace: &ChakraTrace, nodes: &[ChakraNode]) -> Result<HashMap<u64, usize>, TraceError> {
    let mut places = HashMap::new();
    for (place, node) in nodes.iter().enumerate() {
        if places.insert(node.id, place).is_some() {
            let at = format!("node {}", node.id);
            let hint = "dependencies on it could mean either; write the trace with unique ids";
            return Err(TraceError::content(&trace.source, at, "two nodes have this id", hint));
        }
    }
    Ok(places)
}

fn refuse_circles(
    trace: &ChakraTrace,
    nodes: &[ChakraNode],
    arrows: &[(usize, usize)],
) -> Result<(), TraceError> {
    let order = order::sort(nodes.len(), arrows, |place| place);
    if order.len() == nodes.len() {
        return Ok(());
    }
    let mut sorted = vec![false; nodes.len()];
    order.iter().for_each(|&place| sorted[place] = true);
    let stuck = nodes.iter().zip(&sorted).filter(|(_, sorted)| !**sorted);
    let ids: Vec<String> = stuck.take(LISTED).map(|(node, _)| node.id.to_string()).collect();
    let more = if nodes.len() - order.len() > ids.len() { ", ..." } else { "" };
    let problem = format!("{} nodes wait for each other", nodes.len() - order.len());
    let place = format!("nodes {}{more}", ids.join(", "));
    Err(TraceError::content(&trace.source, place, problem, "no replay of this trace can end"))
}

fn lane(node: &ChakraNode) -> Lane {
    // What does not say where it runs: simulators take it for work of the device.
    if !node.is_cpu_op().unwrap_or(false) {
        return Lane::Stream(node.stream().unwrap_or(0));
    }
    match (node.integer(attribute::THREAD), node.integer(attribute::STREAM)) {
        (None, Some(stream)) => Lane::IdleOf(stream),
        (thread, _) => Lane::Thread(thread.unwrap_or(0)),
    }
}

struct Adding<'a> {
    nodes: &'a [ChakraNode],
    arrows: &'a [(usize, usize)],
    times: &'a Times,
    kinds: &'a [Lane],
}

impl Adding<'_> {
    fn to(&self, graph: &mut Graph, stated: StatedRank, trace: &ChakraTrace, oddities: Oddities) {
        let rank = graph.ranks.len() as u32;
        let first_processor = graph.processors.len() as u32;
        let (steps, steps_marked) = self.steps();
        let mut tasks = vec![TaskId(0); self.nodes.len()];
        for (lane, places) in self.kinds.iter().zip(&self.times.lanes) {
            let processor = ProcessorId(graph.processors.len() as u32);
            let first_task = graph.tasks.len() as u32;
            for &place in places {
                tasks[place] = TaskId(graph.tasks.len() as u32);
                let task = self.task(graph, place, processor, &steps);
                graph.tasks.push(task);
            }
            let end = graph.tasks.len() as u32;
            let calls = graph.calls.len() as u32;
            let kind = kind_of(graph, *lane);
            let processor = Processor { rank, kind, tasks: first_task..end, calls: calls..calls };
            graph.processors.push(processor);
        }
        self.communicate(graph, &tasks, trace.world_size());
        for &(from, to) in self.arrows {
            let (from, to) = (tasks[from], tasks[to]);
            graph.edges.push(Edge { from, to, kind: EdgeKind::Stated, lag: Nanos::default() });
            self.launch(graph, from, to);
        }
        graph.ranks.push(Rank {
            number: stated.rank,
            by: stated.by,
            source: trace.source.clone(),
            device: None,
            world_size: trace.world_size(),
            processors: first_processor..graph.processors.len() as u32,
            steps,
            steps_marked,
            launching: Launching::default(),
            oddities,
        });
    }

    fn task(
        &self,
        graph: &mut Graph,
        place: usize,
        processor: ProcessorId,
        steps: &[Step],
    ) -> Task {
        let node = &self.nodes[place];
        let number = node.count(attribute::STEP);
        let step = match number {
            Some(number) => steps.iter().position(|step| step.number == number),
            None => (steps.len() == 1).then_some(0),
        };
        let timing = self.times.timings[place];
        let known = node.duration_micros > 0 || node.count(attribute::EXACT_DURATION).is_some();
        Task {
            kind: task_kind(node),
            name: graph.names.symbol(&node.name),
            processor,
            timing: Some(timing),
            provenance: if known { Provenance::Measured } else { Provenance::Assumed },
            call: None,
            launch: None,
            collective: None,
            bytes: None,
            step: step.and_then(|step| u32::try_from(step).ok()),
        }
    }

    /// Adds what is communicated, by the time at which it begins, so that the sequence is right
    /// over streams too.
    fn communicate(&self, graph: &mut Graph, tasks: &[TaskId], world_size: Option<u32>) {
        let on_device = |&place: &usize| matches!(lane(&self.nodes[place]), Lane::Stream(_));
        let mut places: Vec<usize> = (0..self.nodes.len()).filter(on_device).collect();
        places.sort_by_key(|&place| (self.times.timings[place].start, place));
        let mut sequences = Sequences::default();
        for place in places {
            let collective =
                communication::add(graph, &self.nodes[place], &mut sequences, world_size);
            graph.links.device_work += 1;
            graph.tasks[tasks[place].0 as usize].collective = collective;
        }
    }

    /// Takes what a node of the device waits for on the host for its launch: the latest such.
    fn launch(&self, graph: &mut Graph, from: TaskId, to: TaskId) {
        let start = |task: TaskId| graph.task(task).timing.map(|timing| timing.start);
        let (host, device) = (graph.task(from), graph.task(to));
        let launches = !host.kind.is_on_device() && device.kind.is_on_device();
        if !launches || device.launch.is_some_and(|launch| start(launch) > start(from)) {
            return;
        }
        graph.links.launched += u64::from(device.launch.is_none());
        graph.tasks[to.0 as usize].launch = Some(from);
    }

    /// The steps that nodes of threads name, from their first to their last work; else one step.
    fn steps(&self) -> (Vec<Step>, bool) {
        let mut spans: BTreeMap<u64, Timing> = BTreeMap::new();
        let mut whole: Option<Timing> = None;
        for (node, timing) in self.nodes.iter().zip(&self.times.timings) {
            whole = Some(whole.map_or(*timing, |whole| joined(whole, *timing)));
            // Idle time before work of the device lies where the device was, which may lag behind.
            let on_host = matches!(lane(node), Lane::Thread(_));
            if let Some(number) = node.count(attribute::STEP).filter(|_| on_host) {
                let span = spans.entry(number).or_insert(*timing);
                *span = joined(*span, *timing);
            }
        }
        let marked = !spans.is_empty();
        if !marked {
            let whole = whole.map(|timing| (0, timing));
            spans.extend(whole);
        }
        (spans.into_iter().map(|(number, timing)| Step { number, timing }).collect(), marked)
    }
}

fn joined(one: Timing, other: Timing) -> Timing {
    let start = one.start.min(other.start);
    Timing { start, duration: one.end().max(other.end()).since(start) }
}

fn kind_of(graph: &mut Graph, lane: Lane) -> ProcessorKind {
    let process = Symbol::EMPTY;
    match lane {
        Lane::Stream(stream) => ProcessorKind::Stream { device: 0, stream },
        Lane::Thread(thread) => {
            let thread = graph.names.symbol(&thread.to_string());
            ProcessorKind::Thread { process, thread }
        }
        Lane::IdleOf(stream) => {
            let thread = graph.names.symbol(&format!("idle of stream {stream}"));
            ProcessorKind::Thread { process, thread }
        }
    }
}

fn task_kind(node: &ChakraNode) -> TaskKind {
    let written = node.text(attribute::TASK_KIND).unwrap_or_default();
    let kind = NodeType::try_from(node.kind).ok();
    if !matches!(lane(node), Lane::Stream(_)) {
        return match written.as_str() {
            "gap" | "wait" | "idle" => TaskKind::Gap,
            "runtime" => TaskKind::Runtime,
            _ => TaskKind::Op,
        };
    }
    match (kind, written.as_str()) {
        (Some(NodeType::Collective | NodeType::Send | NodeType::Receive), _) => {
            TaskKind::Collective
        }
        (_, "collective") => TaskKind::Collective,
        (Some(NodeType::MemoryLoad | NodeType::MemoryStore), _) | (_, "copy") => TaskKind::Copy,
        (_, "fill") => TaskKind::Fill,
        _ => TaskKind::Kernel,
    }
}
