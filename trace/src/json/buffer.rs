//! A window of bytes that moves over a file: filled from a reader, emptied by a parser.
//!
//! Only what was not consumed is held. What the bytes mean is left to others.

use std::fmt;
use std::io::{self, Read};

/// Bytes asked of the reader at a time: few enough for the cache of a core, and so many that an
/// event cut by the end of the window, which is parsed twice, is one of hundreds.
const CHUNK: usize = 256 * 1024;

/// How some writers begin a file in UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes of a file, from where parsing stands to as far as was read.
pub(crate) struct Buffer<R> {
    reader: R,
    /// What is held lies in `start..end`.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes of the file before `bytes`.
    passed: u64,
    /// Line feeds of the file before `counted`.
    lines: u64,
    /// How far in `bytes` line feeds are among `lines`.
    counted: usize,
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
            bytes: Vec::new(),
            start: 0,
            end: 0,
            passed: 0,
            lines: 0,
            counted: 0,
            ended: false,
            cut: false,
        }
    }

    /// What was read and not consumed.
    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Moves on by `bytes` of [`rest`](Self::rest).
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start = self.end.min(self.start + bytes);
    }

    /// Whether compressed data ended before its end.
    pub(crate) fn cut(&self) -> bool {
        self.cut
    }

    /// Where parsing stands.
    pub(crate) fn place(&self) -> Place {
        let uncounted = self.bytes.get(self.counted..self.start).unwrap_or_default();
        Place {
            byte: self.passed + self.start as u64,
            line: self.lines + 1 + line_feeds(uncounted),
        }
    }

    /// Where parsing stands, for callers that ask often: what was counted is not counted again.
    pub(crate) fn mark(&mut self) -> Place {
        let place = self.place();
        self.lines = place.line - 1;
        self.counted = self.start;
        place
    }

    /// Reads on, at least doubling what is held, and says whether anything came.
    pub(crate) fn fill(&mut self) -> io::Result<bool> {
        self.mark();
        self.passed += self.start as u64;
        self.counted = 0;
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let before = self.end;
        let wanted = before + before.max(CHUNK);
        if self.bytes.len() < wanted {
            self.bytes.resize(wanted, 0);
        }
        while !self.ended && self.end < wanted {
            self.read(wanted)?;
        }
        Ok(self.end > before)
    }

    fn read(&mut self, wanted: usize) -> io::Result<()> {
        let space = self.bytes.get_mut(self.end..wanted).unwrap_or_default();
        match self.reader.read(space) {
            Ok(0) => self.ended = true,
            Ok(count) => self.end = wanted.min(self.end + count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A compressed file that was cut: what came so far may still be wanted.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.cut = true;
                self.ended = true;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Bytes as text, and how many sequences that are no UTF-8 were replaced.
pub(crate) fn replaced(bytes: &[u8]) -> (String, u64) {
    let mut text = String::with_capacity(bytes.len());
    let mut broken = 0;
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            broken += 1;
        }
    }
    (text, broken)
}

/// Line feeds of some bytes: every byte of a file is looked at, so they are counted in bytes,
/// many at once, and summed before one overflows.
fn line_feeds(bytes: &[u8]) -> u64 {
    let in_few = |few: &[u8]| few.iter().fold(0u8, |sum, &byte| sum + u8::from(byte == b'\n'));
    bytes.chunks(u8::MAX as usize).map(|few| u64::from(in_few(few))).sum()
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
    fn what_is_held_is_what_was_not_consumed() {
        let mut buffer = Buffer::new(Trickle(b"x\xff\ny"));
        assert!(buffer.fill().unwrap());
        assert_eq!(buffer.rest(), b"x\xff\ny");
        buffer.consume(3);
        assert_eq!(buffer.place(), Place { byte: 3, line: 2 });
        assert!(!buffer.fill().unwrap());
        assert_eq!(buffer.rest(), b"y");
        assert_eq!(buffer.place(), Place { byte: 3, line: 2 });
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_counted() {
        assert_eq!(replaced("a\u{1f600}".as_bytes()), ("a\u{1f600}".to_owned(), 0));
        assert_eq!(replaced(b"x\xffy\xf0\x9f"), ("x\u{fffd}y\u{fffd}".to_owned(), 2));
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
        assert_eq!(line_feeds(&[b'\n'; 1000]), 1000);
    }
}
