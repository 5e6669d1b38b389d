//! Each rule, broken by one change to a trace that keeps them all.

use super::*;
use crate::chakra::{Attribute, ChakraNode, CollectiveType, GlobalMetadata, NodeType};

fn node(id: u64, kind: NodeType, on_host: bool, after: &[u64]) -> ChakraNode {
    ChakraNode {
        id,
        name: format!("node {id}"),
        kind: kind as i32,
        data_dependencies: after.to_vec(),
        start_time_micros: id,
        duration_micros: 1,
        attributes: vec![Attribute::bool("is_cpu_op", on_host)],
        ..ChakraNode::default()
    }
}

fn sound() -> ChakraTrace {
    let mut nodes = vec![
        node(1, NodeType::Compute, true, &[]),
        node(2, NodeType::Compute, false, &[1]),
        node(3, NodeType::Collective, false, &[1, 2]),
        node(4, NodeType::Send, false, &[1, 3]),
    ];
    for node in &mut nodes[1..] {
        node.attributes.push(Attribute::int64("stream", 7));
    }
    nodes[2].attributes.extend([
        Attribute::int64("comm_type", CollectiveType::AllReduce as i64),
        Attribute::int64("comm_size", 64),
        Attribute::string("pg_name", "0"),
    ]);
    nodes[3].attributes.extend([
        Attribute::int32("comm_src", 0),
        Attribute::int32("comm_dst", 1),
        Attribute::int64("comm_size", 64),
        Attribute::int32("comm_tag", 0),
    ]);
    ChakraTrace { metadata: Some(GlobalMetadata::default()), nodes, ..ChakraTrace::default() }
}

/// What is violated after a change.
fn after(change: impl FnOnce(&mut ChakraTrace)) -> Vec<(Rule, Option<u64>)> {
    let mut trace = sound();
    change(&mut trace);
    check(&trace).into_iter().map(|violation| (violation.rule, violation.node)).collect()
}

fn without(trace: &mut ChakraTrace, place: usize, name: &str) {
    trace.nodes[place].attributes.retain(|attribute| attribute.name != name);
}

#[test]
fn a_sound_trace_violates_nothing() {
    assert_eq!(check(&sound()), []);
}

#[test]
fn every_rule_is_checked() {
    assert_eq!(after(|trace| trace.metadata = None), [(Rule::Metadata, None)]);
    assert_eq!(after(|trace| without(trace, 0, "is_cpu_op")), [(Rule::Side, Some(1))]);
    for needed in ["comm_type", "comm_size", "pg_name"] {
        assert_eq!(after(|trace| without(trace, 2, needed)), [(Rule::Collective, Some(3))]);
    }
    for needed in ["comm_src", "comm_dst", "comm_size", "comm_tag"] {
        assert_eq!(after(|trace| without(trace, 3, needed)), [(Rule::Transfer, Some(4))]);
    }
    let empty = |trace: &mut ChakraTrace| trace.nodes[1].duration_micros = 0;
    assert_eq!(after(empty), [(Rule::Duration, Some(2))]);
    let twice = |trace: &mut ChakraTrace| trace.nodes.push(node(1, NodeType::Compute, true, &[]));
    assert_eq!(after(twice), [(Rule::UniqueId, Some(1))]);
    let missing = |trace: &mut ChakraTrace| trace.nodes[0].control_dependencies.push(9);
    assert_eq!(after(missing), [(Rule::Dependency, Some(1))]);
    let circle = |trace: &mut ChakraTrace| trace.nodes[0].data_dependencies.push(4);
    assert_eq!(after(circle), [(Rule::Acyclic, Some(1))]);
    let loose = |trace: &mut ChakraTrace| trace.nodes[2].data_dependencies = vec![1];
    assert_eq!(after(loose), [(Rule::StreamOrder, Some(3))]);
}

#[test]
fn values_are_checked_too() {
    let set = |place: usize, attribute: Attribute| {
        move |trace: &mut ChakraTrace| {
            without(trace, place, &attribute.name);
            trace.nodes[place].attributes.push(attribute);
        }
    };
    let named = after(set(2, Attribute::string("pg_name", "default_pg")));
    assert_eq!(named, [(Rule::Collective, Some(3))]);
    assert_eq!(after(set(2, Attribute::string("pg_name", ""))), []);
    let barrier = Attribute::int64("comm_type", CollectiveType::Barrier as i64);
    assert_eq!(after(set(2, barrier)), [(Rule::ReplayedCollective, Some(3))]);
    let on_host = after(set(3, Attribute::bool("is_cpu_op", true)));
    assert_eq!(on_host, [(Rule::CommunicationOnDevice, Some(4))]);
    let nothing = |trace: &mut ChakraTrace| {
        trace.nodes[0].duration_micros = 0;
        trace.nodes[0].attributes.push(Attribute::uint64("duration_ns", 0));
    };
    assert_eq!(after(nothing), []);
}

#[test]
fn a_long_chain_does_not_exhaust_the_stack() {
    let trace = ChakraTrace {
        metadata: Some(GlobalMetadata::default()),
        nodes: (1..=200_000).map(|id| node(id, NodeType::Compute, true, &[id - 1][..])).collect(),
        ..ChakraTrace::default()
    };
    let violations = check(&trace);
    assert_eq!(violations.len(), 1);
    assert_eq!(
        violations[0].to_string(),
        "node 1: it depends on node 0, which is not there (dependencies are nodes of the trace)"
    );
}
