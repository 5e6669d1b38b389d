//! Writes Chakra's `.et` files: messages behind their lengths.

use std::io::{self, Write};

use prost::Message;

use super::ChakraTrace;
use super::message::{ChakraNode, GlobalMetadata};

/// Writes a trace, uncompressed: metadata first, empty where there is none, then the nodes in
/// their order. A file that another writer of protobuf made comes out byte for byte, as long as
/// [`ChakraTrace::unknown_fields`] is 0.
///
/// # Errors
///
/// What the writer says.
pub fn write(trace: &ChakraTrace, into: impl Write) -> io::Result<()> {
    let mut writer =
        ChakraWriter::begin(into, trace.metadata.as_ref().unwrap_or(&GlobalMetadata::default()))?;
    for node in &trace.nodes {
        writer.node(node)?;
    }
    writer.end().map(drop)
}

/// Writes a trace node by node.
pub struct ChakraWriter<W> {
    into: W,
    buffer: Vec<u8>,
}

impl<W: Write> ChakraWriter<W> {
    /// Begins a file with its metadata.
    ///
    /// # Errors
    ///
    /// What the writer says.
    pub fn begin(into: W, metadata: &GlobalMetadata) -> io::Result<Self> {
        let mut writer = ChakraWriter { into, buffer: Vec::new() };
        writer.message(metadata)?;
        Ok(writer)
    }

    /// Adds a node.
    ///
    /// # Errors
    ///
    /// What the writer says.
    pub fn node(&mut self, node: &ChakraNode) -> io::Result<()> {
        self.message(node)
    }

    /// Flushes and gives the writer back.
    ///
    /// # Errors
    ///
    /// What the writer says.
    pub fn end(mut self) -> io::Result<W> {
        self.into.flush()?;
        Ok(self.into)
    }

    fn message(&mut self, message: &impl Message) -> io::Result<()> {
        self.buffer.clear();
        message.encode_length_delimited(&mut self.buffer).map_err(io::Error::other)?;
        self.into.write_all(&self.buffer)
    }
}
