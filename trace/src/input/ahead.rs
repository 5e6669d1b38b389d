//! Reading ahead on a thread of its own, so that unpacking and parsing take place side by side.

use std::io::{self, ErrorKind, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Bytes of a block; several fit into the cache that two cores share.
const BLOCK_BYTES: usize = 256 * 1024;

/// Blocks that may wait to be taken.
const BLOCKS: usize = 4;

/// What was read ahead.
pub(super) struct Ahead {
    blocks: Receiver<io::Result<Vec<u8>>>,
    /// Where blocks go back to be filled again.
    used: Sender<Vec<u8>>,
    block: Vec<u8>,
    taken: usize,
    /// The end was reached, or an error was handed on.
    ended: bool,
}

/// Begins to read ahead.
///
/// # Errors
/// The system has no thread left.
pub(super) fn read_ahead(reader: impl Read + Send + 'static) -> io::Result<Ahead> {
    let (filled, blocks) = sync_channel(BLOCKS);
    let (used, free) = channel();
    thread::Builder::new().name("unpack".to_owned()).spawn(move || fill(reader, &filled, &free))?;
    Ok(Ahead { blocks, used, block: Vec::new(), taken: 0, ended: false })
}

/// Fills blocks until the end, an error, or nobody takes them any more.
fn fill(mut reader: impl Read, filled: &SyncSender<io::Result<Vec<u8>>>, free: &Receiver<Vec<u8>>) {
    loop {
        let mut block = free.try_recv().unwrap_or_default();
        block.resize(BLOCK_BYTES, 0);
        let (length, error) = fill_block(&mut reader, &mut block);
        block.truncate(length);
        let ends = length < BLOCK_BYTES;
        if filled.send(Ok(block)).is_err() {
            return;
        }
        if let Some(error) = error {
            // Nobody may be left to hear of it.
            let _ = filled.send(Err(error));
        }
        if ends {
            return;
        }
    }
}

/// Fills one block as far as it goes.
fn fill_block(reader: &mut impl Read, block: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut length = 0;
    while let Some(free) = block.get_mut(length..).filter(|free| !free.is_empty()) {
        match reader.read(free) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (length, Some(error)),
        }
    }
    (length.min(block.len()), None)
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.block.len() && !self.ended {
            match self.blocks.recv() {
                Ok(Ok(block)) => {
                    let used = std::mem::replace(&mut self.block, block);
                    // The thread may have come to its end.
                    let _ = self.used.send(used);
                    self.taken = 0;
                }
                Ok(Err(error)) => {
                    self.ended = true;
                    return Err(error);
                }
                Err(_) => self.ended = true,
            }
        }
        let mut rest = self.block.get(self.taken..).unwrap_or_default();
        let read = rest.read(buffer)?;
        self.taken += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_come_in_order_and_then_the_error() {
        struct Breaks(u64);
        impl Read for Breaks {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                if self.0 >= 1_000_000 {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                let length = buffer.len().min(1013).min(1_000_000 - self.0 as usize);
                for byte in &mut buffer[..length] {
                    *byte = (self.0 % 251) as u8;
                    self.0 += 1;
                }
                Ok(length)
            }
        }
        let mut ahead = read_ahead(Breaks(0)).unwrap();
        let mut bytes = Vec::new();
        let error = ahead.read_to_end(&mut bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert_eq!(bytes.len(), 1_000_000);
        assert!(bytes.iter().zip(0u64..).all(|(byte, place)| u64::from(*byte) == place % 251));
        assert_eq!(ahead.read(&mut [0; 8]).unwrap(), 0);
    }

    #[test]
    fn whoever_stops_early_leaves_no_thread_behind_that_waits() {
        let mut ahead = read_ahead(io::repeat(7)).unwrap();
        let mut some = [0; 100];
        ahead.read_exact(&mut some).unwrap();
        assert_eq!(some, [7; 100]);
        drop(ahead);
    }
}
