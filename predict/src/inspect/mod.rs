//! `predict inspect`: what recorded traces say.
//!
//! Left to others: reading and linking (`kernelgauge-trace`), what the figures mean
//! (`kernelgauge_trace::inspect`).

mod json;
mod rows;
mod table;

use std::io::Write;

use kernelgauge_data::ExitStatus;
use kernelgauge_trace::inspect::{Inspection, inspect};
use kernelgauge_trace::{Graph, ReadOptions, input};

use crate::args::Format;
use crate::args::trace::{InspectArguments, TraceFiles};
use crate::error::CommandError;
use crate::terminal::harmless;

/// Notes of reading that are told before the rest is counted.
const NOTES_SHOWN: usize = 12;

/// Answers `predict inspect`.
///
/// # Errors
/// Traces that cannot be read, and what the writer says.
pub fn run(
    arguments: &InspectArguments,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Result<ExitStatus, CommandError> {
    let graph = graph(&arguments.traces, stderr)?;
    let inspection = inspect(&graph);
    let top = arguments.top;
    match arguments.format {
        Format::Table => table::write(&graph, &inspection, top, stdout)?,
        Format::Json => json::write(&graph, &inspection, stdout)?,
        Format::Csv => rows::write(&graph, &inspection, stdout)?,
    }
    stdout.flush()?;
    if arguments.format != Format::Json {
        advise(&inspection, stderr)?;
    }
    Ok(ExitStatus::Success)
}

/// Reads and links the traces that were named.
///
/// # Errors
/// Traces that cannot be read.
pub fn graph(files: &TraceFiles, stderr: &mut dyn Write) -> Result<Graph, CommandError> {
    let options = ReadOptions {
        allow_truncated: files.allow_truncated,
        allow_unknown_schema: files.allow_unknown_schema,
        ..ReadOptions::default()
    };
    let loaded = input::load(&files.files, &options)?;
    for note in loaded.notes.iter().take(NOTES_SHOWN) {
        writeln!(stderr, "note: {}", harmless(note))?;
    }
    if let Some(more) = loaded.notes.len().checked_sub(NOTES_SHOWN).filter(|&more| more > 0) {
        writeln!(stderr, "note: and {more} more notes")?;
    }
    Ok(loaded.into_graph()?)
}

/// What to know about the recording, each with its remedy.
fn advise(inspection: &Inspection, stderr: &mut dyn Write) -> std::io::Result<()> {
    for advice in &inspection.advice {
        writeln!(stderr, "warning: {}", harmless(&advice.finding))?;
        if let Some(hint) = advice.hint {
            writeln!(stderr, "hint: {hint}")?;
        }
    }
    Ok(())
}
