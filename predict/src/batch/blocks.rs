//! Large inputs as blocks of whole records, and blocks as pieces for several threads.
//!
//! A record ends at a newline; in CSV a newline inside quotes does not end it. Memory is bounded
//! by the block, whatever the input's length. Left to others: what a record holds (`csv_rows`,
//! `json_rows`).

use std::io::{self, Read};

use thiserror::Error;

/// Bytes read before a block is handed out: large enough that the threads' start-up does not
/// show, small enough to stay in the processor's last cache with its answers.
const BLOCK: usize = 4 << 20;

/// The longest record that is read. A quote that is never closed ends here, not in a block as
/// large as the file.
const LONGEST_RECORD: usize = 64 << 20;

/// Why no more records come.
#[derive(Debug, Error)]
pub enum BlockError {
    /// The input cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// A record that does not end.
    #[error("a record of over 64 MiB begins here")]
    TooLong,
}

/// Whether quotes can hide a newline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quotes {
    /// As in CSV.
    Hide,
    /// As in JSON lines, where a newline is never inside a value.
    Plain,
}

/// Reads blocks of whole records.
#[derive(Debug)]
pub struct Blocks<R> {
    input: R,
    carried: Vec<u8>,
    quotes: Quotes,
    longest: usize,
    ended: bool,
}

impl<R: Read> Blocks<R> {
    /// Blocks of `input`, after `first` bytes that were read from it already.
    pub fn new(first: Vec<u8>, input: R, quotes: Quotes) -> Self {
        Blocks { input, carried: first, quotes, longest: LONGEST_RECORD, ended: false }
    }

    /// The next block: whole records, at the end of the input possibly without a last newline.
    ///
    /// # Errors
    /// [`BlockError`]; records before the error have been handed out.
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, BlockError> {
        let mut want = BLOCK;
        loop {
            self.fill(want)?;
            if self.ended {
                let last = std::mem::take(&mut self.carried);
                return Ok((!last.is_empty()).then_some(last));
            }
            if let Some(end) = last_record_end(&self.carried, self.quotes) {
                let rest = self.carried.split_off(end);
                return Ok(Some(std::mem::replace(&mut self.carried, rest)));
            }
            if self.carried.len() > self.longest {
                return Err(BlockError::TooLong);
            }
            want = self.carried.len() * 2;
        }
    }

    fn fill(&mut self, want: usize) -> io::Result<()> {
        let missing = want.saturating_sub(self.carried.len());
        if missing > 0 && !self.ended {
            let read = self.input.by_ref().take(missing as u64).read_to_end(&mut self.carried)?;
            self.ended = read < missing;
        }
        Ok(())
    }
}

/// One past the newline that ends the last whole record.
fn last_record_end(block: &[u8], quotes: Quotes) -> Option<usize> {
    if quotes == Quotes::Plain || !block.contains(&b'"') {
        return block.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
    }
    let mut end = 0;
    while let Some(length) = record_length(&block[end..], quotes) {
        end += length;
    }
    (end > 0).then_some(end)
}

/// Length of the first record with its newline; none if no newline ends it.
fn record_length(text: &[u8], quotes: Quotes) -> Option<usize> {
    let mut inside = false;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'"' if quotes == Quotes::Hide => inside = !inside,
            b'\n' if !inside => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Cuts a block into at most `count` pieces of whole records and about equal size.
pub fn pieces(block: &[u8], count: usize, quotes: Quotes) -> Vec<&[u8]> {
    let quotes = if block.contains(&b'"') { quotes } else { Quotes::Plain };
    let target = block.len().div_ceil(count.max(1)).max(1);
    let mut pieces = Vec::with_capacity(count);
    let mut rest = block;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(piece_length(rest, target, quotes));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Length of the records from the start of `text` that reach `target` bytes.
fn piece_length(text: &[u8], target: usize, quotes: Quotes) -> usize {
    if target >= text.len() {
        return text.len();
    }
    let mut length = if quotes == Quotes::Plain { target } else { 0 };
    while length < target || (length == target && quotes == Quotes::Plain) {
        match record_length(&text[length..], quotes) {
            Some(record) => length += record,
            None => return text.len(),
        }
    }
    length
}

/// The records of a piece, each without its line ending, with the number of its first line
/// counted from 0.
pub fn records(piece: &[u8], quotes: Quotes) -> impl Iterator<Item = (u64, &[u8])> {
    let (mut rest, mut line) = (piece, 0);
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let length = record_length(rest, quotes).unwrap_or(rest.len());
        let (record, after) = rest.split_at(length);
        let first = line;
        line += record.iter().filter(|byte| **byte == b'\n').count() as u64;
        rest = after;
        let record = record.strip_suffix(b"\n").unwrap_or(record);
        Some((first, record.strip_suffix(b"\r").unwrap_or(record)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out one byte at a time, as a slow pipe may.
    struct Dripping<'a>(&'a [u8]);

    impl Read for Dripping<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(&mut buffer[..1])
        }
    }

    fn all_records(text: &str, count: usize, quotes: Quotes) -> Vec<(u64, String)> {
        let mut blocks = Blocks::new(Vec::new(), Dripping(text.as_bytes()), quotes);
        let (mut found, mut line) = (Vec::new(), 0);
        while let Some(block) = blocks.next().unwrap() {
            for piece in pieces(&block, count, quotes) {
                for (at, record) in records(piece, quotes) {
                    found.push((line + at, String::from_utf8(record.to_vec()).unwrap()));
                }
                line += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
            }
        }
        found
    }

    #[test]
    fn records_are_the_same_however_many_pieces_they_are_cut_into() {
        let text = "a,b\r\n1,2\n\"x\ny\",3\n\n4,\"\"\"\n\"\"5\"\nlast,line";
        let whole = all_records(text, 1, Quotes::Hide);
        let lines: Vec<u64> = whole.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [0, 1, 2, 4, 5, 7]);
        assert_eq!(whole[2].1, "\"x\ny\",3");
        for count in 2..20 {
            assert_eq!(all_records(text, count, Quotes::Hide), whole, "{count} pieces");
        }
        let plain = all_records("{\"a\":\"\\\"\"}\n{}\n", 7, Quotes::Plain);
        assert_eq!(plain.len(), 2);
    }

    #[test]
    fn blocks_end_where_records_end() {
        let line = "4096,4096,4096,bf16\n";
        let text = line.repeat(BLOCK * 3 / line.len());
        let mut blocks = Blocks::new(Vec::new(), text.as_bytes(), Quotes::Hide);
        let mut total = 0;
        while let Some(block) = blocks.next().unwrap() {
            assert!(block.ends_with(b"\n") && block.len() <= BLOCK);
            total += block.len();
        }
        assert_eq!(total, text.len());
    }

    #[test]
    fn a_quote_that_is_never_closed_does_not_eat_all_memory() {
        let endless = io::repeat(b'x');
        let mut blocks = Blocks::new(b"\"".to_vec(), endless, Quotes::Hide);
        blocks.longest = BLOCK;
        assert!(matches!(blocks.next(), Err(BlockError::TooLong)));
    }
}
