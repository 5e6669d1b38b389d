//! The time a run budgets with: the wall clock, or the virtual time of a simulated device.

use std::time::{Duration, Instant};

use kernelgauge_cuda::simulated::VirtualClock;

/// Time since the command began.
#[derive(Debug, Clone)]
pub enum Clock {
    /// Of the wall.
    Wall(Instant),
    /// Of a simulated device.
    Virtual(VirtualClock),
}

impl Clock {
    /// Time since the command began.
    pub fn elapsed(&self) -> Duration {
        match self {
            Clock::Wall(start) => start.elapsed(),
            Clock::Virtual(clock) => Duration::from_nanos(clock.now().get()),
        }
    }
}
