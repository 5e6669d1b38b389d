//! Reads Chakra's `.et` files: messages behind their lengths, compressed or not.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use prost::Message;

use super::ChakraTrace;
use super::message::{ChakraNode, GlobalMetadata};
use super::unknown;
use crate::error::TraceError;

/// The first bytes of every gzip stream.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The longest message that is held, in bytes: nodes with long lists of inputs have some
/// hundred thousand.
const LONGEST_MESSAGE: u64 = 256 << 20;

/// A length takes at most this many bytes, seven bits each.
const LENGTH_BYTES: u32 = 5;

/// Reads a Chakra trace, compressed with gzip or not. Memory grows with what was read, never
/// with what a length declares.
///
/// # Errors
///
/// [`TraceError`] with the byte where the file ends within a message, or where a message is not
/// what the schema says.
pub fn read(source_name: &str, reader: impl Read) -> Result<ChakraTrace, TraceError> {
    let mut buffered = BufReader::new(reader);
    let begin = buffered.fill_buf().map_err(|error| refused(source_name, error))?;
    if begin.starts_with(&GZIP) {
        let inner = BufReader::new(MultiGzDecoder::new(buffered));
        Messages { source_name, reader: inner, offset: 0, message: Vec::new() }.trace()
    } else {
        Messages { source_name, reader: buffered, offset: 0, message: Vec::new() }.trace()
    }
}

/// Messages of a file, one after another.
struct Messages<'a, R> {
    source_name: &'a str,
    reader: R,
    /// Bytes read so far, uncompressed.
    offset: u64,
    message: Vec<u8>,
}

impl<R: BufRead> Messages<'_, R> {
    fn trace(mut self) -> Result<ChakraTrace, TraceError> {
        let mut trace =
            ChakraTrace { source: self.source_name.to_owned(), ..ChakraTrace::default() };
        let start = self.offset;
        if !self.advance()? {
            return Err(TraceError::unusable(self.source_name, "the file is empty", ""));
        }
        let metadata = GlobalMetadata::decode(self.message.as_slice());
        trace.metadata = Some(metadata.map_err(|error| {
            self.content(start, &format!("the first message is no GlobalMetadata: {error}"))
        })?);
        trace.unknown_fields += unknown::in_metadata(&self.message);
        loop {
            let start = self.offset;
            if !self.advance()? {
                return Ok(trace);
            }
            let node = ChakraNode::decode(self.message.as_slice()).map_err(|error| {
                self.content(
                    start,
                    &format!("message {} is no Node: {error}", trace.nodes.len() + 1),
                )
            })?;
            trace.unknown_fields += unknown::in_node(&self.message);
            trace.nodes.push(node);
        }
    }

    /// Reads the next message; false at the end of the file.
    fn advance(&mut self) -> Result<bool, TraceError> {
        let start = self.offset;
        let Some(length) = self.length()? else { return Ok(false) };
        if length > LONGEST_MESSAGE {
            let problem = format!(
                "a message of {length} bytes begins here; no more than {LONGEST_MESSAGE} are read"
            );
            return Err(self.content(start, &problem));
        }
        self.message.clear();
        let mut limited = (&mut self.reader).take(length);
        let read = limited.read_to_end(&mut self.message);
        let read = read.map_err(|error| self.broken(start, error))? as u64;
        self.offset += read;
        if read < length {
            let problem = format!(
                "a message of {length} bytes begins here, and the file ends after {read} of them"
            );
            return Err(self.content(start, &problem));
        }
        Ok(true)
    }

    /// Reads the length of the next message; none at the end of the file.
    fn length(&mut self) -> Result<Option<u64>, TraceError> {
        let start = self.offset;
        let mut length = 0u64;
        for place in 0..LENGTH_BYTES {
            let mut byte = [0u8];
            let read = self.reader.read_exact(&mut byte);
            match read {
                Ok(()) => self.offset += 1,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && place == 0 => {
                    return Ok(None);
                }
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(self.content(start, "the file ends within the length of a message"));
                }
                Err(error) => return Err(self.broken(start, error)),
            }
            let [byte] = byte;
            length |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                return Ok(Some(length));
            }
        }
        Err(self.content(start, "the length of a message has more than 32 bits"))
    }

    fn content(&self, offset: u64, problem: &str) -> TraceError {
        TraceError::Content {
            source_name: self.source_name.to_owned(),
            place: format!("byte {offset}"),
            problem: problem.to_owned(),
            hint: Some("a Chakra trace is messages of protobuf, each behind its length; is the file whole?".to_owned()),
        }
    }

    fn broken(&self, offset: u64, error: io::Error) -> TraceError {
        match error.kind() {
            // What the decoder of gzip says of bytes it cannot use.
            io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidData
            | io::ErrorKind::UnexpectedEof => self.content(
                offset,
                &format!("the compressed data ends or breaks after here: {error}"),
            ),
            _ => refused(self.source_name, error),
        }
    }
}

fn refused(source_name: &str, error: io::Error) -> TraceError {
    TraceError::Read { source_name: source_name.to_owned(), error }
}
