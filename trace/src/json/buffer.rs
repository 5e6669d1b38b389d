//! A window of text that moves over a file: filled from a reader, emptied by a parser.
//!
//! Only what was not consumed is held. Bytes that are no UTF-8 are replaced and counted, so
//! that parsers see text. What the text means is left to others.

use std::fmt;
use std::io::{self, Read};

/// Bytes asked of the reader at a time: large enough that an event cut by the end of the
/// window, which is parsed twice, is one of hundreds.
const CHUNK: usize = 256 * 1024;

/// Text of a file, from where parsing stands to as far as was read.
pub(crate) struct Buffer<R> {
    reader: R,
    scratch: Vec<u8>,
    /// Bytes at the front of `scratch` that begin a character which was not read to its end.
    begun: usize,
    text: String,
    /// Consumed bytes of `text`.
    start: usize,
    /// Bytes of the file before `text`.
    passed: u64,
    /// Line feeds of the file before `text`.
    lines: u64,
    /// Bytes by which texts grew where characters were replaced.
    grown: u64,
    broken: u64,
    ended: bool,
    cut: bool,
}

/// Where something is in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Bytes before it.
    pub byte: u64,
    /// Its line, from 1.
    pub line: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "byte {}, line {}", self.byte, self.line)
    }
}

impl<R: Read> Buffer<R> {
    pub(crate) fn new(reader: R) -> Self {
        Buffer {
            reader,
            scratch: vec![0; CHUNK],
            begun: 0,
            text: String::new(),
            start: 0,
            passed: 0,
            lines: 0,
            grown: 0,
            broken: 0,
            ended: false,
            cut: false,
        }
    }

    /// What was read and not consumed.
    pub(crate) fn rest(&self) -> &str {
        self.text.get(self.start..).unwrap_or("")
    }

    /// Moves on by `bytes` of [`rest`](Self::rest).
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start = self.text.len().min(self.start + bytes);
    }

    /// How many bytes that are no UTF-8 were replaced.
    pub(crate) fn broken(&self) -> u64 {
        self.broken
    }

    /// Whether compressed data ended before its end.
    pub(crate) fn cut(&self) -> bool {
        self.cut
    }

    /// Where parsing stands.
    pub(crate) fn place(&self) -> Place {
        let consumed = self.text.get(..self.start).unwrap_or("");
        Place {
            byte: (self.passed + consumed.len() as u64).saturating_sub(self.grown),
            line: self.lines + 1 + line_feeds(consumed),
        }
    }

    /// Reads on, at least doubling what is held, and says whether anything came.
    pub(crate) fn fill(&mut self) -> io::Result<bool> {
        let consumed = self.text.get(..self.start).unwrap_or("");
        self.passed += consumed.len() as u64;
        self.lines += line_feeds(consumed);
        self.text.drain(..self.start);
        self.start = 0;
        let before = self.text.len();
        let wanted = before + before.max(CHUNK);
        while !self.ended && self.text.len() < wanted {
            self.read()?;
        }
        Ok(self.text.len() > before)
    }

    fn read(&mut self) -> io::Result<()> {
        let space = self.scratch.get_mut(self.begun..).unwrap_or(&mut []);
        let count = match self.reader.read(space) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            // A compressed file that was cut: what came so far may still be wanted.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.cut = true;
                0
            }
            Err(error) => return Err(error),
        };
        self.ended = count == 0;
        let held = self.begun + count;
        let mut from = 0;
        self.begun = 0;
        while from < held {
            let bytes = self.scratch.get(from..held).unwrap_or(&[]);
            let error = match std::str::from_utf8(bytes) {
                Ok(text) => {
                    self.text.push_str(text);
                    return Ok(());
                }
                Err(error) => error,
            };
            let (valid, rest) = bytes.split_at_checked(error.valid_up_to()).unwrap_or((&[], bytes));
            self.text.push_str(std::str::from_utf8(valid).unwrap_or(""));
            from += valid.len();
            if error.error_len().is_none() && !self.ended {
                self.begun = rest.len();
                self.scratch.copy_within(from..held, 0);
                return Ok(());
            }
            let length = error.error_len().unwrap_or(rest.len()).max(1);
            self.text.push(char::REPLACEMENT_CHARACTER);
            self.grown += (char::REPLACEMENT_CHARACTER.len_utf8() - length.min(3)) as u64;
            self.broken += 1;
            from += length;
        }
        Ok(())
    }
}

fn line_feeds(text: &str) -> u64 {
    text.bytes().filter(|&byte| byte == b'\n').count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            self.0 = rest;
            buffer[0] = *first;
            Ok(1)
        }
    }

    #[test]
    fn characters_cut_between_reads_are_whole_and_broken_ones_replaced() {
        let bytes = "a\u{e9}\n\u{1f600}".as_bytes().to_vec();
        let mut buffer = Buffer::new(Trickle(&bytes));
        assert!(buffer.fill().unwrap());
        assert_eq!(buffer.rest(), "a\u{e9}\n\u{1f600}");
        assert_eq!(buffer.broken(), 0);

        let mut buffer = Buffer::new(Trickle(b"x\xff\ny\xf0\x9f"));
        assert!(buffer.fill().unwrap());
        assert_eq!(buffer.rest(), "x\u{fffd}\ny\u{fffd}");
        assert_eq!(buffer.broken(), 2);
        buffer.consume("x\u{fffd}\ny".len());
        assert_eq!(buffer.place().line, 2);
        assert!(!buffer.fill().unwrap());
    }

    #[test]
    fn places_count_what_was_let_go() {
        let text = "ab\n".repeat(CHUNK);
        let mut buffer = Buffer::new(text.as_bytes());
        buffer.fill().unwrap();
        buffer.consume(buffer.rest().len() - 1);
        buffer.fill().unwrap();
        buffer.consume(3);
        let place = buffer.place();
        assert_eq!(place.byte as usize, CHUNK + 2);
        assert_eq!(place.line as usize, 1 + text[..CHUNK + 2].matches('\n').count());
    }
}
