//! What must hold for every graph, whatever it was read from.

use std::fmt;

use super::{Edge, Graph, TaskId, Timing};

/// Something that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flaw {
    /// Tasks wait for each other in a circle; some of them.
    Cycle(Vec<TaskId>),
    /// An edge, launch, call or member names something that is not there.
    Dangling(String),
    /// Tasks of a processor are not in the order in which they run.
    Disorder(TaskId),
    /// Pieces of a thread overlap.
    Overlap(TaskId),
    /// A task of a processor's range says that it runs elsewhere.
    Misplaced(TaskId),
    /// A rendezvous without members, or with two of one rank.
    Meeting(usize),
}

impl fmt::Display for Flaw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Cycle(tasks) => write!(out, "{} tasks wait for each other", tasks.len()),
            Flaw::Dangling(what) => write!(out, "{what} names something that is not there"),
            Flaw::Disorder(task) => write!(out, "task {} lies before an earlier one", task.0),
            Flaw::Overlap(task) => write!(out, "task {} overlaps its predecessor", task.0),
            Flaw::Misplaced(task) => write!(out, "task {} lies on another processor", task.0),
            Flaw::Meeting(place) => write!(out, "rendezvous {place} has no or doubled ranks"),
        }
    }
}

/// Everything that is wrong with a graph; a sound one has no flaws.
pub fn flaws(graph: &Graph) -> Vec<Flaw> {
    let mut flaws = dangling(graph);
    if !flaws.is_empty() {
        // The other checks follow these numbers.
        return flaws;
    }
    for processor in &graph.processors {
        let thread = processor.kind.is_thread();
        let mut before: Option<Timing> = None;
        for place in processor.tasks.clone() {
            let task = &graph.tasks[place as usize];
            if graph.processor(task.processor) != processor {
                flaws.push(Flaw::Misplaced(TaskId(place)));
            }
            let Some(timing) = task.timing else { continue };
            if before.is_some_and(|before| timing.start < before.start) {
                flaws.push(Flaw::Disorder(TaskId(place)));
            }
            if thread && before.is_some_and(|before| timing.start < before.end()) {
                flaws.push(Flaw::Overlap(TaskId(place)));
            }
            before = Some(timing);
        }
    }
    flaws.extend(meetings(graph));
    let stuck = stuck(graph);
    if !stuck.is_empty() {
        flaws.push(Flaw::Cycle(stuck));
    }
    flaws
}

fn dangling(graph: &Graph) -> Vec<Flaw> {
    let tasks = graph.tasks.len() as u32;
    let there = |task: TaskId| task.0 < tasks;
    let mut flaws = Vec::new();
    let mut check = |sound: bool, what: &dyn Fn() -> String| {
        if !sound {
            flaws.push(Flaw::Dangling(what()));
        }
    };
    for (place, edge) in graph.edges.iter().enumerate() {
        check(there(edge.from) && there(edge.to), &|| format!("edge {place}"));
    }
    for (place, task) in graph.tasks.iter().enumerate() {
        let sound = (task.processor.0 as usize) < graph.processors.len()
            && task.launch.is_none_or(there)
            && task.call.is_none_or(|call| (call.0 as usize) < graph.calls.len())
            && task.collective.is_none_or(|one| (one.0 as usize) < graph.collectives.len());
        check(sound, &|| format!("task {place}"));
    }
    for (place, call) in graph.calls.iter().enumerate() {
        let sound = call.parent.is_none_or(|parent| (parent.0 as usize) < place);
        check(sound, &|| format!("call {place}"));
    }
    for (place, processor) in graph.processors.iter().enumerate() {
        let sound = processor.tasks.end <= tasks
            && processor.calls.end as usize <= graph.calls.len()
            && (processor.rank as usize) < graph.ranks.len();
        check(sound, &|| format!("processor {place}"));
    }
    for (place, meeting) in graph.rendezvous.iter().enumerate() {
        check(meeting.members.iter().all(|&task| there(task)), &|| format!("rendezvous {place}"));
    }
    flaws
}

fn meetings(graph: &Graph) -> Vec<Flaw> {
    let sound = |members: &[TaskId]| {
        let rank = |task: &TaskId| graph.processor(graph.task(*task).processor).rank;
        let mut ranks: Vec<u32> = members.iter().map(rank).collect();
        ranks.sort_unstable();
        let all = ranks.len();
        ranks.dedup();
        !ranks.is_empty() && ranks.len() == all
    };
    let places = graph.rendezvous.iter().enumerate();
    places.filter(|(_, one)| !sound(&one.members)).map(|(place, _)| Flaw::Meeting(place)).collect()
}

/// The start and end of every task and the meeting of every rendezvous, as numbers.
struct Points {
    tasks: usize,
}

impl Points {
    fn start(task: TaskId) -> usize {
        2 * task.0 as usize
    }

    fn end(task: TaskId) -> usize {
        2 * task.0 as usize + 1
    }

    fn meeting(&self, place: usize) -> usize {
        2 * self.tasks + place
    }

    fn ends_of(edge: &Edge) -> (usize, usize) {
        let from = match edge.kind.from_start() {
            true => Points::start(edge.from),
            false => Points::end(edge.from),
        };
        let to = match edge.kind.holds_end() {
            true => Points::end(edge.to),
            false => Points::start(edge.to),
        };
        (from, to)
    }
}

/// Tasks that can never run because they wait for each other, and those that wait for them.
pub fn stuck(graph: &Graph) -> Vec<TaskId> {
    let points = Points { tasks: graph.tasks.len() };
    let all = points.meeting(graph.rendezvous.len());
    let tasks = (0..graph.tasks.len() as u32).map(TaskId);
    let mut arrows: Vec<(usize, usize)> =
        tasks.map(|task| (Points::start(task), Points::end(task))).collect();
    arrows.extend(graph.edges.iter().map(Points::ends_of));
    for (place, meeting) in graph.rendezvous.iter().enumerate() {
        for &member in &meeting.members {
            arrows.push((Points::start(member), points.meeting(place)));
            arrows.push((points.meeting(place), Points::end(member)));
        }
    }
    let mut waiting = vec![0_u32; all];
    for &(_, to) in &arrows {
        waiting[to] += 1;
    }
    arrows.sort_unstable();
    let mut ready: Vec<usize> = (0..all).filter(|&point| waiting[point] == 0).collect();
    while let Some(point) = ready.pop() {
        let first = arrows.partition_point(|&(from, _)| from < point);
        for &(_, to) in arrows[first..].iter().take_while(|&&(from, _)| from == point) {
            waiting[to] -= 1;
            if waiting[to] == 0 {
                ready.push(to);
            }
        }
    }
    let stuck = (0..graph.tasks.len() as u32).map(TaskId);
    stuck.filter(|&task| waiting[Points::end(task)] > 0).collect()
}
