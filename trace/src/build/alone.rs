//! A rank of which only an execution trace is known: its operators in order, without times.

use std::collections::{BTreeMap, HashSet};

use kernelgauge_data::Nanos;

use crate::execution::{ExecutionTrace, NodeKind};
use crate::graph::{
    Call, CallId, CallKind, Edge, EdgeKind, Graph, Launching, Processor, ProcessorId,
    ProcessorKind, Provenance, Rank, Task, TaskId, TaskKind,
};
use crate::recording::RankSource;

/// Adds a rank whose tasks are the innermost operators of an execution trace, thread by thread.
pub fn add(graph: &mut Graph, execution: &ExecutionTrace) {
    let rank = graph.ranks.len() as u32;
    let first_processor = graph.processors.len() as u32;
    let mut threads: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (place, node) in execution.nodes.iter().enumerate() {
        if matches!(node.kind, NodeKind::Operator | NodeKind::Annotation) {
            threads.entry(node.thread).or_default().push(place);
        }
    }
    for (number, places) in threads {
        thread(graph, execution, rank, number, &places);
    }
    graph.ranks.push(Rank {
        number: execution.rank.map_or(rank, |stated| stated.rank),
        by: execution.rank.map_or(RankSource::Order, |stated| stated.by),
        source: execution.source.clone(),
        device: None,
        world_size: None,
        processors: first_processor..graph.processors.len() as u32,
        steps: Vec::new(),
        steps_marked: false,
        launching: Launching::default(),
        oddities: execution.oddities.clone(),
    });
}

fn thread(graph: &mut Graph, execution: &ExecutionTrace, rank: u32, number: i64, places: &[usize]) {
    let processor = ProcessorId(graph.processors.len() as u32);
    let (first_call, first_task) = (graph.calls.len() as u32, graph.tasks.len() as u32);
    let mut ids: BTreeMap<usize, CallId> = BTreeMap::new();
    let outer = outer(execution, places);
    for &place in places {
        let node = &execution.nodes[place];
        let id = CallId(graph.calls.len() as u32);
        ids.insert(place, id);
        let facts = super::nodes::facts(&mut graph.names, node, &execution.names);
        let operator = node.kind == NodeKind::Operator;
        let name = graph.names.symbol(execution.names.text(node.name));
        graph.calls.push(Call {
            kind: if operator { CallKind::Op } else { CallKind::Annotation },
            name,
            processor,
            timing: None,
            parent: ids.get(&node.parent).copied(),
            facts: graph.ops.row(facts),
            sequence: node.sequence,
            record_function: node.record_function,
            node: Some(node.id),
            step: None,
        });
        graph.links.ops += u64::from(operator);
        if operator && !outer.contains(&place) {
            task(graph, processor, first_task, id, name);
        }
    }
    let thread = graph.names.symbol(&number.to_string());
    graph.processors.push(Processor {
        rank,
        kind: ProcessorKind::Thread { process: crate::Symbol::EMPTY, thread },
        tasks: first_task..graph.tasks.len() as u32,
        calls: first_call..graph.calls.len() as u32,
    });
}

/// The nodes around operators.
fn outer(execution: &ExecutionTrace, places: &[usize]) -> HashSet<usize> {
    let mut outer = HashSet::new();
    let operators =
        places.iter().filter(|&&place| execution.nodes[place].kind == NodeKind::Operator);
    for &place in operators {
        let mut around = execution.nodes[place].parent;
        // The first node is its own parent; above what was seen everything was seen.
        while around < execution.nodes.len() && outer.insert(around) {
            around = execution.nodes[around].parent;
        }
    }
    outer
}

fn task(graph: &mut Graph, processor: ProcessorId, first: u32, call: CallId, name: crate::Symbol) {
    let id = TaskId(graph.tasks.len() as u32);
    if id.0 > first {
        let from = TaskId(id.0 - 1);
        graph.edges.push(Edge { from, to: id, kind: EdgeKind::Thread, lag: Nanos::new(0) });
    }
    graph.tasks.push(Task {
        kind: TaskKind::Op,
        name,
        processor,
        timing: None,
        provenance: Provenance::Assumed,
        call: Some(call),
        launch: None,
        collective: None,
        bytes: None,
        step: None,
    });
}
