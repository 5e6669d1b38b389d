//! What a process said last on its standard error, kept with a limit.
//!
//! A thread of its own reads it all, so that a process that says much is never held up.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::scrub::scrub;

/// Bytes kept.
const KEPT: usize = 4096;
/// Characters of its last line that are told.
const TOLD: usize = 160;
/// A process that has ended has said everything; what it started itself may hold the pipe open.
const PATIENCE: Duration = Duration::from_millis(200);

/// The end of what a process says.
#[derive(Debug)]
pub struct LastWords {
    kept: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl LastWords {
    /// Keeps what comes from `stderr`.
    pub fn of(mut stderr: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&kept);
        let reader = std::thread::spawn(move || {
            let mut chunk = [0; 1024];
            while let Ok(bytes) = stderr.read(&mut chunk) {
                if bytes == 0 {
                    break;
                }
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&chunk[..bytes]);
                let excess = kept.len().saturating_sub(KEPT);
                kept.drain(..excess);
            }
        });
        LastWords { kept, reader }
    }

    /// The last line of a process that has ended, scrubbed and shortened; none if it said
    /// nothing.
    pub fn line(&self) -> Option<String> {
        let until = Instant::now() + PATIENCE;
        while !self.reader.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(scrub(line).chars().take(TOLD).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_kept_of_however_much_was_said() {
        let much = "noise\n".repeat(10_000) + "the reason\n\n";
        let words = LastWords::of(std::io::Cursor::new(much.into_bytes()));
        assert_eq!(words.line().as_deref(), Some("the reason"));
        assert_eq!(LastWords::of(std::io::empty()).line(), None);
    }
}
