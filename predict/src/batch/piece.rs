//! What one thread made of its share of a block.

use std::collections::BTreeMap;

use super::blocks::Quotes;
use super::desk::{RowError, Seat};

/// Problems that are kept word for word; the rest are counted.
pub const PROBLEMS_SHOWN: usize = 20;

/// Rows that are read before they are answered: several blocks of the model's for each of a few
/// element types, and few enough to stay in a core's cache.
pub const TOGETHER: usize = 1024;

/// Different names of columns that are kept track of: more than any table has, and a bound on
/// what rows with ever new names can make of it.
const NAMES: usize = 256;

/// Columns or members that rows had, each with whether any row read it.
#[derive(Debug, Default)]
pub struct Columns(BTreeMap<String, bool>);

impl Columns {
    /// A row has the column `name`, and read it or not.
    pub fn see(&mut self, name: &str, read: bool) {
        if let Some(known) = self.0.get_mut(name) {
            *known |= read;
        } else if self.0.len() < NAMES {
            self.0.insert(name.to_owned(), read);
        }
    }

    /// Adds what other rows had.
    pub fn join(&mut self, other: Columns) {
        for (name, read) in other.0 {
            self.see(&name, read);
        }
    }

    /// Those that no row read, in name order.
    pub fn unread(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, read)| !**read).map(|(name, _)| name.as_str())
    }
}

/// A problem with one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line of the row, counted from 0 at the start of the piece.
    pub line: u64,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Answers and problems of a share of a block.
#[derive(Debug, Default)]
pub struct Piece {
    /// The answered rows, as they are written.
    pub bytes: Vec<u8>,
    /// Lines of input.
    pub lines: u64,
    /// Rows, answered or not.
    pub rows: u64,
    /// Rows without an answer.
    pub failed: u64,
    /// The first of the problems.
    pub problems: Vec<Problem>,
    /// Marks of the columns that were read, where a header numbers them.
    pub read: u64,
    /// Columns of the answered rows.
    pub columns: Columns,
}

impl Piece {
    /// No answers yet to `input`, with room for as many as it will have in most cases.
    pub fn to(input: &[u8]) -> Self {
        let lines = input.iter().filter(|byte| **byte == b'\n').count() as u64;
        Piece { bytes: Vec::with_capacity(input.len() * 4), lines, ..Piece::default() }
    }

    /// Counts a row without an answer.
    pub fn note(&mut self, line: u64, error: &RowError) {
        self.failed += 1;
        if self.problems.len() < PROBLEMS_SHOWN {
            let (message, hint) = (error.to_string(), error.hint());
            self.problems.push(Problem { line, message, hint });
        }
    }
}

/// A format of rows.
pub trait Rows: Sync {
    /// Whether quotes hide newlines.
    fn quotes(&self) -> Quotes;

    /// Answers every row of `bytes`, which hold whole records.
    fn answer_all(&self, bytes: &[u8], seat: &mut Seat<'_>) -> Piece;
}
