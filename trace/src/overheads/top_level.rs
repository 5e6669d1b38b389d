//! Ops that lie in no other op.

use kernelgauge_data::Nanos;

use crate::graph::{CallId, CallKind, Graph, Timing};

/// An op that lies in no other op. The calls within it follow it in the graph.
#[derive(Debug, Clone, Copy)]
pub struct TopLevel {
    /// The op.
    pub id: CallId,
    /// The first call after it that does not lie within it.
    pub end: u32,
    /// When it ran.
    pub timing: Timing,
    parent: Option<CallId>,
}

impl TopLevel {
    /// The op at a place, if it lies in no other one.
    pub fn at(graph: &Graph, id: CallId) -> Option<Self> {
        let this = graph.call(id);
        if this.kind != CallKind::Op {
            return None;
        }
        let mut around = this.parent;
        while let Some(call) = around {
            let call = graph.call(call);
            if call.kind == CallKind::Op {
                return None;
            }
            around = call.parent;
        }
        let last = graph.processor(this.processor).calls.end;
        let within = |place: &u32| graph.call(CallId(*place)).parent >= Some(id);
        let end = (id.0 + 1..last).take_while(within).last().map_or(id.0 + 1, |last| last + 1);
        Some(TopLevel { id, end, timing: this.timing?, parent: this.parent })
    }

    /// The calls within it, in order.
    pub fn within(&self) -> impl Iterator<Item = CallId> + use<> {
        (self.id.0 + 1..self.end).map(CallId)
    }

    /// The time since the op before it ended, where both lie in the same range and no other
    /// call lies between.
    pub fn gap_after(&self, graph: &Graph, before: &TopLevel) -> Option<Nanos> {
        let neighbours = self.parent == before.parent && before.end == self.id.0;
        let same_thread = graph.call(self.id).processor == graph.call(before.id).processor;
        (neighbours && same_thread).then(|| self.timing.start.since(before.timing.end()))
    }

    /// Its name.
    pub fn name(&self, graph: &Graph) -> String {
        graph.names.text(graph.call(self.id).name).to_owned()
    }

    /// The shapes of its inputs as written; empty where not recorded.
    pub fn shapes(&self, graph: &Graph) -> String {
        let facts = graph.call(self.id).facts.and_then(|row| graph.ops.get(row));
        facts.map_or("", |facts| graph.names.text(facts.dims)).to_owned()
    }
}
