//! How long an answer may take.
//!
//! Each limit is far beyond what is usual, because a process that is killed for nothing costs a
//! point, and one that never answers costs no more than this.

use std::time::Duration;

use kernelgauge_data::{Bytes, Nanos, Point};

/// For a process to start and open its GPUs: initialising eight takes seconds.
const OPEN: Duration = Duration::from_secs(60);
/// For operands to be put in place and compared, beside the time their size takes.
const PREPARE: Duration = Duration::from_secs(30);
/// What is filled and compared on the host moves at this rate or faster, in bytes per second.
const BYTES_PER_SECOND: u64 = 100_000_000;
/// For executions to be timed.
const TIME: Duration = Duration::from_secs(10);
/// Ranks may form for so many times the least limit of a collective (`Patience` in
/// `kernelgauge-cuda`, which is 10 s where none is stated, as [`TIME`] here).
const FORMING: u32 = 6;
/// Forming ranks twice, launching and giving up take so many times what forming may.
const FORMING_TWICE: u32 = 4;
/// Executions may take so many times what is expected of them.
const EXPECTED: u32 = 50;

/// The deadlines of one device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deadlines {
    /// In place of each of the least times, where the user stated one.
    pub least: Option<Duration>,
}

impl Deadlines {
    /// To start and to open the GPUs.
    pub fn open(self) -> Duration {
        self.least.unwrap_or(OPEN)
    }

    /// To answer a question, to put operands of this size in place, to compare or to free them.
    pub fn prepare(self, operands: Bytes) -> Duration {
        let moving = Duration::from_secs(operands.get() / BYTES_PER_SECOND);
        self.least.unwrap_or(PREPARE).saturating_add(moving)
    }

    /// For ranks to find each other: what the process that measures allows them.
    fn forming(self) -> Duration {
        self.least.unwrap_or(TIME).saturating_mul(FORMING)
    }

    /// To give up ranks that have failed and to join anew.
    pub fn join(self) -> Duration {
        self.forming().saturating_mul(2)
    }

    /// What a collective may take longer: the process that measures has limits of its own, forms
    /// ranks twice where they fail, and gives up in good order; it is killed when it does not.
    pub fn for_ranks(self, point: &Point) -> Duration {
        match point {
            Point::Collective(_) => self.forming().saturating_mul(FORMING_TWICE),
            _ => Duration::ZERO,
        }
    }

    /// To time `executions`, one of which took `each`; operands are of this size.
    pub fn time(self, executions: u32, each: Option<Nanos>, operands: Bytes) -> Duration {
        let Some(each) = each else { return self.prepare(operands) };
        let expected = Duration::from_nanos(each.get()).saturating_mul(executions);
        self.least.unwrap_or(TIME).max(expected.saturating_mul(EXPECTED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_longer_may_take_longer() {
        let usual = Deadlines::default();
        assert_eq!(usual.prepare(Bytes::new(1 << 20)), PREPARE);
        assert_eq!(usual.prepare(Bytes::new(10_000_000_000)), PREPARE + Duration::from_secs(100));
        let each = Some(Nanos::new(1_000_000_000));
        assert_eq!(usual.time(1, None, Bytes::new(0)), PREPARE);
        assert_eq!(usual.time(1, Some(Nanos::new(5_000)), Bytes::new(0)), TIME);
        assert_eq!(usual.time(4, each, Bytes::new(0)), Duration::from_secs(200));
        let short = Deadlines { least: Some(Duration::from_secs(1)) };
        assert_eq!(short.open(), Duration::from_secs(1));
        // The process that measures gives ranks up before it is given up.
        assert_eq!((usual.forming(), short.forming()), (OPEN, Duration::from_secs(6)));
        assert!(short.join() > short.forming());
        assert_eq!(short.time(4, each, Bytes::new(0)), Duration::from_secs(200));
        // Nothing overflows.
        usual.time(u32::MAX, Some(Nanos::new(u64::MAX)), Bytes::new(u64::MAX));
    }
}
