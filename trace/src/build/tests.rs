//! Properties that hold for the graph of any recording.

use kernelgauge_data::Nanos;
use proptest::prelude::*;

use crate::graph::check::flaws;
use crate::graph::{EdgeKind, TaskKind};
use crate::recording::{
    Category, DeviceFacts, Event, Flow, NONE, RankSource, Recording, StatedRank, SyncFacts, Track,
    TrackId,
};
use crate::time::Moment;

/// An event as a test writes it.
#[derive(Debug, Clone)]
struct Written {
    category: Category,
    name: &'static str,
    track: u32,
    start: i64,
    duration: u64,
    correlation: i64,
}

/// A recording of what a test wrote: tracks 0 to 2 are threads, 3 to 5 streams.
fn recording(rank: u32, events: &[Written]) -> Recording {
    let mut recording = Recording {
        source: format!("rank{rank}.json"),
        rank: Some(StatedRank { rank, by: RankSource::Content }),
        world_size: Some(2),
        ..Recording::default()
    };
    for track in 0..6 {
        let process = recording.names.symbol(if track < 3 { "77" } else { "0" });
        let thread = recording.names.symbol(&track.to_string());
        recording.tracks.push(Track { process, thread });
    }
    for event in events {
        let stream = i64::from(event.track);
        let facts = match event.category {
            Category::Kernel | Category::Copy => recording.device_facts.row(DeviceFacts {
                device: 0,
                stream,
                bytes: 64,
                grid: [1, 1, 1],
                block: [32, 1, 1],
                registers: 0,
                shared_bytes: 0,
                collective: None,
            }),
            Category::Sync => recording.syncs.row(SyncFacts {
                stream,
                awaited_stream: 3 + (stream + 1) % 3,
                record_correlation: event.correlation - 1,
                event: 1,
                device: 0,
            }),
            _ => None,
        };
        recording.events.push(Event {
            start: Moment::new(event.start),
            duration: Nanos::new(event.duration),
            correlation: event.correlation,
            external: NONE,
            record_function: NONE,
            sequence: NONE,
            name: recording.names.symbol(event.name),
            track: TrackId(event.track),
            facts,
            category: event.category,
        });
    }
    recording
}

fn event() -> impl Strategy<Value = Written> {
    let kinds = prop_oneof![
        Just((Category::Op, "aten::mm", 0_u32)),
        Just((Category::Op, "autograd::engine::evaluate_function: MmBackward0", 0)),
        Just((Category::Annotation, "ProfilerStep#3", 0)),
        Just((Category::Annotation, "nccl:all_reduce", 0)),
        Just((Category::Runtime, "cudaLaunchKernel", 0)),
        Just((Category::Runtime, "cudaDeviceSynchronize", 0)),
        Just((Category::Runtime, "cudaStreamSynchronize", 0)),
        Just((Category::Runtime, "cudaMemcpyAsync", 0)),
        Just((Category::Kernel, "gemm", 3)),
        Just((Category::Kernel, "ncclDevKernel_AllReduce_Sum_f32", 3)),
        Just((Category::Copy, "Memcpy DtoH", 3)),
        Just((Category::Sync, "Stream Wait Event", 3)),
        Just((Category::Sync, "Stream Sync", 3)),
    ];
    (kinds, 0..3_u32, 0..60_i64, 0..12_u64, 1..9_i64).prop_map(
        |((category, name, base), track, start, duration, correlation)| Written {
            category,
            name,
            track: base + track,
            start: 1_000 * start,
            duration: 1_000 * duration,
            correlation,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_recording_gives_a_sound_graph(
        first in prop::collection::vec(event(), 0..40),
        second in prop::collection::vec(event(), 0..40),
        flows in prop::collection::vec((0..4_i64, any::<bool>(), 0..60_i64, 0..3_u32), 0..6),
    ) {
        let mut one = recording(0, &first);
        one.flows = flows
            .iter()
            .map(|&(id, begins, at, track)| Flow {
                id,
                begins,
                at: Moment::new(1_000 * at),
                track: TrackId(track),
            })
            .collect();
        let work = first.iter().chain(&second).filter(|event| event.category.is_device_work());
        let work = work.count();
        let graph = super::graph(vec![one, recording(1, &second)], Vec::new());
        prop_assert_eq!(flaws(&graph), Vec::new());
        let on_device = graph.tasks.iter().filter(|task| task.kind.is_on_device()).count();
        prop_assert_eq!(on_device, work);
        let launches = graph.edges.iter().filter(|edge| edge.kind == EdgeKind::Launch).count();
        let linked = graph.tasks.iter().filter(|task| task.launch.is_some()).count();
        prop_assert_eq!(launches, linked);
    }
}

#[test]
fn a_thread_is_cut_without_holes() {
    let written = |category, name, track, start, duration, correlation| Written {
        category,
        name,
        track,
        start,
        duration,
        correlation,
    };
    let recording = recording(
        0,
        &[
            written(Category::Annotation, "ProfilerStep#3", 0, 0, 100, NONE),
            written(Category::Op, "aten::mm", 0, 10, 40, NONE),
            written(Category::Runtime, "cudaLaunchKernel", 0, 15, 6, 71),
            written(Category::Kernel, "gemm", 3, 30, 22, 71),
            written(Category::Runtime, "cudaDeviceSynchronize", 0, 60, 10, 72),
        ],
    );
    let graph = super::graph(vec![recording], Vec::new());
    assert_eq!(flaws(&graph), Vec::new());
    let shown: Vec<(TaskKind, i64, u64)> = graph
        .tasks
        .iter()
        .filter_map(|task| Some((task.kind, task.timing?.start.get(), task.timing?.duration.get())))
        .collect();
    assert_eq!(
        shown,
        [
            (TaskKind::Gap, 0, 10),
            (TaskKind::Op, 10, 5),
            (TaskKind::Runtime, 15, 6),
            (TaskKind::Op, 21, 29),
            (TaskKind::Gap, 50, 10),
            (TaskKind::Runtime, 60, 10),
            (TaskKind::Gap, 70, 30),
            (TaskKind::Kernel, 30, 22),
        ]
    );
    let kinds: Vec<EdgeKind> = graph.edges.iter().map(|edge| edge.kind).collect();
    assert_eq!(kinds.iter().filter(|&&kind| kind == EdgeKind::Launch).count(), 1);
    assert_eq!(kinds.iter().filter(|&&kind| kind == EdgeKind::Sync).count(), 1);
    assert_eq!((graph.links.launched, graph.links.within_op), (1, 1));
    assert_eq!(graph.ranks[0].steps.len(), 1);
}
