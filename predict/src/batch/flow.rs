//! A batch under way: what format it has, its blocks in order, its problems by line.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use kernelgauge_data::ExitStatus;
use rayon::prelude::*;

use super::blocks::{self, BlockError, Blocks, Quotes};
use super::csv_rows::{CsvRows, HeaderError, is_silent};
use super::desk::Desk;
use super::error::{BatchError, Place};
use super::json_rows::JsonRows;
use super::piece::{Columns, PROBLEMS_SHOWN, Piece, Rows};
use crate::error::CommandError;
use crate::machine::MachineError;
use crate::notes;
use crate::predictor::StandIn;

/// Bytes that tell the format: enough for any header.
const HEAD: usize = 1 << 20;

/// A piece of answers, and the rows of it that another dtype answered.
type Answers = (Piece, BTreeMap<StandIn, u64>);

/// What became of a batch.
#[derive(Debug, Default)]
struct Tally {
    rows: u64,
    failed: u64,
    line: u64,
    stand_ins: BTreeMap<StandIn, u64>,
    columns: Columns,
    /// Columns that were named as slips already.
    slips: Vec<String>,
}

/// A batch under way.
pub struct Batch<'a> {
    name: String,
    desk: &'a Desk,
    tally: Tally,
    stderr: &'a mut dyn Write,
}

impl<'a> Batch<'a> {
    /// A batch whose messages go to `stderr` and call the input `name`.
    pub fn new(name: String, desk: &'a Desk, stderr: &'a mut dyn Write) -> Self {
        Batch { name, desk, tally: Tally::default(), stderr }
    }

    /// Reads all of `input` and writes the answers to `out`.
    ///
    /// # Errors
    /// What is wrong with the input as a whole, or what the writer says.
    pub fn answer(
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
                return Err(header(HeaderError::Missing).into());
            }
            begin += length;
            self.tally.line += 1;
            if !is_silent(&rest[..length]) {
                break rest[..length].to_vec();
            }
        };
        head.drain(..begin);
        let text = String::from_utf8(record).map_err(|_| BatchError::NotText(self.name.clone()))?;
        let own = self.desk.own_parameters();
        let rows = CsvRows::from_header(text.trim_end(), &own).map_err(header)?;
        if !self.desk.has_machine() && !rows.has("machine") {
            return Err(MachineError::NotNamed.into());
        }
        for (column, name) in rows.renamed() {
            notes::note(self.stderr, &format!("column `{column}` is read as `{name}`"))?;
        }
        for (column, nearest) in rows.slips(&own) {
            let text = format!("column `{column}` is passed through; did you mean `{nearest}`?");
            notes::warn(self.stderr, &text)?;
            self.tally.slips.push(column);
        }
        Ok(rows)
    }

    /// While the threads answer a block, this one writes the block before and reads the next.
    fn answer_rows<R: Read>(
        &mut self,
        rows: &impl Rows,
        mut blocks: Blocks<R>,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        let desk = self.desk;
        let mut cut = false;
        let mut done = Vec::new();
        let mut read = blocks.next();
        let end = loop {
            let block = match read {
                Ok(Some(block)) => block,
                end => break end,
            };
            cut = rows.quotes() == Quotes::Hide && !block.ends_with(b"\n");
            let mut answers = Vec::new();
            let written;
            (read, written) = rayon::in_place_scope(|scope| {
                scope.spawn(|_| answers = answer_block(&block, rows, desk));
                (blocks.next(), self.write(std::mem::take(&mut done), out))
            });
            written?;
            done = answers;
        };
        self.write(done, out)?;
        end.map_err(|error| self.stopped(error))?;
        if cut {
            // A number that lost its last digits looks like any other.
            notes::note(self.stderr, "the last line has no end of line: was the file cut?")?;
        }
        Ok(())
    }

    fn write(&mut self, answers: Vec<Answers>, out: &mut dyn Write) -> io::Result<()> {
        for (piece, stand_ins) in answers {
            out.write_all(&piece.bytes)?;
            self.report(&piece)?;
            self.tally.rows += piece.rows;
            self.tally.failed += piece.failed;
            self.tally.line += piece.lines;
            for (stand_in, count) in stand_ins {
                *self.tally.stand_ins.entry(stand_in).or_default() += count;
            }
            self.tally.columns.join(piece.columns);
        }
        Ok(())
    }

    /// Names the problems of a piece, as far as not enough were named before.
    fn report(&mut self, piece: &Piece) -> io::Result<()> {
        let shown = self.tally.failed.min(PROBLEMS_SHOWN as u64) as usize;
        for problem in piece.problems.iter().take(PROBLEMS_SHOWN - shown) {
            let line = self.tally.line + problem.line + 1;
            writeln!(self.stderr, "error: {}:{line}: {}", self.name, problem.message)?;
            if let Some(hint) = &problem.hint {
                writeln!(self.stderr, "hint: {hint}")?;
            }
        }
        Ok(())
    }

    /// Says what is left to say.
    ///
    /// # Errors
    /// What the writer of messages says.
    pub fn finish(self) -> Result<ExitStatus, CommandError> {
        let Tally { rows, failed, stand_ins, columns, slips, .. } = self.tally;
        let unread = columns.unread();
        let unread = unread.filter(|name| !slips.iter().any(|slip| slip == name));
        notes::not_read(self.stderr, &unread.collect::<Vec<_>>())?;
        for ((collective, asked, used), count) in stand_ins {
            notes::stood_in(self.stderr, collective, asked, used, Some(count))?;
        }
        for predictor in self.desk.machines() {
            notes::of_model(self.stderr, &predictor)?;
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

    fn stopped(&self, source: BlockError) -> BatchError {
        let place = Place { name: self.name.clone(), line: self.tally.line + 1 };
        BatchError::Stopped { place, source }
    }
}

/// Answers every row of a block, on all threads, in order.
fn answer_block(block: &[u8], rows: &impl Rows, desk: &Desk) -> Vec<Answers> {
    // More pieces than threads, so that one slow thread does not hold up the rest.
    blocks::pieces(block, rayon::current_num_threads() * 4, rows.quotes())
        .par_iter()
        .map(|bytes| {
            let mut seat = desk.seat();
            let piece = rows.answer_all(bytes, &mut seat);
            (piece, seat.stand_ins)
        })
        .collect()
}

fn is_text(head: &[u8]) -> bool {
    !head.contains(&0) && !head.starts_with(&[0x1f, 0x8b])
}
