use kernelgauge_data::Nanos;

use super::{ExportedGroups, rank};
use crate::chakra::{ChakraNode, ChakraTrace, NodeType};
use crate::graph::{CollectiveKind, Edge, EdgeKind, Graph, Group, GroupId, TaskId};
use crate::write::sample;

fn edge(from: u32, to: u32, kind: EdgeKind) -> Edge {
    Edge { from: TaskId(from), to: TaskId(to), kind, lag: Nanos::new(0) }
}

fn exported(graph: &Graph) -> (ChakraTrace, super::ExportNotes) {
    rank(graph, 0, &ExportedGroups::of(graph)).unwrap()
}

/// The nodes of a task: its beginning, and its return where it has one.
fn nodes_of(trace: &ChakraTrace, task: u64) -> Vec<&ChakraNode> {
    trace.nodes.iter().filter(|node| (node.id - 1) / 2 == task).collect()
}

#[test]
fn work_waits_for_its_launch_and_its_stream() {
    let (trace, notes) = exported(&sample::graph());
    let ids: Vec<u64> = trace.nodes.iter().map(|node| node.id).collect();
    assert_eq!(ids, [1, 3, 5, 7]);
    assert_eq!(trace.nodes[1].data_dependencies, [1]);
    assert_eq!(trace.nodes[2].data_dependencies, [3]);
    assert_eq!(trace.nodes[3].data_dependencies, [5]);
    assert_eq!(trace.nodes.iter().filter(|node| node.is_cpu_op() == Some(true)).count(), 2);
    assert_eq!((notes.nodes, notes.communications, notes.divided), (4, 1, 0));
    assert!(notes.replayed.is_empty());
    assert_eq!(trace.nodes[0].inputs.as_ref().unwrap().shapes, "[[2,3],[3,4]]");
}

#[test]
fn times_are_microseconds_with_exact_nanoseconds_beside() {
    let (trace, _) = exported(&sample::graph());
    let kernel = &trace.nodes[2];
    assert_eq!((kernel.start_time_micros, kernel.duration_micros), (12, 8));
    assert_eq!(kernel.integer("start_time_ns"), Some(12_001));
    assert_eq!(kernel.integer("duration_ns"), Some(7_999));
    let mut short = sample::graph();
    short.tasks[2].timing.as_mut().unwrap().duration = Nanos::new(1);
    assert_eq!(exported(&short).0.nodes[2].duration_micros, 1);
}

#[test]
fn a_collective_says_kind_bytes_and_group() {
    let (trace, _) = exported(&sample::graph());
    let node = &trace.nodes[3];
    assert_eq!(node.kind, NodeType::Collective as i32);
    assert_eq!((node.integer("comm_type"), node.integer("comm_size")), (Some(0), Some(64)));
    assert_eq!((node.text("pg_name").as_deref(), node.integer("stream")), (Some("0"), Some(20)));
}

#[test]
fn a_synchronisation_waits_for_the_work_and_lasts_for_the_rest() {
    let mut graph = sample::graph();
    // The call that launches nothing now returns 500 ns after the kernel.
    graph.edges = vec![edge(2, 1, EdgeKind::Sync)];
    graph.tasks[2].timing.as_mut().unwrap().start = crate::Moment::new(1_000_000_000);
    graph.tasks[2].timing.as_mut().unwrap().duration = Nanos::new(6_000);
    let (trace, notes) = exported(&graph);
    let call = nodes_of(&trace, 1);
    assert_eq!((call.len(), notes.divided), (1, 0));
    assert_eq!(call[0].data_dependencies, [1, 5]);
    assert_eq!(call[0].integer("duration_ns"), Some(500));
    assert_eq!(call[0].integer("start_time_ns"), Some(6_000));
}

#[test]
fn a_call_that_waits_for_what_it_launches_becomes_two_nodes() {
    let mut graph = sample::graph();
    graph.edges.push(edge(2, 1, EdgeKind::Sync));
    graph.tasks[1].timing.as_mut().unwrap().duration = Nanos::new(16_000);
    let (trace, notes) = exported(&graph);
    let call = nodes_of(&trace, 1);
    assert_eq!((call.len(), notes.divided), (2, 1));
    assert_eq!((call[0].id, &call[0].data_dependencies[..]), (3, &[1][..]));
    assert_eq!(call[0].integer("duration_ns"), Some(7_001));
    assert_eq!((call[1].id, &call[1].data_dependencies[..]), (4, &[3, 5][..]));
    assert_eq!(call[1].integer("duration_ns"), Some(1_000));
    assert_eq!(nodes_of(&trace, 2)[0].data_dependencies, [3]);
}

#[test]
fn what_no_simulator_knows_is_replayed_and_counted() {
    let mut graph = sample::graph();
    graph.collectives[0].kind = Some(CollectiveKind::Barrier);
    let (trace, notes) = exported(&graph);
    assert_eq!(trace.nodes[3].kind, NodeType::Compute as i32);
    assert_eq!(trace.nodes[3].is_cpu_op(), Some(false));
    assert_eq!(notes.replayed["barrier is not simulated"], 1);
    graph.collectives[0].kind = Some(CollectiveKind::AllToAllV);
    graph.collectives[0].bytes_in = None;
    graph.collectives[0].bytes_out = None;
    assert_eq!(exported(&graph).1.replayed["its bytes are not known"], 1);
}

#[test]
fn a_transfer_says_both_ranks() {
    let mut graph = sample::graph();
    graph.collectives[0].kind = Some(CollectiveKind::Send);
    graph.collectives[0].peer = Some(1);
    let (trace, _) = exported(&graph);
    let node = &trace.nodes[3];
    assert_eq!(node.kind, NodeType::Send as i32);
    let number = |name| node.integer(name);
    assert_eq!((number("comm_src"), number("comm_dst")), (Some(3), Some(1)));
    assert_eq!((number("comm_size"), number("comm_tag")), (Some(64), Some(5)));
}

#[test]
fn groups_of_the_same_ranks_share_a_number() {
    let mut graph = sample::graph();
    let name = graph.names.symbol("tensor parallel");
    let group =
        |size, ranks: &[u32]| Group { name, description: name, size, ranks: ranks.to_vec() };
    graph.groups.extend([
        group(Some(2), &[0, 2]),
        group(Some(2), &[1, 3]),
        group(Some(2), &[2, 0]),
        group(Some(2), &[]),
        group(Some(4), &[]),
    ]);
    let groups = ExportedGroups::of(&graph);
    let numbers: Vec<_> = (0..6).map(|place| groups.number(GroupId(place))).collect();
    assert_eq!(numbers, [Some(0), Some(1), Some(2), Some(1), None, Some(0)]);
    assert_eq!(groups.json(), "{\"1\":[0,2],\"2\":[1,3]}\n");
}

#[test]
fn work_that_waits_for_itself_is_refused() {
    let mut graph = sample::graph();
    graph.edges.push(edge(3, 2, EdgeKind::Event));
    let error = rank(&graph, 0, &ExportedGroups::of(&graph)).unwrap_err().to_string();
    assert_eq!(
        error,
        "sample: 2 pieces of work wait for each other, such as 5 (gemm<\"a\">), 7 (all_reduce)"
    );
}
