//! `predict overheads`: what ops cost on the host of a recorded workload.
//!
//! Left to others: what each kind of overhead is (`kernelgauge_trace::overheads`).

mod rows;
mod table;

use std::io::Write;

use kernelgauge_data::{ExitStatus, Nanos};
use kernelgauge_trace::overheads::overheads;

use crate::args::Format;
use crate::args::trace::OverheadsArguments;
use crate::error::CommandError;
use crate::inspect;

/// Answers `predict overheads`.
///
/// # Errors
/// Traces that cannot be read, and what the writer says.
pub fn run(
    arguments: &OverheadsArguments,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Result<ExitStatus, CommandError> {
    let graph = inspect::graph(&arguments.traces, stderr)?;
    let cost = Nanos::saturating(arguments.event_cost * 1e3);
    let found = overheads(&graph, cost, arguments.by_shape);
    match arguments.format {
        Format::Table => table::write(&graph, &found, arguments.top, stdout)?,
        Format::Json => rows::write_json(&graph, &found, stdout)?,
        Format::Csv => rows::write_csv(&found, stdout)?,
    }
    stdout.flush()?;
    Ok(ExitStatus::Success)
}
