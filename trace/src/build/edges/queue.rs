//! What had been launched onto a stream by a given moment.

use std::collections::BTreeMap;

use crate::graph::{Graph, ProcessorKind, TaskId};
use crate::time::Moment;

/// A stream of a rank: device and stream.
pub type Stream = (i64, i64);

/// The work of each stream of a rank by the moment of its launch.
#[derive(Debug, Default)]
pub struct Queues {
    streams: BTreeMap<Stream, Vec<(Moment, TaskId)>>,
}

impl Queues {
    /// The streams of a rank. Work without a launch counts from its own start.
    pub fn of(graph: &Graph, rank: u32) -> Self {
        let mut queues = Queues::default();
        for (_, processor) in graph.streams_of(rank) {
            let ProcessorKind::Stream { device, stream } = processor.kind else { continue };
            let queue = queues.streams.entry((device, stream)).or_default();
            for task in processor.tasks.clone().map(TaskId) {
                let this = graph.task(task);
                let timing = this.launch.map_or(this.timing, |launch| graph.task(launch).timing);
                queue.extend(timing.map(|timing| (timing.start, task)));
            }
            queue.sort();
        }
        queues
    }

    /// All streams.
    pub fn streams(&self) -> impl Iterator<Item = Stream> {
        self.streams.keys().copied()
    }

    /// The last work launched onto a stream before a moment.
    pub fn last_before(&self, stream: Stream, moment: Moment) -> Option<TaskId> {
        let queue = self.streams.get(&stream)?;
        let place = queue.partition_point(|&(at, _)| at < moment);
        queue.get(place.checked_sub(1)?).map(|&(_, task)| task)
    }

    /// The first work launched onto a stream at a moment or after it.
    pub fn first_from(&self, stream: Stream, moment: Moment) -> Option<TaskId> {
        let queue = self.streams.get(&stream)?;
        queue.get(queue.partition_point(|&(at, _)| at < moment)).map(|&(_, task)| task)
    }
}
