//! The way to a process that measures, whether it runs here or on another machine.

use std::io;
use std::time::{Duration, Instant};

use kernelgauge_cuda::DeviceError;

/// Why no line came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoLine {
    /// The deadline passed.
    Late,
    /// The other side ended.
    Ended,
    /// What came is no line of text, or too long.
    Noise(String),
}

/// A process that answers.
pub trait Link: Send {
    /// Sends a line, its newline included.
    ///
    /// # Errors
    /// What the system says; the other side has ended then.
    fn send(&mut self, line: &str) -> io::Result<()>;

    /// The next line, without its newline.
    ///
    /// # Errors
    /// Why there is none.
    fn receive(&mut self, until: Instant) -> Result<String, NoLine>;

    /// Whether the other side is still there, as far as that is known without asking it.
    fn is_open(&self) -> bool {
        true
    }

    /// Lets the process end of itself for so long, then kills it, and says how it ended: a
    /// phrase such as `it was ended by SIGSEGV`. Nothing can be sent or received afterwards.
    fn end(&mut self, patience: Duration) -> String;
}

/// Whatever can start such a process again and again.
pub trait Starter: Send {
    /// Starts one.
    ///
    /// # Errors
    /// Why there is none.
    fn start(&self) -> Result<Box<dyn Link>, DeviceError>;

    /// What it starts, for sentences: `the process that measures`.
    fn name(&self) -> String;
}
