//! A window onto a file: what was read and not yet passed.

use std::io::{ErrorKind, Read};

use crate::error::TraceError;

/// How much is read at once; large enough that the system's part of the work vanishes.
const CHUNK_BYTES: usize = 256 << 10;

/// Bytes of a file around the place that was reached.
pub(super) struct Buffer<R> {
    source_name: String,
    reader: R,
    bytes: Vec<u8>,
    at: usize,
    dropped_bytes: u64,
    /// Line breaks before `counted_to`, a place of `bytes`.
    lines: u64,
    counted_to: usize,
}

impl<R: Read> Buffer<R> {
    pub(super) fn new(source_name: &str, reader: R) -> Self {
        Buffer {
            source_name: source_name.to_owned(),
            reader,
            bytes: Vec::new(),
            at: 0,
            dropped_bytes: 0,
            lines: 0,
            counted_to: 0,
        }
    }

    pub(super) fn source_name(&self) -> &str {
        &self.source_name
    }

    /// What was read and not yet passed.
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The bytes between two places that [`Buffer::mark`] gave, until more is read.
    pub(super) fn slice(&self, from: usize, to: usize) -> &[u8] {
        self.bytes.get(from..to).unwrap_or_default()
    }

    /// Passes `count` bytes and says where they lie.
    pub(super) fn mark(&mut self, count: usize) -> (usize, usize) {
        let from = self.at;
        self.advance(count);
        (from, self.at)
    }

    pub(super) fn advance(&mut self, count: usize) {
        self.at = (self.at + count).min(self.bytes.len());
    }

    pub(super) fn peek(&mut self) -> Result<Option<u8>, TraceError> {
        if self.rest().is_empty() {
            self.more()?;
        }
        Ok(self.rest().first().copied())
    }

    /// Byte from 0 and line from 1 of the place that was reached.
    pub(super) fn position(&mut self) -> (u64, u64) {
        let passed = self.bytes.get(self.counted_to..self.at).unwrap_or_default();
        self.lines += passed.iter().map(|&byte| u64::from(byte == b'\n')).sum::<u64>();
        self.counted_to = self.at;
        (self.dropped_bytes + self.at as u64, 1 + self.lines)
    }

    /// Reads on; whether there was more. Forgets what was passed.
    pub(super) fn more(&mut self) -> Result<bool, TraceError> {
        (self.dropped_bytes, _) = self.position();
        self.bytes.drain(..self.at);
        self.at = 0;
        self.counted_to = 0;
        let old = self.bytes.len();
        self.bytes.resize(old + CHUNK_BYTES, 0);
        loop {
            let room = self.bytes.get_mut(old..).unwrap_or_default();
            match self.reader.read(room) {
                Ok(count) => {
                    self.bytes.truncate(old + count);
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.bytes.truncate(old);
                    let source_name = self.source_name.clone();
                    return Err(TraceError::Read { source_name, error });
                }
            }
        }
    }

    /// JSON has no byte order mark, but some editors write one.
    pub(super) fn skip_byte_order_mark(&mut self) -> Result<(), TraceError> {
        while self.rest().len() < 3 && self.more()? {}
        if self.rest().starts_with(b"\xef\xbb\xbf") {
            self.advance(3);
        }
        Ok(())
    }
}
