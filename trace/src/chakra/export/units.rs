//! The nodes of a rank, and what each waits for.

use kernelgauge_data::Nanos;

use super::order;
use super::parts::{self, Parts};
use crate::graph::{Edge, EdgeKind, Graph, ProcessorKind, Rank, TaskId};
use crate::time::Moment;

/// One node: a task, or the waiting half of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    pub(super) task: TaskId,
    /// Nanoseconds.
    pub(super) duration: u64,
    /// When it starts to wait or work, as recorded.
    pub(super) starts: Moment,
    /// Whether it is the second of two.
    pub(super) waits: bool,
    /// Whether the task ends with it.
    pub(super) is_last: bool,
    /// Whether it stands for time in which the processor of the task is idle before it.
    pub(super) idle: bool,
}

/// All nodes of a rank, in the order in which they are written.
pub(super) struct Units {
    pub(super) units: Vec<Unit>,
    /// For each node, the places of those it waits for, in order.
    pub(super) before: Vec<Vec<usize>>,
}

/// The nodes of a rank; the number of tasks that wait for each other where there are some.
pub(super) fn of(graph: &Graph, rank: &Rank) -> Result<Units, usize> {
    let processors = rank.processors.start as usize..rank.processors.end as usize;
    let processors = graph.processors.get(processors).unwrap_or_default();
    let ranges = processors.iter().map(|processor| processor.tasks.clone());
    let tasks: Vec<TaskId> = ranges.flatten().map(TaskId).collect();
    let mut places = vec![None; graph.tasks.len()];
    for (place, task) in tasks.iter().enumerate() {
        places[task.0 as usize] = Some(place);
    }
    let place = |task: TaskId| places.get(task.0 as usize).copied().flatten();
    let within = |edge: &Edge| Some((place(edge.from)?, place(edge.to)?, *edge));
    let edges: Vec<_> = graph.edges.iter().filter_map(within).collect();

    let parts = parts::split(graph, &tasks, &edges);
    let (units, first) = units(graph, &tasks, &parts);
    let mut arrows = arrows(&edges, &parts, &first);
    let stated = arrows.len();
    let streams = processors.iter().filter(|one| matches!(one.kind, ProcessorKind::Stream { .. }));
    for stream in streams {
        let work: Vec<usize> =
            stream.tasks.clone().filter_map(|task| place(TaskId(task))).collect();
        arrows.extend(work.windows(2).map(|pair| (first[pair[0]], first[pair[1]])));
    }
    let key = |unit: usize| {
        let unit: &Unit = &units[unit];
        (graph.task(unit.task).timing.map(|timing| timing.start), unit.waits)
    };
    let mut written = order::sort(units.len(), &arrows, key);
    if written.len() < units.len() {
        // Work that overlaps on a stream may be tied the other way round by what was stated.
        arrows.truncate(stated);
        written = order::sort(units.len(), &arrows, key);
    }
    match units.len() - written.len() {
        0 => Ok(arranged(&units, &arrows, &written)),
        stuck => Err(stuck),
    }
}

fn units(graph: &Graph, tasks: &[TaskId], parts: &[Parts]) -> (Vec<Unit>, Vec<usize>) {
    let mut units = Vec::with_capacity(tasks.len());
    let mut first = Vec::with_capacity(tasks.len());
    for (&task, parts) in tasks.iter().zip(parts) {
        first.push(units.len());
        let starts = graph.task(task).timing.map_or(Moment::default(), |timing| timing.start);
        let whole = Unit {
            task,
            duration: parts.first,
            starts,
            waits: false,
            is_last: parts.second.is_none(),
            idle: false,
        };
        units.push(whole);
        if let Some(duration) = parts.second {
            let starts = starts + Nanos::new(parts.first);
            units.push(Unit { duration, starts, waits: true, is_last: true, ..whole });
        }
    }
    (units, first)
}

fn arrows(edges: &[(usize, usize, Edge)], parts: &[Parts], first: &[usize]) -> Vec<(usize, usize)> {
    let last = |place: usize| first[place] + usize::from(parts[place].second.is_some());
    let halves = (0..parts.len()).filter(|&place| parts[place].second.is_some());
    let mut arrows: Vec<(usize, usize)> = halves.map(|place| (first[place], last(place))).collect();
    for &(from, to, Edge { kind, .. }) in edges {
        let from = if EdgeKind::from_start(kind) { first[from] } else { last(from) };
        let to = if EdgeKind::holds_end(kind) { last(to) } else { first[to] };
        arrows.push((from, to));
    }
    arrows
}

fn arranged(units: &[Unit], arrows: &[(usize, usize)], written: &[usize]) -> Units {
    let mut places = vec![0; units.len()];
    for (place, &unit) in written.iter().enumerate() {
        places[unit] = place;
    }
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); units.len()];
    for &(from, to) in arrows {
        before[places[to]].push(places[from]);
    }
    for list in &mut before {
        list.sort_unstable();
        list.dedup();
    }
    Units { units: written.iter().map(|&unit| units[unit]).collect(), before }
}
