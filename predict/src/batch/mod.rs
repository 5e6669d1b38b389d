//! `predict batch`: answers every row of a CSV or JSON lines input, in order, in the same
//! format, in bounded memory.
//!
//! A block of rows is read (`blocks`), cut into a piece for each thread, answered (`csv_rows`,
//! `json_rows`, `desk`) and written. A row without an answer says why in its `error` field and
//! on standard error; the rest goes on.

mod blocks;
mod csv_rows;
mod desk;
mod error;
mod json_rows;
mod op_name;
mod output;
mod piece;

pub use error::BatchError;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use kernelgauge_data::{ExitStatus, Origin};
use rayon::prelude::*;

use crate::args::BatchArguments;
use crate::error::CommandError;
use crate::notes;
use crate::predictor::{Ask, Predictor};
use blocks::{Blocks, Quotes};
use csv_rows::{CsvRows, is_silent};
use desk::{Desk, StandIn};
use error::Place;
use json_rows::JsonRows;
use op_name::OpName;
use piece::{PROBLEMS_SHOWN, Piece, Rows};

/// Bytes that tell the format: enough for any header.
const HEAD: usize = 1 << 20;

/// What became of a batch.
#[derive(Debug, Default)]
struct Tally {
    rows: u64,
    failed: u64,
    line: u64,
    stand_ins: BTreeMap<StandIn, u64>,
}

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
    let op = arguments.op.as_deref().map(OpName::parse).transpose().map_err(BatchError::Op)?;
    let usual = match &arguments.model.machine {
        Some(machine) => Some(Predictor::named(Some(machine))?),
        None => None,
    };
    let desk = Desk::new(ask, op, usual);
    let source = Source::open(&arguments.input)?;
    let mut batch = Batch { name: source.name, desk: &desk, tally: Tally::default(), stderr };
    batch.answer(source.reader, stdout)?;
    batch.finish()
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

/// A batch under way.
struct Batch<'a> {
    name: String,
    desk: &'a Desk,
    tally: Tally,
    stderr: &'a mut dyn Write,
}

impl Batch<'_> {
    fn answer(
        &mut self,
        mut input: Box<dyn Read>,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        let mut head = Vec::new();
        input
            .by_ref()
            .take(HEAD as u64)
            .read_to_end(&mut head)
            .map_err(|error| self.read(error))?;
        if head.starts_with(b"\xef\xbb\xbf") {
            head.drain(..3);
        }
        if !is_text(&head) {
            return Err(BatchError::NotText(self.name.clone()).into());
        }
        match head.iter().find(|byte| !byte.is_ascii_whitespace()) {
            None => Err(BatchError::Empty(self.name.clone()).into()),
            Some(b'[') => Err(BatchError::JsonArray(self.name.clone()).into()),
            Some(b'{') => self.answer_rows(&JsonRows, Blocks::new(head, input, Quotes::Plain), out),
            Some(_) => {
                let rows = self.csv_header(&mut head)?;
                out.write_all(&rows.header())?;
                self.answer_rows(&rows, Blocks::new(head, input, Quotes::Hide), out)
            }
        }
    }

    /// Takes the header off the head of a CSV file.
    fn csv_header(&mut self, head: &mut Vec<u8>) -> Result<CsvRows, CommandError> {
        let header = |error| BatchError::Header { name: self.name.clone(), error };
        let mut begin = 0;
        let record = loop {
            let rest = &head[begin..];
            let length =
                rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
            if length == 0 {
                return Err(header(csv_rows::HeaderError::Missing).into());
            }
            begin += length;
            self.tally.line += 1;
            if !is_silent(&rest[..length]) {
                break rest[..length].to_vec();
            }
        };
        head.drain(..begin);
        let text = String::from_utf8(record).map_err(|_| BatchError::NotText(self.name.clone()))?;
        let rows = CsvRows::from_header(text.trim_end()).map_err(header)?;
        for (column, nearest) in rows.slips() {
            let text = format!("column `{column}` is passed through; did you mean `{nearest}`?");
            notes::warn(self.stderr, &text)?;
        }
        Ok(rows)
    }

    fn answer_rows<R: Read>(
        &mut self,
        rows: &impl Rows,
        mut blocks: Blocks<R>,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        let threads = rayon::current_num_threads();
        while let Some(block) = blocks.next().map_err(|error| self.stopped(error))? {
            // More pieces than threads, so that one slow thread does not hold up the rest.
            let pieces = blocks::pieces(&block, threads * 4, rows.quotes());
            let answered: Vec<(Piece, BTreeMap<StandIn, u64>)> = pieces
                .par_iter()
                .map(|bytes| {
                    let mut seat = self.desk.seat();
                    let piece = rows.answer_all(bytes, &mut seat);
                    (piece, seat.stand_ins)
                })
                .collect();
            for (bytes, (piece, stand_ins)) in pieces.iter().zip(answered) {
                out.write_all(&piece.bytes)?;
                self.tally(bytes, &piece, stand_ins)?;
            }
        }
        Ok(())
    }

    fn tally(
        &mut self,
        bytes: &[u8],
        piece: &Piece,
        stand_ins: BTreeMap<StandIn, u64>,
    ) -> io::Result<()> {
        let shown = self.tally.failed.min(PROBLEMS_SHOWN as u64) as usize;
        for problem in piece.problems.iter().take(PROBLEMS_SHOWN - shown) {
            let line = self.tally.line + problem.line + 1;
            writeln!(self.stderr, "error: {}:{line}: {}", self.name, problem.message)?;
            if let Some(hint) = &problem.hint {
                writeln!(self.stderr, "hint: {hint}")?;
            }
        }
        self.tally.rows += piece.rows;
        self.tally.failed += piece.failed;
        self.tally.line += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        for (stand_in, count) in stand_ins {
            *self.tally.stand_ins.entry(stand_in).or_default() += count;
        }
        Ok(())
    }

    fn finish(self) -> Result<ExitStatus, CommandError> {
        let Tally { rows, failed, stand_ins, .. } = self.tally;
        for ((collective, asked, used), count) in stand_ins {
            notes::stood_in(self.stderr, collective, asked, used, Some(count))?;
        }
        for predictor in self.desk.machines() {
            if predictor.model().origin() == Origin::Synthetic {
                notes::synthetic(self.stderr, &predictor.machine().name)?;
            }
        }
        if failed == 0 {
            return Ok(ExitStatus::Success);
        }
        writeln!(self.stderr, "error: {failed} of {rows} rows have no answer")?;
        Ok(ExitStatus::Findings)
    }

    fn read(&self, source: io::Error) -> BatchError {
        BatchError::Read { name: self.name.clone(), source }
    }

    fn stopped(&self, source: blocks::BlockError) -> BatchError {
        let place = Place { name: self.name.clone(), line: self.tally.line + 1 };
        BatchError::Stopped { place, source }
    }
}

fn is_text(head: &[u8]) -> bool {
    !head.contains(&0) && !head.starts_with(&[0x1f, 0x8b])
}
