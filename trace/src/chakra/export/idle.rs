//! Idle time that nothing explains, kept as nodes: work that began long after everything it is
//! known to wait for. Without `cuda_sync` events these are waits for other streams and ranks.

use super::units::{Unit, Units};
use crate::graph::Graph;
use crate::time::Moment;

/// Idle time above this, in nanoseconds, is kept. Launches take 7 to 12 us to arrive on an idle
/// stream in public traces of five kinds of GPUs; several times that has another cause.
pub(super) const KEPT: u64 = 50_000;

/// Puts a node before each that began more than [`KEPT`] after all it waits for, or after
/// `origin` where it waits for nothing.
pub(super) fn keep(graph: &Graph, units: Units, origin: Moment) -> Units {
    let ends: Vec<Option<Moment>> = units.units.iter().map(|unit| ends(graph, unit)).collect();
    let mut kept = Units { units: Vec::new(), before: Vec::new() };
    // Where each node went.
    let mut places = Vec::with_capacity(units.units.len());
    for (unit, before) in units.units.iter().zip(&units.before) {
        let ready = before.iter().filter_map(|&place| ends.get(place).copied().flatten()).max();
        let ready = ready.unwrap_or(origin);
        let began = begins(graph, unit);
        let idle = began.map_or(0, |began| began.since(ready).get());
        let mut moved: Vec<usize> =
            before.iter().filter_map(|&place| places.get(place).copied()).collect();
        if idle > KEPT {
            kept.units.push(Unit { duration: idle, starts: ready, idle: true, ..*unit });
            kept.before.push(moved.clone());
            moved.push(kept.units.len() - 1);
        }
        places.push(kept.units.len());
        kept.units.push(*unit);
        kept.before.push(moved);
    }
    kept
}

/// When a node has done its own work, as recorded.
fn ends(graph: &Graph, unit: &Unit) -> Option<Moment> {
    let timing = graph.task(unit.task).timing?;
    Some(if unit.is_last {
        timing.end()
    } else {
        unit.starts + kernelgauge_data::Nanos::new(unit.duration)
    })
}

/// When a node began its own work, having waited, as recorded.
fn begins(graph: &Graph, unit: &Unit) -> Option<Moment> {
    let end = ends(graph, unit)?;
    Some(end.shifted(i64::try_from(unit.duration).map_or(i64::MIN, |duration| -duration)))
}
