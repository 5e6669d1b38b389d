//! Waiting with a limit: for what can be asked again, and for what may block.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::error::NcclError;

/// So long it is asked again and again without a pause: a launch takes microseconds, and a pause
/// of the operating system ten times as many.
const EAGER: Duration = Duration::from_micros(200);
/// The first pause between two questions; the next ones double up to the longest. Short enough
/// to add little to a collective of milliseconds, long enough to leave the processor to NCCL's
/// own threads.
const FIRST_PAUSE: Duration = Duration::from_micros(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// A limit that runs from its making.
pub(super) struct Deadline {
    what: String,
    limit: Duration,
    started: Instant,
}

impl Deadline {
    /// `what` is the subject of "… did not end within 60 s".
    pub fn new(what: impl Into<String>, limit: Duration) -> Self {
        Deadline { what: what.into(), limit, started: Instant::now() }
    }

    fn left(&self) -> Duration {
        self.limit.saturating_sub(self.started.elapsed())
    }

    fn error(&self) -> NcclError {
        NcclError::Deadline { what: self.what.clone(), limit: self.limit }
    }

    /// Asks until it has ended, at least once.
    pub fn poll<E: From<NcclError>>(
        &self,
        mut ended: impl FnMut() -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut pause = FIRST_PAUSE;
        while !ended()? {
            let left = self.left();
            if left.is_zero() {
                return Err(self.error().into());
            }
            if self.started.elapsed() < EAGER {
                std::hint::spin_loop();
                continue;
            }
            thread::sleep(pause.min(left));
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
        Ok(())
    }

    /// Does every piece of work on a thread of its own, all at once, and returns what they
    /// returned. A thread that does not end in time is left behind.
    pub fn all_at_once<T: Send + 'static>(
        &self,
        works: Vec<impl FnOnce() -> T + Send + 'static>,
    ) -> Result<Vec<T>, NcclError> {
        let (sender, receiver) = mpsc::channel();
        let count = works.len();
        let mut refused = false;
        for work in works {
            let sender = sender.clone();
            // The receiver is gone once the time is up; then nobody wants the answer.
            let thread = thread::Builder::new().spawn(move || sender.send(work()).is_ok());
            refused |= thread.is_err();
        }
        if refused {
            return Err(NcclError::NoThread { what: self.what.clone() });
        }
        let answer = |_| receiver.recv_timeout(self.left()).map_err(|_| self.error());
        (0..count).map(answer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_is_waited_for_and_what_does_not_is_given_up() {
        let mut asked = 0;
        let ended = Deadline::new("it", Duration::from_secs(60)).poll(|| {
            asked += 1;
            Ok::<bool, NcclError>(asked == 5)
        });
        assert_eq!((ended, asked), (Ok(()), 5));

        let limit = Duration::from_millis(5);
        let given_up = Deadline::new("it", limit).poll(|| Ok::<bool, NcclError>(false));
        assert_eq!(given_up, Err(NcclError::Deadline { what: "it".to_owned(), limit }));
    }

    #[test]
    fn a_thread_that_blocks_is_left_behind() {
        let (release, blocked) = mpsc::channel::<()>();
        let deadline = Deadline::new("it", Duration::from_millis(5));
        let works = vec![move || blocked.recv().is_ok()];
        assert!(matches!(deadline.all_at_once(works), Err(NcclError::Deadline { .. })));
        drop(release);

        let deadline = Deadline::new("it", Duration::from_secs(60));
        let mut done = deadline.all_at_once(vec![|| 1, || 1]).unwrap();
        done.sort_unstable();
        assert_eq!(done, [1, 1]);
    }
}
