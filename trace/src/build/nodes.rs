//! Finds the nodes of an execution trace among the calls of its rank.
//!
//! Recorder and profiler share a number (`rf_id`, `Record function id`) since 2023. Older pairs
//! do not: there, threads are matched by the names of their ops in order.

mod align;

use std::collections::HashMap;

use crate::execution::{ExecutionTrace, Node, NodeKind};
use crate::graph::{CallId, CallKind, Graph};
use crate::names::{Names, Symbol};
use crate::recording::{CollectiveFacts, OpFacts};

/// Ties calls of a rank to nodes: [`Call::node`](crate::graph::Call::node), and their inputs
/// where the profiler did not record shapes.
pub fn link(graph: &mut Graph, rank: u32, execution: &ExecutionTrace) {
    let by_number = by_number(graph, rank, execution);
    let wanted =
        execution.nodes.iter().filter(|node| node.kind == NodeKind::Operator).count() as u64;
    let pairs = match 2 * operators(execution, &by_number) >= wanted {
        true => by_number,
        false => by_order(graph, rank, execution),
    };
    graph.links.nodes_wanted += wanted;
    graph.links.nodes += operators(execution, &pairs);
    for (call, place) in pairs {
        take(graph, call, &execution.nodes[place], &execution.names);
    }
}

/// What the node of a call says of a collective.
pub fn collective<'a>(
    graph: &Graph,
    call: CallId,
    execution: &'a ExecutionTrace,
) -> Option<(&'a CollectiveFacts, &'a Names)> {
    let id = graph.call(call).node?;
    let place = execution.nodes.binary_search_by_key(&id, |node| node.id).ok()?;
    let facts = execution.collectives.get(execution.nodes[place].collective?)?;
    Some((facts, &execution.names))
}

fn operators(execution: &ExecutionTrace, pairs: &[(CallId, usize)]) -> u64 {
    let operator = |place: &usize| execution.nodes[*place].kind == NodeKind::Operator;
    pairs.iter().filter(|(_, place)| operator(place)).count() as u64
}

/// The ops and annotations of a rank, thread by thread.
fn threads(graph: &Graph, rank: u32) -> Vec<Vec<CallId>> {
    let threads = graph.threads_of(rank).map(|(_, thread)| thread.calls.clone());
    let host = |call: &CallId| graph.call(*call).kind != CallKind::Runtime;
    threads.map(|calls| calls.map(CallId).filter(host).collect()).collect()
}

fn by_number(graph: &Graph, rank: u32, execution: &ExecutionTrace) -> Vec<(CallId, usize)> {
    let mut places: HashMap<i64, usize> = HashMap::new();
    for (place, node) in execution.nodes.iter().enumerate() {
        if let Some(number) = node.record_function.filter(|&number| number > 0) {
            places.entry(number).or_insert(place);
        }
    }
    let mut pairs = Vec::new();
    for call in threads(graph, rank).into_iter().flatten() {
        let this = graph.call(call);
        let Some(number) = this.record_function.filter(|&number| number > 0) else { continue };
        let Some(&place) = places.get(&number) else { continue };
        if execution.names.text(execution.nodes[place].name) == graph.names.text(this.name) {
            pairs.push((call, place));
        }
    }
    // A number that many calls share is no number: some builds write 0 or 1 everywhere.
    let mut seen = HashMap::new();
    for (_, place) in &pairs {
        *seen.entry(*place).or_insert(0) += 1;
    }
    pairs.retain(|(_, place)| seen.get(place) == Some(&1));
    pairs
}

fn by_order(graph: &Graph, rank: u32, execution: &ExecutionTrace) -> Vec<(CallId, usize)> {
    let mut recorded: HashMap<i64, Vec<usize>> = HashMap::new();
    for (place, node) in execution.nodes.iter().enumerate() {
        if matches!(node.kind, NodeKind::Operator | NodeKind::Annotation) {
            recorded.entry(node.thread).or_default().push(place);
        }
    }
    let mut recorded: Vec<Vec<usize>> = recorded.into_values().collect();
    recorded.sort_by_key(|nodes| (std::cmp::Reverse(nodes.len()), nodes.first().copied()));
    let mut threads: Vec<Option<Vec<CallId>>> =
        threads(graph, rank).into_iter().map(Some).collect();
    let mut pairs = Vec::new();
    for nodes in recorded {
        let name =
            |place: &usize| graph.names.find(execution.names.text(execution.nodes[*place].name));
        let wanted: Vec<Option<Symbol>> = nodes.iter().map(name).collect();
        let found = threads.iter().enumerate().filter_map(|(thread, calls)| {
            let names: Vec<Option<Symbol>> =
                calls.as_ref()?.iter().map(|call| Some(graph.call(*call).name)).collect();
            Some((thread, align::align(&wanted, &names)))
        });
        // The last of equals is taken: backwards that is the first thread.
        let longest = found.rev().max_by_key(|(_, matched)| matched.len());
        let Some((thread, matched)) = longest else { continue };
        let Some(calls) = threads.get_mut(thread).and_then(Option::take) else { continue };
        pairs.extend(matched.into_iter().map(|(node, call)| (calls[call], nodes[node])));
    }
    pairs
}

fn take(graph: &mut Graph, call: CallId, node: &Node, names: &Names) {
    let stated = graph.call(call).facts.and_then(|row| graph.ops.get(row));
    let known = stated.is_some_and(|facts| !facts.dims.is_empty() && !facts.values.is_empty());
    if !known && !node.inputs.types.is_empty() {
        let facts = facts(&mut graph.names, node, names);
        let row = graph.ops.row(facts);
        let this = &mut graph.calls[call.0 as usize];
        this.facts = row.or(this.facts);
    }
    let this = &mut graph.calls[call.0 as usize];
    this.node = Some(node.id);
    this.sequence = this.sequence.or(node.sequence);
}

/// The inputs of a node, as an op states them.
pub fn facts(to: &mut Names, node: &Node, names: &Names) -> OpFacts {
    let mut text = |symbol| to.symbol(names.text(symbol));
    OpFacts {
        dims: text(node.inputs.shapes),
        types: text(node.inputs.types),
        values: text(node.inputs.values),
        strides: text(node.inputs.strides),
        forward_thread: node.forward_thread.unwrap_or(0),
        backend: text(node.backend),
        collective: None,
    }
}
