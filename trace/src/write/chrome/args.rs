//! What events state beside name and time, under the keys of PyTorch's profiler.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::value::RawValue;

use super::{correlation, text};
use crate::build::elements;
use crate::graph::{Call, CollectiveKind, Graph, Task, TaskId, TaskKind};
use crate::names::Symbol;

/// Writes the `args` of events.
pub(super) struct Args<'a> {
    graph: &'a Graph,
    /// The number that runtime calls share with what they launch.
    launches: HashMap<u32, u64>,
    /// Whether a text of shapes or the like is JSON.
    sound: HashMap<Symbol, bool>,
}

impl<'a> Args<'a> {
    pub fn new(graph: &'a Graph) -> Self {
        let mut launches = HashMap::new();
        for (place, task) in (0..).zip(&graph.tasks) {
            if task.kind == TaskKind::Runtime
                && let Some(call) = task.call
            {
                launches.entry(call.0).or_insert(correlation(TaskId(place)));
            }
        }
        Args { graph, launches, sound: HashMap::new() }
    }

    /// Of a runtime call, by its place among the calls.
    pub fn runtime(&self, place: u32, out: &mut impl Write) -> io::Result<()> {
        match self.launches.get(&place) {
            Some(number) => write!(out, ", \"args\": {{\"correlation\": {number}}}"),
            None => Ok(()),
        }
    }

    /// Of an op or annotation, by its place among the calls.
    pub fn op(&mut self, place: u32, call: &Call, out: &mut impl Write) -> io::Result<()> {
        write!(out, ", \"args\": {{\"External id\": {}", u64::from(place) + 1)?;
        let numbers =
            [("Record function id", call.record_function), ("Sequence number", call.sequence)];
        for (key, number) in numbers {
            if let Some(number) = number {
                write!(out, ", \"{key}\": {number}")?;
            }
        }
        let graph = self.graph;
        if let Some(facts) = call.facts.and_then(|row| graph.ops.get(row)) {
            if facts.forward_thread != 0 {
                write!(out, ", \"Fwd thread id\": {}", facts.forward_thread)?;
            }
            let texts = [
                ("Input Dims", facts.dims),
                ("Input type", facts.types),
                ("Concrete Inputs", facts.values),
                ("Input Strides", facts.strides),
            ];
            for (key, symbol) in texts {
                self.json(key, symbol, out)?;
            }
            if !facts.backend.is_empty() {
                out.write_all(b", \"kernel_backend\": ")?;
                text(out, graph.names.text(facts.backend))?;
            }
        }
        out.write_all(b"}")
    }

    /// Of work on a stream of a device.
    pub fn work(
        &self,
        id: TaskId,
        task: &Task,
        (device, stream): (i64, i64),
        out: &mut impl Write,
    ) -> io::Result<()> {
        let number = task.launch.map_or(correlation(id), correlation);
        write!(
            out,
            ", \"args\": {{\"device\": {device}, \"stream\": {stream}, \"correlation\": {number}"
        )?;
        if let Some(call) = task.call {
            write!(out, ", \"External id\": {}", u64::from(call.0) + 1)?;
        }
        if let Some(bytes) = task.bytes {
            write!(out, ", \"bytes\": {bytes}")?;
        }
        self.collective(task, out)?;
        out.write_all(b"}")
    }

    fn collective(&self, task: &Task, out: &mut impl Write) -> io::Result<()> {
        let graph = self.graph;
        let Some(stated) =
            task.collective.and_then(|place| graph.collectives.get(place.0 as usize))
        else {
            return Ok(());
        };
        let word = |symbol| graph.names.text(symbol);
        let mut state = |key: &str, value: &str| {
            write!(out, ", \"{key}\": ")?;
            text(out, value)
        };
        if let Some(kind) = stated.kind {
            state("Collective name", name(kind))?;
        }
        let dtype = word(stated.dtype);
        if !dtype.is_empty() {
            state("dtype", dtype)?;
        }
        state("In split size", splits(word(stated.split_in)))?;
        state("Out split size", splits(word(stated.split_out)))?;
        let group = stated.group.and_then(|group| graph.groups.get(group.0 as usize));
        if let Some(group) = group {
            state("Process Group Name", word(group.name))?;
            state("Process Group Description", word(group.description))?;
            if !group.ranks.is_empty() {
                let ranks: Vec<String> = group.ranks.iter().map(u32::to_string).collect();
                state("Process Group Ranks", &format!("[{}]", ranks.join(", ")))?;
            }
        }
        let item = elements::bytes_of(dtype);
        let elements = |bytes: Option<u64>| bytes.zip(item).map(|(bytes, item)| bytes / item);
        let numbers = [
            ("In msg nelems", elements(stated.bytes_in)),
            ("Out msg nelems", elements(stated.bytes_out)),
            ("Group size", group.and_then(|group| group.size).map(u64::from)),
            ("Seq", stated.sequence),
        ];
        for (key, number) in numbers {
            if let Some(number) = number {
                write!(out, ", \"{key}\": {number}")?;
            }
        }
        Ok(())
    }

    /// A text that is JSON already; left out if it is none.
    fn json(&mut self, key: &str, symbol: Symbol, out: &mut impl Write) -> io::Result<()> {
        let written = self.graph.names.text(symbol);
        let is_json = || serde_json::from_str::<&RawValue>(written).is_ok();
        if symbol.is_empty() || !*self.sound.entry(symbol).or_insert_with(is_json) {
            return Ok(());
        }
        write!(out, ", \"{key}\": {written}")
    }
}

/// As PyTorch names it in metadata.
fn name(kind: CollectiveKind) -> &'static str {
    match kind {
        CollectiveKind::AllReduce => "allreduce",
        CollectiveKind::Reduce => "reduce",
        CollectiveKind::AllGather => "all_gather",
        CollectiveKind::Gather => "gather",
        CollectiveKind::Scatter => "scatter",
        CollectiveKind::Broadcast => "broadcast",
        CollectiveKind::AllToAll => "all_to_all",
        CollectiveKind::AllToAllV => "all_to_allv",
        CollectiveKind::ReduceScatter => "reduce_scatter",
        CollectiveKind::Barrier => "barrier",
        CollectiveKind::Send => "send",
        CollectiveKind::Receive => "recv",
    }
}

fn splits(written: &str) -> &str {
    if written.is_empty() { "[]" } else { written }
}
