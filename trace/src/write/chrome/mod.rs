//! One rank of a graph as a Chrome trace, as PyTorch's profiler writes them.
//!
//! Calls become events of threads, work on devices becomes events of streams with the
//! `correlation` of their launch, launches become arrows (`ac2g`). What HolisticTraceAnalysis
//! needs is there: `distributedInfo`, `deviceProperties`, `cat` and `dur` on every event that
//! counts, and names of collectives that begin with `nccl`.
//!
//! Times count from the first event of all ranks; `baseTimeNanoseconds` is that moment.

mod args;
mod head;

use std::io::{self, Write};

use super::moment::{Micros, origin};
use crate::graph::{
    Call, CallKind, Graph, Processor, ProcessorKind, Task, TaskId, TaskKind, Timing,
};
use crate::names::Symbol;
use crate::time::Moment;

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Events with a time: calls and work on devices.
    pub events: u64,
    /// Arrows from launches to work.
    pub arrows: u64,
    /// Calls and tasks left out because their times are not known.
    pub untimed: u64,
}

/// Writes the rank at a place among the ranks of a graph as JSON; nothing but the frame for a
/// place that has no rank.
///
/// # Errors
///
/// What the writer refuses.
pub fn rank(graph: &Graph, place: u32, out: &mut impl Write) -> io::Result<Written> {
    let mut writer = Writer {
        graph,
        origin: origin(graph),
        out,
        first: true,
        written: Written::default(),
        args: args::Args::new(graph),
    };
    head::write(graph, place, writer.origin, writer.out)?;
    writer.out.write_all(b"\"traceEvents\": [")?;
    for processor in graph.processors.iter().filter(|processor| processor.rank == place) {
        writer.processor(processor)?;
    }
    writer.out.write_all(b"\n]}\n")?;
    Ok(writer.written)
}

/// What all events have.
struct Common<'a> {
    category: &'a str,
    name: &'a str,
    timing: Timing,
    lane: &'a Lane,
}

/// Process and thread of an event, as JSON values.
struct Lane {
    process: String,
    thread: String,
}

struct Writer<'a, W> {
    graph: &'a Graph,
    origin: Moment,
    out: &'a mut W,
    first: bool,
    written: Written,
    args: args::Args<'a>,
}

impl<W: Write> Writer<'_, W> {
    fn processor(&mut self, processor: &Processor) -> io::Result<()> {
        let graph = self.graph;
        let lane = self.lane(&processor.kind);
        self.lane_names(&processor.kind, &lane)?;
        let calls = processor.calls.clone();
        let has_calls = !calls.is_empty();
        for place in calls {
            if let Some(call) = graph.calls.get(place as usize) {
                self.call(place, call, &lane)?;
            }
        }
        for place in processor.tasks.clone() {
            let Some(task) = graph.tasks.get(place as usize) else { continue };
            match processor.kind {
                ProcessorKind::Stream { device, stream } => {
                    self.work(TaskId(place), task, (device, stream), &lane)?;
                }
                // Pieces of threads only where nobody recorded the calls they are pieces of.
                ProcessorKind::Thread { .. } if !has_calls => {
                    self.piece(TaskId(place), task, &lane)?;
                }
                ProcessorKind::Thread { .. } => {}
            }
        }
        Ok(())
    }

    fn call(&mut self, place: u32, call: &Call, lane: &Lane) -> io::Result<()> {
        let Some(timing) = call.timing else { return self.leave_out() };
        let graph = self.graph;
        let category = match call.kind {
            CallKind::Op => "cpu_op",
            CallKind::Annotation => "user_annotation",
            CallKind::Runtime => runtime_category(graph.names.text(call.name)),
        };
        self.begin(&Common { category, name: graph.names.text(call.name), timing, lane })?;
        match call.kind {
            CallKind::Runtime => self.args.runtime(place, self.out)?,
            CallKind::Op | CallKind::Annotation => self.args.op(place, call, self.out)?,
        }
        self.out.write_all(b"}")
    }

    fn piece(&mut self, id: TaskId, task: &Task, lane: &Lane) -> io::Result<()> {
        if matches!(task.kind, TaskKind::Gap | TaskKind::Wait) {
            return Ok(());
        }
        let Some(timing) = task.timing else { return self.leave_out() };
        let name = self.graph.names.text(task.name);
        let runtime = task.kind == TaskKind::Runtime;
        let category = if runtime { runtime_category(name) } else { "cpu_op" };
        self.begin(&Common { category, name, timing, lane })?;
        if runtime {
            write!(self.out, ", \"args\": {{\"correlation\": {}}}", correlation(id))?;
        }
        self.out.write_all(b"}")
    }

    fn work(&mut self, id: TaskId, task: &Task, place: (i64, i64), lane: &Lane) -> io::Result<()> {
        let Some(timing) = task.timing else { return self.leave_out() };
        let category = match task.kind {
            TaskKind::Copy => "gpu_memcpy",
            TaskKind::Fill => "gpu_memset",
            _ => "kernel",
        };
        let recorded = self.graph.names.text(task.name);
        let renamed = format!("ncclDevKernel_{recorded}");
        let communicates = task.kind == TaskKind::Collective;
        let is_named = recorded.starts_with("nccl") || recorded.starts_with("rccl");
        let name = if communicates && !is_named { &renamed } else { recorded };
        self.begin(&Common { category, name, timing, lane })?;
        self.args.work(id, task, place, self.out)?;
        self.out.write_all(b"}")?;
        self.arrow(id, task, timing, lane)
    }

    /// From the launch of a piece of work to the work.
    fn arrow(&mut self, id: TaskId, task: &Task, timing: Timing, lane: &Lane) -> io::Result<()> {
        let graph = self.graph;
        let Some(launch) = task.launch.and_then(|launch| graph.tasks.get(launch.0 as usize)) else {
            return Ok(());
        };
        let Some(launched) = launch.timing else { return Ok(()) };
        let Some(processor) = graph.processors.get(launch.processor.0 as usize) else {
            return Ok(());
        };
        let from = self.lane(&processor.kind);
        let number = task.launch.map_or(correlation(id), correlation);
        for (phase, lane, at) in [("s", &from, launched.start), ("f", lane, timing.start)] {
            let bound = if phase == "f" { ", \"bp\": \"e\"" } else { "" };
            self.separate()?;
            write!(
                self.out,
                "{{\"ph\": \"{phase}\", \"id\": {number}, \"pid\": {}, \"tid\": {}, \"ts\": {}, \
                 \"cat\": \"ac2g\", \"name\": \"ac2g\"{bound}}}",
                lane.process,
                lane.thread,
                Micros::between(self.origin, at),
            )?;
        }
        self.written.arrows += 1;
        Ok(())
    }

    fn begin(&mut self, event: &Common<'_>) -> io::Result<()> {
        self.separate()?;
        self.written.events += 1;
        write!(self.out, "{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": ", event.category)?;
        text(self.out, event.name)?;
        write!(
            self.out,
            ", \"pid\": {}, \"tid\": {}, \"ts\": {}, \"dur\": {}",
            event.lane.process,
            event.lane.thread,
            Micros::between(self.origin, event.timing.start),
            Micros::lasting(event.timing.duration),
        )
    }

    fn lane(&self, kind: &ProcessorKind) -> Lane {
        let value = |symbol: Symbol| {
            let text = self.graph.names.text(symbol);
            match text.parse::<i64>() {
                Ok(number) => number.to_string(),
                Err(_) => serde_json::Value::from(text).to_string(),
            }
        };
        match *kind {
            ProcessorKind::Thread { process, thread } => {
                Lane { process: value(process), thread: value(thread) }
            }
            ProcessorKind::Stream { device, stream } => {
                Lane { process: device.to_string(), thread: stream.to_string() }
            }
        }
    }

    /// What viewers show beside the lanes.
    fn lane_names(&mut self, kind: &ProcessorKind, lane: &Lane) -> io::Result<()> {
        let (process, thread) = match kind {
            ProcessorKind::Thread { .. } => ("host".to_owned(), lane.thread.replace('"', "")),
            ProcessorKind::Stream { device, stream } => {
                (format!("GPU {device}"), format!("stream {stream}"))
            }
        };
        for (what, name) in [("process_name", process), ("thread_name", thread)] {
            self.separate()?;
            write!(
                self.out,
                "{{\"ph\": \"M\", \"name\": \"{what}\", \"pid\": {}, \"tid\": {}, \"ts\": 0, \
                 \"args\": {{\"name\": ",
                lane.process, lane.thread
            )?;
            text(self.out, &name)?;
            self.out.write_all(b"}}")?;
        }
        Ok(())
    }

    fn separate(&mut self) -> io::Result<()> {
        let separator: &[u8] = if self.first { b"\n" } else { b",\n" };
        self.first = false;
        self.out.write_all(separator)
    }

    fn leave_out(&mut self) -> io::Result<()> {
        self.written.untimed += 1;
        Ok(())
    }
}

/// The number a launch shares with what it launched: the launch's own, from 1.
fn correlation(launch: TaskId) -> u64 {
    u64::from(launch.0) + 1
}

/// The profiler keeps calls of the driver (`cuLaunchKernel`) apart from those of the runtime
/// (`cudaLaunchKernel`); both vendors' are counted as CUDA's by what reads its files.
fn runtime_category(name: &str) -> &'static str {
    let driver = name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(char::is_uppercase));
    if driver { "cuda_driver" } else { "cuda_runtime" }
}

/// A text as JSON.
fn text(out: &mut impl Write, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::from)
}

#[cfg(test)]
mod tests;
