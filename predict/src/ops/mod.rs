//! `predict ops`: what a recorded workload runs, as points.
//!
//! Left to others: what counts as one op and which point it is (`kernelgauge_trace::ops`).

mod answers;
mod rows;
mod table;

use std::io::Write;

use kernelgauge_data::ExitStatus;
use kernelgauge_trace::ops;

use crate::args::Format;
use crate::args::trace::OpsArguments;
use crate::error::CommandError;
use crate::inspect;
use crate::predictor::{Ask, Predictor};

/// Answers `predict ops`.
///
/// # Errors
/// Traces or a model that cannot be read, and what the writer says.
pub fn run(
    arguments: &OpsArguments,
    ask: Ask,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Result<ExitStatus, CommandError> {
    let named = arguments.model.machine.as_deref();
    let predictor = named.map(|name| Predictor::named(Some(name))).transpose()?;
    let graph = inspect::graph(&arguments.traces, stderr)?;
    let lines = ops::distinct(&graph);
    let answers = answers::of(predictor.as_ref(), ask, &lines);
    match arguments.format {
        Format::Table => table::write(&lines, &answers, arguments.top, stdout)?,
        Format::Json => rows::write_json(&lines, &answers, stdout)?,
        Format::Csv => rows::write_csv(&lines, &answers, stdout)?,
    }
    stdout.flush()?;
    Ok(ExitStatus::Success)
}
