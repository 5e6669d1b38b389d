//! Standard output as the process was given it.
//!
//! The standard library puts /dev/null in the place of a standard stream that is closed, and does
//! so before `main`: an answer would vanish and the command would call that a success. Whether
//! the stream was closed is therefore asked before that.

use std::io::{self, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs before the standard library has touched the streams, and uses nothing of it but an
/// atomic.
#[ctor::ctor(unsafe)]
fn look() {
    let closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err();
    CLOSED.store(closed, Ordering::Relaxed);
}

/// Standard output; where it was closed, every write says so.
pub struct GivenStdout(Option<Stdout>);

impl GivenStdout {
    /// What the process was started with.
    pub fn new() -> Self {
        GivenStdout((!CLOSED.load(Ordering::Relaxed)).then(io::stdout))
    }

    fn open(&mut self) -> io::Result<&mut Stdout> {
        self.0.as_mut().ok_or_else(|| io::Error::other("standard output is closed"))
    }
}

impl Write for GivenStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.open()?.write(bytes)
    }

    // Nothing was written to a closed stream, so nothing is left to flush.
    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), Write::flush)
    }
}
