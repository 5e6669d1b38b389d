//! Tasks as nodes.

use std::collections::HashSet;

use kernelgauge_data::Nanos;

use super::ExportNotes;
use super::communication;
use super::groups::ExportedGroups;
use super::ties::{Ties, begin};
use crate::chakra::{Attribute, ChakraNode, NodeType, NodeValues, attribute};
use crate::graph::{CallId, Graph, ProcessorKind, Task, TaskId, TaskKind};
use crate::time::Moment;

/// Makes the nodes of a rank.
pub(super) struct NodeWriter<'a> {
    graph: &'a Graph,
    rank: u32,
    groups: &'a ExportedGroups,
    origin: Moment,
    nodes: Vec<ChakraNode>,
    /// Ops whose inputs stand on an earlier piece of theirs.
    stated: HashSet<CallId>,
    notes: ExportNotes,
}

/// When a node begins and how long it lasts.
struct Span {
    start: Moment,
    duration: Nanos,
}

impl<'a> NodeWriter<'a> {
    pub fn new(graph: &'a Graph, rank: u32, groups: &'a ExportedGroups) -> Self {
        let starts = graph.tasks.iter().filter_map(|task| task.timing);
        let origin = starts.map(|timing| timing.start).min().unwrap_or_default();
        NodeWriter {
            graph,
            rank,
            groups,
            origin,
            nodes: Vec::new(),
            stated: HashSet::new(),
            notes: ExportNotes::default(),
        }
    }

    pub fn finished(self) -> (Vec<ChakraNode>, ExportNotes) {
        (self.nodes, self.notes)
    }

    /// Adds the node of a task, or its two.
    pub fn task(&mut self, id: TaskId, task: &Task, ties: &Ties) {
        self.notes.untimed += u64::from(task.timing.is_none());
        let start = task.timing.map_or(self.origin, |timing| timing.start);
        let own = ties.own_duration(id, task);
        if !ties.is_divided(id) {
            let mut before = ties.before_start(id);
            before.extend(ties.before_end(id));
            before.sort_unstable();
            before.dedup();
            // What is held back begins to count when it is let go.
            let end = task.timing.map_or(start, |timing| timing.end());
            let held = !ties.before_end(id).is_empty();
            let start = if held { end.shifted(-signed(own)) } else { start };
            let node = self.node(begin(id), task, before, &Span { start, duration: own });
            self.nodes.push(node);
            return;
        }
        self.notes.divided += 1;
        let until_launch = ties.until_launch(id, task);
        let first = Span { start, duration: until_launch };
        let node = self.node(begin(id), task, ties.before_start(id), &first);
        self.nodes.push(node);
        let mut before = vec![begin(id)];
        before.extend(ties.before_end(id));
        let end = task.timing.map_or(start, |timing| timing.end());
        let last = Span { start: end.shifted(-signed(own)), duration: own };
        let mut node = self.node(ties.end(id), task, before, &last);
        node.name.push_str(" (return)");
        self.nodes.push(node);
    }

    fn node(&mut self, id: u64, task: &Task, before: Vec<u64>, span: &Span) -> ChakraNode {
        let on_device = task.kind.is_on_device();
        let mut attributes = vec![Attribute::bool(attribute::IS_CPU_OP, !on_device)];
        let kind = match task.kind {
            TaskKind::Collective => self.communication(task, &mut attributes),
            _ => NodeType::Compute,
        };
        attributes.extend(self.place(task));
        let start = span.start.minus(self.origin);
        attributes.push(Attribute::int64(attribute::EXACT_START, start));
        attributes.push(Attribute::uint64(attribute::EXACT_DURATION, span.duration.get()));
        if let Some(bytes) = task.bytes {
            attributes.push(Attribute::uint64("tensor_size", bytes));
        }
        ChakraNode {
            id,
            name: self.name(task),
            kind: kind as i32,
            control_dependencies: Vec::new(),
            data_dependencies: before,
            start_time_micros: u64::try_from(start).unwrap_or(0) / 1000,
            duration_micros: micros(span.duration),
            inputs: self.inputs(task),
            outputs: None,
            attributes,
            storage: None,
        }
    }

    fn communication(&mut self, task: &Task, attributes: &mut Vec<Attribute>) -> NodeType {
        let stated = task.collective.and_then(|one| self.graph.collectives.get(one.0 as usize));
        match communication::said(self.graph, stated, self.rank, self.groups, &mut self.notes) {
            Ok(said) => {
                attributes.extend(said.attributes);
                said.kind
            }
            Err(reason) => {
                *self.notes.replayed.entry(reason).or_default() += 1;
                attributes.push(Attribute::string("replayed_because", reason));
                NodeType::Compute
            }
        }
    }

    /// The stream or thread.
    fn place(&self, task: &Task) -> Option<Attribute> {
        let processor = self.graph.processors.get(task.processor.0 as usize)?;
        match processor.kind {
            ProcessorKind::Stream { stream, .. } => {
                Some(Attribute::int64(attribute::STREAM, stream))
            }
            ProcessorKind::Thread { thread, .. } => {
                let number = self.graph.names.text(thread).parse().ok()?;
                Some(Attribute::int64(attribute::THREAD, number))
            }
        }
    }

    fn name(&self, task: &Task) -> String {
        match task.kind {
            TaskKind::Gap => "gap".to_owned(),
            TaskKind::Wait => "wait".to_owned(),
            _ => self.graph.names.text(task.name).to_owned(),
        }
    }

    /// What the op stated, on its first piece.
    fn inputs(&mut self, task: &Task) -> Option<NodeValues> {
        let id = task.call.filter(|_| task.kind == TaskKind::Op)?;
        let call = self.graph.calls.get(id.0 as usize)?;
        let facts = self.graph.ops.get(call.facts?)?;
        if !self.stated.insert(id) {
            return None;
        }
        let text = |symbol| self.graph.names.text(symbol).to_owned();
        Some(NodeValues {
            values: text(facts.values),
            shapes: text(facts.dims),
            types: text(facts.types),
        })
    }
}

/// Microseconds, rounded, and at least one for what lasts at all: consumers take a zero for
/// nothing to do.
fn micros(duration: Nanos) -> u64 {
    let nanos = duration.get();
    let rounded = nanos.saturating_add(500) / 1000;
    if nanos > 0 { rounded.max(1) } else { 0 }
}

fn signed(duration: Nanos) -> i64 {
    i64::try_from(duration.get()).unwrap_or(i64::MAX)
}
