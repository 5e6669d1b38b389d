//! Which ops the time on devices belongs to.

use std::collections::HashMap;

use kernelgauge_data::Nanos;

use crate::graph::{CallKind, Graph, TaskKind};
use crate::names::Symbol;

/// An op and the work it launched, over all ranks and steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpLine {
    /// The innermost op around the launch; the kernel itself where none was recorded.
    pub name: String,
    /// Calls that launched work.
    pub calls: u64,
    /// Pieces of work launched.
    pub work: u64,
    /// Their time on the device, added up.
    pub device: Nanos,
    /// Time of the op's own pieces on the host, launches included.
    pub host: Nanos,
}

/// Ops by the time of their work, the longest first.
pub fn lines(graph: &Graph) -> Vec<OpLine> {
    #[derive(Default)]
    struct Sums {
        calls: std::collections::HashSet<u32>,
        work: u64,
        device: Nanos,
        host: Nanos,
    }
    let mut sums: HashMap<Symbol, Sums> = HashMap::new();
    for task in &graph.tasks {
        let Some(timing) = task.timing else { continue };
        let op = task.call.map(|call| (call, graph.call(call)));
        let around = |(id, call): (crate::graph::CallId, &crate::graph::Call)| {
            let parent = call.parent.map(|parent| (parent, graph.call(parent)));
            match call.kind {
                CallKind::Runtime => parent.map(|(id, call)| (id, call.name)),
                _ => Some((id, call.name)),
            }
        };
        let op = op.and_then(around);
        if task.kind.is_on_device() {
            let sum = sums.entry(op.map_or(task.name, |(_, name)| name)).or_default();
            sum.work += 1;
            sum.device = sum.device + timing.duration;
            sum.calls.extend(op.map(|(id, _)| id.0));
        } else if matches!(task.kind, TaskKind::Op | TaskKind::Runtime)
            && let Some((_, name)) = op
        {
            let sum = sums.entry(name).or_default();
            sum.host = sum.host + timing.duration;
        }
    }
    let lines = sums.into_iter().filter(|(_, sum)| sum.work > 0).map(|(name, sum)| OpLine {
        name: graph.names.text(name).to_owned(),
        calls: sum.calls.len() as u64,
        work: sum.work,
        device: sum.device,
        host: sum.host,
    });
    let mut lines: Vec<OpLine> = lines.collect();
    lines.sort_by(|a, b| (b.device, &a.name).cmp(&(a.device, &b.name)));
    lines
}
