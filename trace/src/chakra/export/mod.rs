//! A graph as Chakra traces, one for each rank, that keep every rule of [`rules`](super::rules).
//!
//! Dependencies are all data dependencies: thread and stream order, launches, events,
//! synchronisations, wake-ups, what was stated. Gaps of threads stay, as computation of the
//! host, and so does idle time of streams that nothing explains. Collectives that simulators replay are collectives on the device's side; others are
//! computation that takes as long as was recorded, and counted with the reason.
//!
//! What Chakra cannot say: that a kernel waits for the start of its launch (it waits for the end
//! of the call here, or of the part of it before the kernel began), and how long launches take to
//! arrive.

mod communication;
mod groups;
mod idle;
mod micros;
pub(super) mod order;
mod parts;
#[cfg(test)]
mod tests;
mod units;

use std::collections::{BTreeMap, BTreeSet};

pub use communication::Reason;
pub use groups::GroupNumbers;

use self::communication::{Said, Tags};
use self::micros::Rounding;
use self::units::{Unit, Units};
use super::ChakraTrace;
use super::attribute;
use super::message::{ChakraNode, GlobalMetadata, NodeType};
use super::value::Attribute;
use crate::error::TraceError;
use crate::graph::{Graph, ProcessorKind, Rank, Task, TaskKind};
use crate::time::Moment;

/// The version of the schema that is written.
pub const VERSION: &str = "0.0.4";

/// What became of a rank's tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// Collectives and transfers that are such.
    pub communication: u64,
    /// Those that became computation, by the reason.
    pub computation_instead: BTreeMap<Reason, u64>,
    /// Collectives of no stated group; all ranks are assumed.
    pub assumed_all_ranks: u64,
    /// All-to-alls of uneven parts; only the sum of the parts is kept.
    pub uneven: u64,
    /// Tasks without times, which take none.
    pub untimed: u64,
    /// Calls that launch and then wait or go on, which became two nodes.
    pub split: u64,
    /// Times in which a stream or thread was idle for no known reason, as nodes of their own.
    pub unexplained_idle: u64,
}

/// The trace of the rank at `place` among the ranks of a graph.
///
/// # Errors
///
/// [`TraceError`] when the rank has no times at all, or its tasks wait for each other.
pub fn rank(
    graph: &Graph,
    groups: &GroupNumbers,
    place: usize,
) -> Result<(ChakraTrace, Exported), TraceError> {
    let Some(rank) = graph.ranks.get(place) else {
        return Err(TraceError::unusable("the graph", format!("there is no rank at {place}"), ""));
    };
    let units = units::of(graph, rank).map_err(|stuck| {
        let problem = format!("{stuck} tasks of rank {} wait for each other", rank.number);
        TraceError::unusable(&rank.source, problem, "")
    })?;
    let timings = units.units.iter().filter_map(|unit| graph.task(unit.task).timing);
    let Some(origin) = timings.map(|timing| timing.start).min() else {
        let hint = "an execution trace has no durations: give the profiler's trace with it";
        return Err(TraceError::unusable(&rank.source, "there are no times to write", hint));
    };
    let mut export = Export {
        graph,
        groups,
        rank,
        origin,
        exported: Exported::default(),
        rounding: Rounding::default(),
        tags: Tags::default(),
        streams: stream_numbers(graph, rank),
    };
    let nodes = export.nodes(&idle::keep(graph, units, origin));
    let number = i64::from(rank.number);
    let metadata = GlobalMetadata {
        version: VERSION.to_owned(),
        attributes: [("rank", Some(number)), ("world_size", rank.world_size.map(i64::from))]
            .into_iter()
            .filter_map(|(name, value)| Some(Attribute::int64(name, value?)))
            .collect(),
    };
    let trace = ChakraTrace {
        source: rank.source.clone(),
        metadata: Some(metadata),
        nodes,
        unknown_fields: 0,
    };
    Ok((trace, export.exported))
}

struct Export<'a> {
    graph: &'a Graph,
    groups: &'a GroupNumbers,
    rank: &'a Rank,
    origin: Moment,
    exported: Exported,
    rounding: Rounding,
    tags: Tags,
    /// The number of each stream in the trace.
    streams: BTreeMap<(i64, i64), i64>,
}

/// Numbers for the streams of a rank: their own, but where two devices have one of the same
/// number, which the format cannot tell apart, the next free one.
fn stream_numbers(graph: &Graph, rank: &Rank) -> BTreeMap<(i64, i64), i64> {
    let processors = rank.processors.start as usize..rank.processors.end as usize;
    let streams = graph.processors.get(processors).unwrap_or_default().iter();
    let streams: Vec<(i64, i64)> = streams
        .filter_map(|processor| match processor.kind {
            ProcessorKind::Stream { device, stream } => Some((device, stream)),
            ProcessorKind::Thread { .. } => None,
        })
        .collect();
    let mut taken: BTreeSet<i64> = BTreeSet::new();
    let mut numbers = BTreeMap::new();
    let mut free = streams.iter().map(|&(_, stream)| stream).max().unwrap_or(0);
    for (device, stream) in streams {
        let number = if taken.insert(stream) {
            stream
        } else {
            free = free.saturating_add(1);
            free
        };
        numbers.insert((device, stream), number);
    }
    numbers
}

impl Export<'_> {
    fn nodes(&mut self, units: &Units) -> Vec<ChakraNode> {
        let numbered = (1u64..).zip(units.units.iter().zip(&units.before));
        // Ids are places in the file, from 1.
        let id = |place: &usize| *place as u64 + 1;
        numbered.map(|(own, (unit, before))| self.node(own, unit, before.iter().map(id))).collect()
    }

    fn node(&mut self, id: u64, unit: &Unit, before: impl Iterator<Item = u64>) -> ChakraNode {
        let task = self.graph.task(unit.task);
        let mut attributes = self.common(task, unit);
        let mut kind = NodeType::Compute;
        let said = if unit.idle { None } else { self.communication(task) };
        if let Some(said) = said {
            kind = said.kind;
            attributes.extend(said.attributes);
        }
        self.exported.unexplained_idle += u64::from(unit.idle);
        self.exported.split += u64::from(unit.waits && !unit.idle);
        self.exported.untimed += u64::from(task.timing.is_none());
        let name = self.graph.names.text(task.name);
        ChakraNode {
            id,
            name: match unit {
                Unit { idle: true, .. } => format!("idle before {name}"),
                Unit { waits: true, .. } => format!("{name} (wait)"),
                _ => name.to_owned(),
            },
            kind: kind as i32,
            data_dependencies: before.collect(),
            start_time_micros: self.start(unit) / 1000,
            duration_micros: self.rounding.micros(task.processor, unit.duration),
            attributes,
            ..ChakraNode::default()
        }
    }

    fn common(&self, task: &Task, unit: &Unit) -> Vec<Attribute> {
        let processor = self.graph.processor(task.processor);
        let on_device = matches!(processor.kind, ProcessorKind::Stream { .. }) && !unit.idle;
        let mut attributes = vec![Attribute::bool(attribute::IS_CPU_OP, !on_device)];
        match processor.kind {
            ProcessorKind::Stream { device, stream } => {
                let number = self.streams.get(&(device, stream)).copied().unwrap_or(stream);
                attributes.push(Attribute::int64(attribute::STREAM, number));
            }
            ProcessorKind::Thread { thread, .. } => {
                let written = self.graph.names.text(thread).parse();
                let number = written.unwrap_or_else(|_| i64::from(task.processor.0));
                attributes.push(Attribute::int64(attribute::THREAD, number));
            }
        }
        attributes.push(Attribute::uint64(attribute::EXACT_START, self.start(unit)));
        attributes.push(Attribute::uint64(attribute::EXACT_DURATION, unit.duration));
        let recorded = task.timing.map_or(0, |timing| timing.end().since(unit.starts).get());
        if recorded != unit.duration && unit.is_last && !unit.idle {
            attributes.push(Attribute::uint64(attribute::RECORDED_DURATION, recorded));
        }
        let kind = if unit.idle { "idle" } else { task.kind.name() };
        attributes.push(Attribute::string(attribute::TASK_KIND, kind));
        let step = task.step.and_then(|step| self.rank.steps.get(step as usize));
        if let Some(step) = step {
            attributes.push(Attribute::uint64(attribute::STEP, step.number));
        }
        attributes
    }

    /// What a collective says; none for other work and for what became computation.
    fn communication(&mut self, task: &Task) -> Option<Said> {
        let on_stream =
            matches!(self.graph.processor(task.processor).kind, ProcessorKind::Stream { .. });
        if task.kind != TaskKind::Collective || !on_stream {
            return None;
        }
        let said = match task.collective {
            None => Err(Reason::UnknownKind),
            Some(id) => {
                let collective = self.graph.collective(id);
                communication::say(collective, self.rank.number, self.groups, &mut self.tags)
            }
        };
        match said {
            Ok(said) => {
                self.exported.communication += 1;
                self.exported.assumed_all_ranks += u64::from(said.assumed_all);
                self.exported.uneven += u64::from(said.uneven);
                Some(said)
            }
            Err(reason) => {
                *self.exported.computation_instead.entry(reason).or_insert(0) += 1;
                None
            }
        }
    }

    /// Nanoseconds from the first task of the rank.
    fn start(&self, unit: &Unit) -> u64 {
        unit.starts.since(self.origin).get()
    }
}
