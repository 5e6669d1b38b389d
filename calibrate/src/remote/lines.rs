//! Lines from a pipe or socket, none waited for longer than until a deadline.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::link::NoLine;
use super::wire::LONGEST_LINE;

/// Bytes read at once.
const CHUNK: usize = 4096;

/// Reads lines.
#[derive(Debug)]
pub struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
}

impl<R: Read + AsFd> Lines<R> {
    /// Lines from `from`.
    pub fn new(from: R) -> Self {
        Lines { from, buffer: Vec::new() }
    }

    /// The next line without its newline, or why there is none.
    ///
    /// # Errors
    /// [`NoLine`].
    pub fn next(&mut self, until: Option<Instant>) -> Result<String, NoLine> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).take(end).collect();
                return String::from_utf8(line).map_err(|error| {
                    NoLine::Noise(String::from_utf8_lossy(error.as_bytes()).into())
                });
            }
            if self.buffer.len() > LONGEST_LINE {
                let start = String::from_utf8_lossy(&self.buffer[..CHUNK.min(self.buffer.len())]);
                return Err(NoLine::Noise(start.into_owned()));
            }
            self.wait(until)?;
            let mut chunk = [0; CHUNK];
            match self.from.read(&mut chunk) {
                Ok(0) => return Err(NoLine::Ended),
                Ok(bytes) => self.buffer.extend_from_slice(&chunk[..bytes]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A reset connection and a broken pipe say no more than their end.
                Err(_) => return Err(NoLine::Ended),
            }
        }
    }

    /// Whether something, or the end, can be read now.
    pub fn is_ready(&self) -> bool {
        !self.buffer.is_empty() || self.wait(Some(Instant::now())).is_ok()
    }

    /// Waits until there is something to read.
    fn wait(&self, until: Option<Instant>) -> Result<(), NoLine> {
        loop {
            // What is there already is read even when the time is up.
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let left = left.and_then(|left| Timespec::try_from(left).ok());
            let mut ready = [PollFd::new(&self.from, PollFlags::IN)];
            match poll(&mut ready, left.as_ref()) {
                Ok(0) => return Err(NoLine::Late),
                Ok(_) => return Ok(()),
                // A signal, such as Ctrl-C: the rest of the time is waited for.
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Err(NoLine::Ended),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use super::*;

    fn pipe() -> (Lines<io::PipeReader>, io::PipeWriter) {
        let (reader, writer) = io::pipe().unwrap();
        (Lines::new(reader), writer)
    }

    #[test]
    fn lines_come_whole_however_they_were_written() {
        let (mut lines, mut writer) = pipe();
        let soon = || Some(Instant::now() + Duration::from_millis(20));
        writer.write_all(b"one\ntwo\nth").unwrap();
        assert_eq!(lines.next(soon()).unwrap(), "one");
        assert_eq!(lines.next(None).unwrap(), "two");
        assert!(matches!(lines.next(soon()), Err(NoLine::Late)));
        writer.write_all(b"ree\n\xff\n").unwrap();
        assert_eq!(lines.next(soon()).unwrap(), "three");
        assert!(matches!(lines.next(soon()), Err(NoLine::Noise(_))));
        drop(writer);
        assert!(matches!(lines.next(soon()), Err(NoLine::Ended)));
    }

    #[test]
    fn a_line_without_end_is_given_up() {
        let (mut lines, mut writer) = pipe();
        let feeder = std::thread::spawn(move || {
            // Fails when the reader has given up.
            let _ = writer.write_all(&vec![b'x'; LONGEST_LINE + 2 * CHUNK]);
        });
        assert!(matches!(lines.next(None), Err(NoLine::Noise(_))));
        drop(lines);
        feeder.join().unwrap();
    }
}
