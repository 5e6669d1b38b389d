//! A small graph for tests: an op that launches a kernel and a collective.

use kernelgauge_data::Nanos;

use crate::graph::{
    Call, CallId, CallKind, Collective, CollectiveId, CollectiveKind, Edge, EdgeKind, Graph, Group,
    GroupId, Launching, Processor, ProcessorId, ProcessorKind, Provenance, Rank, StatedBy, Step,
    Task, TaskId, TaskKind, Timing,
};
use crate::names::Symbol;
use crate::recording::{Oddities, OpFacts, RankSource, RecordedDevice};
use crate::time::Moment;

/// One rank, number 3, whose times begin at 1 s and whose step is number 7.
pub fn graph() -> Graph {
    let mut graph = Graph::default();
    let processor = |kind, tasks, calls| Processor { rank: 0, kind, tasks, calls };
    let (process, thread) = (graph.names.symbol("4711"), graph.names.symbol("12"));
    graph.processors = vec![
        processor(ProcessorKind::Thread { process, thread }, 0..2, 0..2),
        processor(ProcessorKind::Stream { device: 0, stream: 7 }, 2..3, 2..2),
        processor(ProcessorKind::Stream { device: 0, stream: 20 }, 3..4, 2..2),
    ];
    ops(&mut graph);
    work(&mut graph);
    graph.groups.push(Group {
        name: graph.names.symbol("0"),
        description: graph.names.symbol("default_pg"),
        size: Some(4),
        ranks: vec![0, 1, 2, 3],
    });
    graph.collectives.push(Collective {
        kind: Some(CollectiveKind::AllReduce),
        dtype: graph.names.symbol("Float"),
        bytes_in: Some(64),
        bytes_out: Some(64),
        group: Some(GroupId(0)),
        sequence: Some(5),
        split_in: Symbol::EMPTY,
        split_out: Symbol::EMPTY,
        peer: None,
        stated_by: StatedBy::Kernel,
    });
    let edge =
        |from, to, kind| Edge { from: TaskId(from), to: TaskId(to), kind, lag: Nanos::new(0) };
    graph.edges = vec![
        edge(0, 1, EdgeKind::Thread),
        edge(1, 2, EdgeKind::Launch),
        edge(2, 3, EdgeKind::Event),
    ];
    graph.ranks.push(rank());
    graph
}

fn timing(start: i64, duration: u64) -> Timing {
    Timing { start: Moment::new(1_000_000_000 + start), duration: Nanos::new(duration) }
}

fn rank() -> Rank {
    Rank {
        number: 3,
        by: RankSource::Content,
        source: "sample".to_owned(),
        device: Some(RecordedDevice {
            id: 0,
            name: "A \"GPU\"".to_owned(),
            multiprocessors: Some(132),
            memory_bytes: None,
            compute_capability: Some((9, 0)),
        }),
        world_size: Some(4),
        processors: 0..3,
        steps: vec![Step { number: 7, timing: timing(0, 31_000) }],
        steps_marked: true,
        launching: Launching::default(),
        oddities: Oddities::default(),
    }
}

fn ops(graph: &mut Graph) {
    let facts = OpFacts {
        dims: graph.names.symbol("[[2,3],[3,4]]"),
        types: graph.names.symbol(r#"["float","float"]"#),
        values: graph.names.symbol("not JSON"),
        strides: Symbol::EMPTY,
        forward_thread: 0,
        backend: Symbol::EMPTY,
        collective: None,
    };
    let call = |kind, name, timing, parent, facts| Call {
        kind,
        name,
        processor: ProcessorId(0),
        timing: Some(timing),
        parent,
        facts,
        sequence: Some(9),
        record_function: None,
        node: None,
        step: Some(0),
    };
    let (product, launch) =
        (graph.names.symbol("aten::mm"), graph.names.symbol("cudaLaunchKernel"));
    let facts = graph.ops.row(facts);
    graph.calls = vec![
        call(CallKind::Op, product, timing(0, 9_000), None, facts),
        call(CallKind::Runtime, launch, timing(5_000, 1_500), Some(CallId(0)), None),
    ];
}

fn work(graph: &mut Graph) {
    let mut task = |kind, name: &str, processor, timing, call, launch, collective| Task {
        kind,
        name: graph.names.symbol(name),
        processor: ProcessorId(processor),
        timing: Some(timing),
        provenance: Provenance::Measured,
        call: Some(CallId(call)),
        launch,
        collective,
        bytes: None,
        step: Some(0),
    };
    let launch = Some(TaskId(1));
    let collective = Some(CollectiveId(0));
    let tasks = vec![
        task(TaskKind::Op, "aten::mm", 0, timing(0, 5_000), 0, None, None),
        task(TaskKind::Runtime, "cudaLaunchKernel", 0, timing(5_000, 1_500), 1, None, None),
        task(TaskKind::Kernel, "gemm<\"a\">", 1, timing(12_001, 7_999), 0, launch, None),
        task(TaskKind::Collective, "all_reduce", 2, timing(20_000, 10_250), 0, launch, collective),
    ];
    graph.tasks = tasks;
}
