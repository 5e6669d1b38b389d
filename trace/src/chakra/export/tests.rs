//! Small graphs, exported.

use kernelgauge_data::Nanos;

use super::*;
use crate::chakra::{attribute, rules};
use crate::graph::Edge;
use crate::graph::{CollectiveKind, EdgeKind, TaskId};
use crate::write::sample;

fn exported(graph: &Graph) -> (ChakraTrace, Exported) {
    let (trace, exported) = rank(graph, &GroupNumbers::of(graph), 0).unwrap();
    assert_eq!(rules::check(&trace), []);
    (trace, exported)
}

fn edge(from: u32, to: u32, kind: EdgeKind, lag: u64) -> Edge {
    Edge { from: TaskId(from), to: TaskId(to), kind, lag: Nanos::new(lag) }
}

fn named<'a>(trace: &'a ChakraTrace, name: &str) -> &'a ChakraNode {
    trace.nodes.iter().find(|node| node.name.starts_with(name)).unwrap()
}

#[test]
fn a_sample_keeps_the_rules() {
    let (trace, exported) = exported(&sample::graph());
    assert_eq!(trace.nodes.len(), 4);
    let kernel = named(&trace, "gemm");
    assert_eq!((kernel.start_time_micros, kernel.duration_micros), (12, 8));
    assert_eq!((kernel.exact_start(), kernel.exact_duration()), (12_001, 7_999));
    assert_eq!((kernel.is_cpu_op(), kernel.stream()), (Some(false), Some(7)));
    assert_eq!(kernel.data_dependencies, [named(&trace, "cudaLaunchKernel").id]);
    let collective = named(&trace, "all_reduce");
    assert_eq!(collective.kind, NodeType::Collective as i32);
    assert_eq!(collective.integer(attribute::COMMUNICATION_TYPE), Some(0));
    assert_eq!(collective.integer(attribute::COMMUNICATION_SIZE), Some(64));
    assert_eq!(collective.text(attribute::GROUP).as_deref(), Some("0"));
    assert_eq!(collective.data_dependencies, [kernel.id]);
    assert_eq!(exported, Exported { communication: 1, ..Exported::default() });
    let mut bytes = Vec::new();
    crate::chakra::write(&trace, &mut bytes).unwrap();
    let again = crate::chakra::read(&trace.source, bytes.as_slice()).unwrap();
    assert_eq!(again, trace);
}

#[test]
fn waiting_is_taken_off_the_call_that_waits() {
    // The op waits at its end for the kernel, which ends at 20 us; it ends at 5 us itself, so
    // that nothing of it is left. Then for one that had ended before: all of it is left.
    let mut graph = sample::graph();
    graph.edges = vec![edge(2, 0, EdgeKind::Sync, 0)];
    let (trace, _) = exported(&graph);
    let op = named(&trace, "aten::mm");
    assert_eq!((op.duration_micros, op.exact_duration()), (0, 0));
    assert_eq!(op.count(attribute::RECORDED_DURATION), Some(5_000));
    assert_eq!(op.data_dependencies, [named(&trace, "gemm").id]);

    graph.edges = vec![edge(0, 1, EdgeKind::Wake, 0)];
    let (trace, _) = exported(&graph);
    assert_eq!(named(&trace, "cudaLaunchKernel").exact_duration(), 1_500);
}

#[test]
fn a_call_that_launches_what_it_waits_for_is_two_nodes() {
    let mut graph = sample::graph();
    graph.tasks[1].timing = graph.tasks[1]
        .timing
        .map(|timing| crate::graph::Timing { duration: Nanos::new(16_000), ..timing });
    graph.edges = vec![
        edge(0, 1, EdgeKind::Thread, 0),
        edge(1, 2, EdgeKind::Launch, 7_001),
        edge(2, 1, EdgeKind::Sync, 1_000),
    ];
    let (trace, exported) = exported(&graph);
    let launch = trace.nodes.iter().find(|node| node.name == "cudaLaunchKernel").unwrap();
    let wait = named(&trace, "cudaLaunchKernel (wait)");
    let kernel = named(&trace, "gemm");
    assert_eq!(kernel.data_dependencies, [launch.id]);
    let mut both = vec![launch.id, kernel.id];
    both.sort_unstable();
    assert_eq!(wait.data_dependencies, both);
    // From 5 us the launch takes 7.001 us; the kernel ends at 20 us, the call at 21 us.
    assert_eq!((launch.exact_duration(), wait.exact_duration()), (7_001, 1_000));
    assert_eq!((exported.split, trace.nodes.len()), (1, 5));
}

#[test]
fn a_launch_that_returns_late_does_not_hold_its_work() {
    let mut graph = sample::graph();
    graph.tasks[1].timing = graph.tasks[1]
        .timing
        .map(|timing| crate::graph::Timing { duration: Nanos::new(10_000), ..timing });
    let (trace, exported) = exported(&graph);
    let launch = named(&trace, "cudaLaunchKernel");
    let rest = named(&trace, "cudaLaunchKernel (wait)");
    assert_eq!(named(&trace, "gemm").data_dependencies, [launch.id]);
    assert_eq!((launch.exact_duration(), rest.exact_duration()), (7_001, 2_999));
    assert_eq!((rest.exact_start(), exported.split), (12_001, 1));
}

#[test]
fn what_is_not_replayed_is_computation_with_a_reason() {
    let reason = |change: &dyn Fn(&mut crate::graph::Collective)| {
        let mut graph = sample::graph();
        change(&mut graph.collectives[0]);
        let (trace, exported) = exported(&graph);
        assert_eq!(named(&trace, "all_reduce").kind, NodeType::Compute as i32);
        assert_eq!(exported.communication, 0);
        exported.computation_instead.into_iter().collect::<Vec<_>>()
    };
    let barrier = CollectiveKind::Barrier;
    assert_eq!(reason(&|one| one.kind = Some(barrier)), [(Reason::NotReplayed(barrier), 1)]);
    assert_eq!(reason(&|one| one.kind = None), [(Reason::UnknownKind, 1)]);
    assert_eq!(reason(&|one| one.bytes_in = None), [(Reason::UnknownSize, 1)]);
    let send = |one: &mut crate::graph::Collective| one.kind = Some(CollectiveKind::Send);
    assert_eq!(reason(&send), [(Reason::UnknownPeer, 1)]);
}

#[test]
fn transfers_say_who_and_how_much() {
    let mut graph = sample::graph();
    graph.collectives[0].kind = Some(CollectiveKind::Receive);
    graph.collectives[0].bytes_in = None;
    graph.collectives[0].peer = Some(1);
    let (trace, _) = exported(&graph);
    let node = named(&trace, "all_reduce");
    assert_eq!(node.kind, NodeType::Receive as i32);
    let said = ["comm_src", "comm_dst", "comm_size", "comm_tag"].map(|name| node.integer(name));
    assert_eq!(said, [Some(1), Some(3), Some(64), Some(0)]);
}

#[test]
fn a_rank_without_times_is_refused() {
    let mut graph = sample::graph();
    for task in &mut graph.tasks {
        task.timing = None;
    }
    let error = rank(&graph, &GroupNumbers::of(&graph), 0).unwrap_err();
    assert_eq!(error.to_string(), "sample: there are no times to write");
    assert!(rank(&graph, &GroupNumbers::of(&graph), 1).is_err());
}

#[test]
fn tasks_that_wait_for_each_other_are_refused() {
    let mut graph = sample::graph();
    graph.edges = vec![edge(0, 1, EdgeKind::Thread, 0), edge(1, 0, EdgeKind::Thread, 0)];
    let error = rank(&graph, &GroupNumbers::of(&graph), 0).unwrap_err();
    assert_eq!(error.to_string(), "sample: 2 tasks of rank 3 wait for each other");
}

#[test]
fn unexplained_idle_time_stays() {
    let mut graph = sample::graph();
    for task in &mut graph.tasks[2..] {
        task.timing = task.timing.map(|timing| crate::graph::Timing {
            start: timing.start + Nanos::new(60_000),
            ..timing
        });
    }
    let (trace, exported) = exported(&graph);
    // The launch ends at 6.5 us, the kernel begins at 72.001 us.
    let idle = named(&trace, "idle before gemm");
    assert_eq!((idle.exact_start(), idle.exact_duration()), (6_500, 65_501));
    assert_eq!((idle.is_cpu_op(), exported.unexplained_idle), (Some(true), 1));
    assert!(named(&trace, "gemm").data_dependencies.contains(&idle.id));
    assert_eq!(idle.data_dependencies, [named(&trace, "cudaLaunchKernel").id]);
}
