//! Ops that are alike, counted together.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use kernelgauge_data::{Nanos, Point};

use super::translate::{self, Uncovered};
use super::{attention, collective, copy, host};
use crate::graph::{CallId, CallKind, Graph, Task, TaskKind};

/// Ops that are the same point, or have the same name and inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distinct {
    /// The name most of them have.
    pub name: String,
    /// Their input shapes as written, of the first one; empty where not recorded.
    pub shapes: String,
    /// The point they are, or why they are none.
    pub point: Result<Point, Uncovered>,
    /// How often they were called.
    pub calls: u64,
    /// Pieces of work they launched.
    pub work: u64,
    /// Their time on devices, waiting of collectives included; none where no times were
    /// recorded.
    pub device: Option<Nanos>,
}

/// How much of a workload has points.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Calls.
    pub calls: u64,
    /// Calls with a point.
    pub covered_calls: u64,
    /// Time on devices.
    pub device: Nanos,
    /// Time of what has a point.
    pub covered_device: Nanos,
}

/// The distinct ops of a graph, the longest first; those without times by count, without ops
/// that are known to launch nothing.
pub fn distinct(graph: &Graph) -> Vec<Distinct> {
    let mut sums = Sums { graph, found: BTreeMap::new(), places: HashMap::new() };
    let timed = graph.tasks.iter().any(|task| task.kind.is_on_device());
    for task in &graph.tasks {
        if task.kind.is_on_device() {
            sums.work(task);
        } else if !timed && task.kind == TaskKind::Op {
            // An execution trace alone has ops and no work.
            sums.op(task);
        }
    }
    let mut lines: Vec<Distinct> = sums.found.into_values().map(|sum| sum.line).collect();
    lines.sort_by(|a, b| {
        let order = |line: &Distinct| (Reverse(line.device), Reverse(line.calls));
        order(a).cmp(&order(b)).then_with(|| (&a.name, &a.shapes).cmp(&(&b.name, &b.shapes)))
    });
    lines
}

/// What of some ops has points.
pub fn totals<'a>(lines: impl Iterator<Item = &'a Distinct>) -> Totals {
    lines.fold(Totals::default(), |sum, line| {
        let covered = line.point.is_ok();
        let device = line.device.unwrap_or_default();
        Totals {
            calls: sum.calls + line.calls,
            covered_calls: sum.covered_calls + if covered { line.calls } else { 0 },
            device: sum.device + device,
            covered_device: sum.covered_device + if covered { device } else { Nanos::default() },
        }
    })
}

/// What makes ops alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Point(Point),
    Named(String, String, Uncovered),
}

struct Sum {
    line: Distinct,
    calls: HashSet<CallId>,
}

struct Sums<'a> {
    graph: &'a Graph,
    found: BTreeMap<Key, Sum>,
    /// Points of calls that were looked at, since one launches several pieces.
    places: HashMap<CallId, Result<Point, Uncovered>>,
}

impl Sums<'_> {
    fn work(&mut self, task: &Task) {
        let graph = self.graph;
        let name = graph.names.text(task.name);
        let duration = task.timing.map(|timing| timing.duration);
        let (point, call) = match task.kind {
            TaskKind::Copy => (copy::point(name, task.bytes), None),
            TaskKind::Collective => {
                let collective = task.collective.map(|id| graph.collective(id));
                let point = collective.map_or(Err(Uncovered::NoFamily), |collective| {
                    collective::point(graph, collective).and_then(translate::checked)
                });
                (point, None)
            }
            _ => match task.call.and_then(|call| whose(graph, call)) {
                Some(call) => (self.point(call), Some(call)),
                None => (Err(Uncovered::NoFamily), None),
            },
        };
        let name = call.map_or(name, |call| graph.names.text(graph.call(call).name));
        let sum = self.sum(name, call, point);
        sum.line.work += 1;
        sum.line.device = match (sum.line.device, duration) {
            (Some(sum), Some(duration)) => Some(sum + duration),
            (sum, duration) => sum.or(duration),
        };
        match call {
            Some(call) if !sum.calls.insert(call) => {}
            _ => sum.line.calls += 1,
        }
    }

    fn op(&mut self, task: &Task) {
        let Some(call) = task.call.and_then(|call| whose(self.graph, call)) else { return };
        let name = self.graph.names.text(self.graph.call(call).name);
        if host::launches_nothing(name) {
            return;
        }
        let point = self.point(call);
        let sum = self.sum(name, Some(call), point);
        if sum.calls.insert(call) {
            sum.line.calls += 1;
        }
    }

    fn point(&mut self, call: CallId) -> Result<Point, Uncovered> {
        let graph = self.graph;
        self.places.entry(call).or_insert_with(|| translate::point(graph, call)).clone()
    }

    fn sum(
        &mut self,
        name: &str,
        call: Option<CallId>,
        point: Result<Point, Uncovered>,
    ) -> &mut Sum {
        let facts = call.and_then(|call| self.graph.call(call).facts);
        let facts = facts.and_then(|row| self.graph.ops.get(row));
        let shapes = facts.map_or("", |facts| self.graph.names.text(facts.dims));
        let key = match &point {
            Ok(point) => Key::Point(point.clone()),
            Err(why) => Key::Named(name.to_owned(), shapes.to_owned(), why.clone()),
        };
        self.found.entry(key).or_insert_with(|| Sum {
            line: Distinct {
                name: name.to_owned(),
                shapes: shapes.to_owned(),
                point,
                calls: 0,
                work: 0,
                device: None,
            },
            calls: HashSet::new(),
        })
    }
}

/// The op that work launched within a call belongs to: the innermost op, or the one it
/// implements.
fn whose(graph: &Graph, call: CallId) -> Option<CallId> {
    let mut at = Some(call);
    while let Some(call) = at {
        let this = graph.call(call);
        let own = this.kind == CallKind::Op && !attention::implements(graph.names.text(this.name));
        if own {
            return Some(call);
        }
        at = this.parent;
    }
    Some(call)
}
