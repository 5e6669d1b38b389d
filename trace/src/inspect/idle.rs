//! Why nothing ran on a device.

use kernelgauge_data::Nanos;

use super::step::DeviceWork;
use crate::graph::{Graph, TaskId, Timing};
use crate::time::Moment;

/// Time without work on the device, by what the next work was waiting for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Idle {
    /// The host had not launched it yet.
    pub host: Nanos,
    /// It had been launched and was on its way.
    pub launch: Nanos,
    /// It waited for another stream, as a recorded event says.
    pub stream: Nanos,
    /// It had arrived, and nothing recorded says why it did not run.
    pub unexplained: Nanos,
}

impl Idle {
    /// All of it.
    pub fn total(&self) -> Nanos {
        self.host + self.launch + self.stream + self.unexplained
    }
}

/// Splits the holes of a window by cause.
pub fn causes(
    graph: &Graph,
    holes: &[(Moment, Moment)],
    window: Timing,
    work: &DeviceWork,
) -> Idle {
    let mut idle = Idle::default();
    for &(start, end) in holes {
        // The window may end before the work that ends the hole.
        let next = work.from(end.min(window.end())).next().map(|(_, task)| task);
        let held_by_stream = next.is_some_and(|next| work.held_by_stream.contains(&next));
        one(graph, start, end, next, held_by_stream, &mut idle);
    }
    idle
}

fn one(
    graph: &Graph,
    start: Moment,
    end: Moment,
    next: Option<TaskId>,
    held_by_stream: bool,
    idle: &mut Idle,
) {
    let launch = next.and_then(|next| graph.task(next).launch);
    let launched = launch.and_then(|launch| graph.task(launch).timing).map(|timing| timing.start);
    let Some((next, launched)) = next.zip(launched) else {
        // After the last work of a recording only the host goes on.
        match next {
            None => idle.host = idle.host + end.since(start),
            Some(_) => idle.unexplained = idle.unexplained + end.since(start),
        }
        return;
    };
    let rank = graph.processor(graph.task(next).processor).rank;
    let latency = graph.ranks[rank as usize].launching.latency.unwrap_or_default();
    let launched = launched.max(start).min(end);
    idle.host = idle.host + launched.since(start);
    let rest = end.since(launched);
    // Launches take their time; what exceeds twice the usual has another reason.
    let usual = Nanos::new(latency.get().saturating_mul(2));
    let on_the_way = rest.min(usual);
    idle.launch = idle.launch + on_the_way;
    let held = rest.saturating_sub(on_the_way);
    match held_by_stream {
        true => idle.stream = idle.stream + held,
        false => idle.unexplained = idle.unexplained + held,
    }
}
