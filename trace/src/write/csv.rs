//! One row per task: for spreadsheets, pandas and the like.
//!
//! Times are microseconds with nanosecond digits, from the first event of all ranks. Empty cells
//! are what is not known.

use std::io::Write;

use ::csv::{Error, Writer};

use super::moment::{Micros, origin};
use crate::graph::{CollectiveKind, EdgeKind, Graph, ProcessorKind, Provenance, Task, TaskId};

/// The columns, in order.
pub const COLUMNS: [&str; 21] = [
    "task",
    "rank",
    "step",
    "processor",
    "kind",
    "name",
    "start_us",
    "duration_us",
    "duration_is",
    "op",
    "input_shapes",
    "input_types",
    "launched_by",
    "bytes",
    "collective",
    "dtype",
    "bytes_in",
    "bytes_out",
    "group",
    "sequence",
    "waits_for",
];

/// Writes all tasks of a graph, with a row of column names first. `waits_for` lists tasks with
/// the kind of dependency, such as `17:stream 12:launch`.
///
/// # Errors
///
/// What the writer refuses.
pub fn tasks(graph: &Graph, out: impl Write) -> Result<u64, Error> {
    let mut writer = Writer::from_writer(out);
    writer.write_record(COLUMNS)?;
    let origin = origin(graph);
    let mut edges: Vec<_> = graph.edges.iter().collect();
    edges.sort_by_key(|edge| (edge.to, edge.from, edge.kind));
    let mut edges = edges.into_iter().peekable();
    for (place, task) in (0..).zip(&graph.tasks) {
        let mut waits_for = String::new();
        while let Some(edge) = edges.next_if(|edge| edge.to <= TaskId(place)) {
            if !waits_for.is_empty() {
                waits_for.push(' ');
            }
            waits_for.push_str(&format!("{}:{}", edge.from.0, edge_word(edge.kind)));
        }
        let start = task.timing.map(|timing| Micros::between(origin, timing.start).to_string());
        let duration = task.timing.map(|timing| Micros::lasting(timing.duration).to_string());
        let mut row = vec![place.to_string()];
        row.extend(place_cells(graph, task));
        row.extend([task.kind.name().to_owned(), graph.names.text(task.name).to_owned()]);
        row.extend([start.unwrap_or_default(), duration.unwrap_or_default()]);
        row.push(provenance_word(task.provenance).to_owned());
        row.extend(op_cells(graph, task));
        row.push(task.launch.map_or_else(String::new, |launch| launch.0.to_string()));
        row.push(number(task.bytes));
        row.extend(collective_cells(graph, task));
        row.push(waits_for);
        writer.write_record(&row)?;
    }
    writer.flush()?;
    Ok(graph.tasks.len() as u64)
}

/// Rank, step and processor.
fn place_cells(graph: &Graph, task: &Task) -> [String; 3] {
    let processor = graph.processors.get(task.processor.0 as usize);
    let rank = processor.and_then(|processor| graph.ranks.get(processor.rank as usize));
    let step = rank.zip(task.step).and_then(|(rank, step)| rank.steps.get(step as usize));
    let where_ = processor.map(|processor| match processor.kind {
        ProcessorKind::Thread { thread, .. } => format!("thread {}", graph.names.text(thread)),
        ProcessorKind::Stream { device, stream } => format!("device {device} stream {stream}"),
    });
    [
        rank.map_or_else(String::new, |rank| rank.number.to_string()),
        step.map_or_else(String::new, |step| step.number.to_string()),
        where_.unwrap_or_default(),
    ]
}

/// Name, shapes and types of the op it belongs to.
fn op_cells(graph: &Graph, task: &Task) -> [String; 3] {
    let call = task.call.and_then(|call| graph.calls.get(call.0 as usize));
    let facts = call.and_then(|call| call.facts).and_then(|row| graph.ops.get(row));
    let word = |symbol| graph.names.text(symbol).to_owned();
    [
        call.map_or_else(String::new, |call| word(call.name)),
        facts.map_or_else(String::new, |facts| word(facts.dims)),
        facts.map_or_else(String::new, |facts| word(facts.types)),
    ]
}

/// Kind, element type, bytes in and out, group and sequence number of a collective.
fn collective_cells(graph: &Graph, task: &Task) -> [String; 6] {
    let stated = task.collective.and_then(|place| graph.collectives.get(place.0 as usize));
    let Some(stated) = stated else { return Default::default() };
    let group = stated.group.and_then(|group| graph.groups.get(group.0 as usize));
    [
        stated.kind.map_or("", CollectiveKind::name).replace('_', "-"),
        graph.names.text(stated.dtype).to_owned(),
        number(stated.bytes_in),
        number(stated.bytes_out),
        group.map_or_else(String::new, |group| graph.names.text(group.name).to_owned()),
        number(stated.sequence),
    ]
}

fn number(number: Option<u64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

fn edge_word(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Thread => "thread",
        EdgeKind::Wake => "wake",
        EdgeKind::ForwardBackward => "forward-backward",
        EdgeKind::Launch => "launch",
        EdgeKind::Stream => "stream",
        EdgeKind::Event => "event",
        EdgeKind::Sync => "sync",
        EdgeKind::Stated => "stated",
    }
}

fn provenance_word(provenance: Provenance) -> &'static str {
    match provenance {
        Provenance::Measured => "measured",
        Provenance::Modelled => "modelled",
        Provenance::Assumed => "assumed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::sample;

    #[test]
    fn a_row_says_what_a_task_is_and_waits_for() {
        let mut out = Vec::new();
        let graph = sample::graph();
        assert_eq!(tasks(&graph, &mut out).unwrap(), 4);
        let text = String::from_utf8(out).unwrap();
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows[0], COLUMNS.join(","));
        assert_eq!(
            rows[1],
            "0,3,7,thread 12,op,aten::mm,0.000,5.000,measured,aten::mm,\"[[2,3],[3,4]]\",\
             \"[\"\"float\"\",\"\"float\"\"]\",,,,,,,,,"
        );
        assert_eq!(
            rows[2],
            "1,3,7,thread 12,runtime,cudaLaunchKernel,5.000,1.500,measured,cudaLaunchKernel,,,,\
             ,,,,,,,0:thread"
        );
        assert_eq!(
            rows[4],
            "3,3,7,device 0 stream 20,collective,all_reduce,20.000,10.250,measured,aten::mm,\
             \"[[2,3],[3,4]]\",\"[\"\"float\"\",\"\"float\"\"]\",1,,all-reduce,Float,64,64,0,5,\
             2:event"
        );
    }
}
