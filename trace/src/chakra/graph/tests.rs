//! Traces made by hand and by the exporter, as graphs.

use super::*;
use crate::chakra::{Attribute, ChakraNode, NodeType, export};
use crate::graph::{EdgeKind, ProcessorKind, TaskKind, check};
use crate::write::sample;

fn node(id: u64, on_host: bool, micros: u64, after: &[u64]) -> ChakraNode {
    ChakraNode {
        id,
        name: format!("node {id}"),
        kind: NodeType::Compute as i32,
        data_dependencies: after.to_vec(),
        duration_micros: micros,
        attributes: vec![Attribute::bool("is_cpu_op", on_host), Attribute::int64("tid", 7)],
        ..ChakraNode::default()
    }
}

fn trace(nodes: Vec<ChakraNode>) -> ChakraTrace {
    ChakraTrace { source: "a.et".to_owned(), nodes, ..ChakraTrace::default() }
}

fn times(graph: &Graph) -> Vec<(&str, i64, u64)> {
    let tasks = graph.tasks.iter().filter_map(|task| {
        let timing = task.timing?;
        Some((graph.names.text(task.name), timing.start.get(), timing.duration.get()))
    });
    tasks.collect()
}

#[test]
fn without_starts_work_begins_as_soon_as_it_can() {
    let nodes = vec![
        node(1, true, 5, &[]),
        node(2, false, 9, &[1]),
        node(3, true, 2, &[1, 77]),
        node(4, false, 1, &[3]),
    ];
    let graph = graph(vec![(None, trace(nodes))]).unwrap();
    assert_eq!(check::flaws(&graph), []);
    let expected = [
        ("node 1", 0, 5_000),
        ("node 3", 5_000, 2_000),
        ("node 2", 5_000, 9_000),
        ("node 4", 14_000, 1_000),
    ];
    assert_eq!(times(&graph), expected);
    assert_eq!(graph.edges.len(), 3);
    assert!(graph.edges.iter().all(|edge| edge.kind == EdgeKind::Stated));
    assert_eq!(graph.ranks[0].oddities.unknown_dependencies, 1);
    let stream = ProcessorKind::Stream { device: 0, stream: 7 };
    assert_eq!(graph.processors[1].kind, stream);
    assert_eq!((graph.links.device_work, graph.links.launched), (2, 2));
    assert_eq!(graph.tasks[3].kind, TaskKind::Kernel);
}

#[test]
fn a_thread_does_one_thing_at_a_time() {
    let mut nodes = vec![node(1, true, 5, &[]), node(2, true, 2, &[])];
    nodes[0].start_time_micros = 10;
    nodes[1].start_time_micros = 12;
    let graph = graph(vec![(None, trace(nodes))]).unwrap();
    assert_eq!(check::flaws(&graph), []);
    assert_eq!(times(&graph), [("node 1", 10_000, 5_000), ("node 2", 15_000, 2_000)]);
    assert_eq!(graph.links.overlaps, 1);
}

#[test]
fn collectives_of_ranks_meet() {
    let rank = |number: i64, micros| {
        let mut nodes = vec![node(1, false, micros, &[])];
        nodes[0].kind = NodeType::Collective as i32;
        nodes[0].attributes.push(Attribute::int64("comm_type", 6));
        nodes[0].attributes.push(Attribute::int64("comm_size", 64));
        let mut trace = trace(nodes);
        let attributes = vec![Attribute::int64("rank", number)];
        trace.metadata = Some(crate::chakra::GlobalMetadata { version: String::new(), attributes });
        (None, trace)
    };
    let graph = graph(vec![rank(1, 5), rank(0, 9)]).unwrap();
    let numbers: Vec<u32> = graph.ranks.iter().map(|rank| rank.number).collect();
    assert_eq!(numbers, [0, 1]);
    assert_eq!(graph.rendezvous.len(), 1);
    assert_eq!(graph.rendezvous[0].members.len(), 2);
    let collective = &graph.collectives[0];
    assert_eq!((collective.bytes_in, collective.sequence), (Some(64), Some(0)));
    assert_eq!(graph.links.described_collectives, 2);
    assert_eq!(check::flaws(&graph), []);
}

#[test]
fn circles_and_doubled_ids_are_refused() {
    let refused = |nodes| graph(vec![(None, trace(nodes))]).unwrap_err().to_string();
    let circle = vec![node(1, true, 1, &[2]), node(2, true, 1, &[1]), node(3, true, 1, &[])];
    assert_eq!(refused(circle), "a.et: nodes 1, 2: 2 nodes wait for each other");
    let doubled = vec![node(1, true, 1, &[]), node(1, true, 1, &[])];
    assert_eq!(refused(doubled), "a.et: node 1: two nodes have this id");
}

#[test]
fn an_export_is_read_back_as_it_was() {
    let before = sample::graph();
    let groups = export::GroupNumbers::of(&before);
    let (trace, _) = export::rank(&before, &groups, 0).unwrap();
    let after = graph(vec![(None, trace)]).unwrap();
    assert_eq!(check::flaws(&after), []);
    assert_eq!(after.ranks[0].number, 3);
    assert_eq!(after.ranks[0].steps[0].number, 7);
    let shifted: Vec<_> = times(&before)
        .into_iter()
        .map(|(name, start, duration)| (name, start - 1_000_000_000, duration))
        .collect();
    assert_eq!(times(&after), shifted);
    let kinds = |graph: &Graph| graph.tasks.iter().map(|task| task.kind).collect::<Vec<_>>();
    assert_eq!(kinds(&after), kinds(&before));
    assert_eq!(after.collectives[0].kind, before.collectives[0].kind);
}
