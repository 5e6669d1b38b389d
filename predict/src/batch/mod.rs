//! `predict batch`: answers every row of a CSV or JSON lines input, in order, in the same
//! format, in bounded memory.
//!
//! A block of rows is read (`blocks`), cut into pieces for the threads, answered (`csv_rows`,
//! `json_rows`, `desk`) and written (`flow`). A row without an answer says why in its `error` field and
//! on standard error; the rest goes on.

mod blocks;
mod csv_rows;
mod defaults;
mod desk;
mod error;
mod flow;
mod json_rows;
mod names;
mod op_name;
mod output;
mod piece;

pub use error::BatchError;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use kernelgauge_data::ExitStatus;
use kernelgauge_data::nearest::UnknownName;

use crate::args::BatchArguments;
use crate::error::CommandError;
use crate::predictor::{Ask, Predictor};
use desk::Desk;
use flow::Batch;
use op_name::{OpName, RowOp};

/// Answers the batch.
///
/// # Errors
/// What is wrong with the input as a whole; problems with single rows are told in the answer.
pub fn run(
    arguments: &BatchArguments,
    ask: Ask,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Result<ExitStatus, CommandError> {
    let usual = match &arguments.model.machine {
        Some(machine) => Some(Predictor::named(Some(machine))?),
        None => None,
    };
    let op = match &arguments.op {
        Some(name) => Some(op_of_all(name, usual.as_ref()).map_err(BatchError::Op)?),
        None => None,
    };
    let desk = Desk::new(ask, op, usual);
    let source = Source::open(&arguments.input)?;
    let mut batch = Batch::new(source.name, &desk, stderr);
    batch.answer(source.reader, stdout)?;
    batch.finish()
}

/// The op of every row; one of a machine's own only where the machine is known too.
fn op_of_all(name: &str, usual: Option<&Predictor>) -> Result<RowOp<String>, UnknownName> {
    let Some(usual) = usual else { return OpName::parse(name).map(RowOp::Known) };
    Ok(match OpName::parse_among(name, usual.model())? {
        RowOp::Known(known) => RowOp::Known(known),
        RowOp::Custom(own) => RowOp::Custom(own.to_owned()),
    })
}

/// An opened input with the name that messages use.
struct Source {
    name: String,
    reader: Box<dyn Read>,
}

impl Source {
    fn open(input: &OsStr) -> Result<Self, BatchError> {
        if input == "-" {
            let reader = Box::new(io::stdin());
            return Ok(Source { name: "standard input".to_owned(), reader });
        }
        let name = Path::new(input).display().to_string();
        let failed = |source| BatchError::Read { name: name.clone(), source };
        let file = File::open(input).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_dir() {
            return Err(BatchError::Folder(name));
        }
        Ok(Source { name, reader: Box::new(file) })
    }
}
