//! What one thread made of its share of a block.

use super::blocks::Quotes;
use super::desk::{RowError, Seat};

/// Problems that are kept word for word; the rest are counted.
pub const PROBLEMS_SHOWN: usize = 20;

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
