//! Dependencies of a rank in the format's terms: which node waits for the end of which.

use std::collections::{BTreeMap, BTreeSet};

use kernelgauge_data::Nanos;

use crate::graph::{Graph, Task, TaskId};
use crate::time::Moment;

/// What the tasks of a rank wait for.
pub(super) struct Ties {
    starts: BTreeMap<TaskId, BTreeSet<u64>>,
    ends: BTreeMap<TaskId, BTreeSet<u64>>,
    /// When the last work ended that holds back the end of a task.
    held_until: BTreeMap<TaskId, Moment>,
    /// When the first work began that a task launched.
    launched_at: BTreeMap<TaskId, Moment>,
    divided: BTreeSet<TaskId>,
}

impl Ties {
    /// Of the rank at a place among the ranks.
    pub fn of(graph: &Graph, place: u32) -> Self {
        let rank = |task: TaskId| {
            let task = graph.tasks.get(task.0 as usize)?;
            Some(graph.processors.get(task.processor.0 as usize)?.rank)
        };
        let edges = || {
            let own = |task| rank(task) == Some(place);
            graph.edges.iter().filter(move |edge| own(edge.from) && own(edge.to))
        };
        let launches: BTreeSet<TaskId> =
            edges().filter(|edge| edge.kind.from_start()).map(|edge| edge.from).collect();
        let held: BTreeSet<TaskId> =
            edges().filter(|edge| edge.kind.holds_end()).map(|edge| edge.to).collect();
        let mut ties = Ties {
            starts: BTreeMap::new(),
            ends: BTreeMap::new(),
            held_until: BTreeMap::new(),
            launched_at: BTreeMap::new(),
            divided: launches.intersection(&held).copied().collect(),
        };
        let timing = |task: TaskId| graph.tasks.get(task.0 as usize).and_then(|task| task.timing);
        for edge in edges() {
            let from_start = edge.kind.from_start();
            let from = if from_start { begin(edge.from) } else { ties.end(edge.from) };
            let side = if edge.kind.holds_end() { &mut ties.ends } else { &mut ties.starts };
            side.entry(edge.to).or_default().insert(from);
            if edge.kind.holds_end()
                && let Some(timing) = timing(edge.from)
            {
                let until = ties.held_until.entry(edge.to).or_insert(timing.end());
                *until = (*until).max(timing.end());
            }
            if from_start && let Some(timing) = timing(edge.to) {
                let at = ties.launched_at.entry(edge.from).or_insert(timing.start);
                *at = (*at).min(timing.start);
            }
        }
        for processor in graph.processors.iter().filter(|processor| processor.rank == place) {
            for task in processor.tasks.clone().skip(1) {
                let before = ties.end(TaskId(task - 1));
                ties.starts.entry(TaskId(task)).or_default().insert(before);
            }
        }
        ties
    }

    /// The node that ends when a task ends.
    pub fn end(&self, task: TaskId) -> u64 {
        begin(task) + u64::from(self.divided.contains(&task))
    }

    /// Whether a task becomes two nodes.
    pub fn is_divided(&self, task: TaskId) -> bool {
        self.divided.contains(&task)
    }

    /// Nodes that the start of a task waits for.
    pub fn before_start(&self, task: TaskId) -> Vec<u64> {
        self.starts.get(&task).into_iter().flatten().copied().collect()
    }

    /// Nodes that the end of a task waits for.
    pub fn before_end(&self, task: TaskId) -> Vec<u64> {
        self.ends.get(&task).into_iter().flatten().copied().collect()
    }

    /// How long a task lasts after everything it waits for, at either side, has ended.
    pub fn own_duration(&self, id: TaskId, task: &Task) -> Nanos {
        let Some(timing) = task.timing else { return Nanos::new(0) };
        match self.held_until.get(&id) {
            Some(&until) => timing.end().since(until.max(timing.start)),
            None => timing.duration,
        }
    }

    /// How long a task lasts until the first work it launched begins.
    pub fn until_launch(&self, id: TaskId, task: &Task) -> Nanos {
        let Some(timing) = task.timing else { return Nanos::new(0) };
        let launched = self.launched_at.get(&id).map(|at| at.since(timing.start));
        launched.map_or(timing.duration, |launched| launched.min(timing.duration))
    }
}

/// The node that begins when a task begins.
pub(super) fn begin(task: TaskId) -> u64 {
    2 * u64::from(task.0) + 1
}
