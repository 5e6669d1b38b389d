//! How long is waited for collectives, and the variable that shortens it.
//!
//! `KERNELGAUGE_COLLECTIVE_TIMEOUT` states in seconds how long a collective may take at least
//! before it counts as one that never ends; other waits follow it in proportion.

use std::time::Duration;

use kernelgauge_data::Nanos;

use crate::nccl::Limits;

/// The variable.
const VARIABLE: &str = "KERNELGAUGE_COLLECTIVE_TIMEOUT";
/// The least limit of a collective: far beyond any pause of a machine that is merely busy.
const LEAST: Duration = Duration::from_secs(10);
/// A collective that takes so many times what it is expected to take never ends.
const FOLD: u32 = 50;
/// Bytes per second expected of a collective that was never timed: those of a slow network.
const SLOWEST: f64 = 1e8;

/// The limits of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    least: Duration,
}

impl Patience {
    /// As the environment states it, else the default of 10 s.
    pub fn of_this_process() -> Self {
        Patience::of(std::env::var(VARIABLE).ok().as_deref())
    }

    fn of(text: Option<&str>) -> Self {
        let stated = text.and_then(|text| text.parse::<f64>().ok());
        let stated = stated.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Patience { least: stated.filter(|time| !time.is_zero()).unwrap_or(LEAST) }
    }

    /// For forming, launching and aborting: by default a minute, half a minute, ten seconds.
    pub fn limits(self) -> Limits {
        Limits { init: self.least * 6, launch: self.least * 3, abort: self.least }
    }

    /// For `executions` that took `last` each when they were last timed, or move `bytes` each.
    pub fn limit(self, last: Option<Nanos>, bytes: u64, executions: u32) -> Duration {
        let one = last.map_or(bytes as f64 / SLOWEST, Nanos::seconds);
        let expected = Duration::try_from_secs_f64(one * f64::from(executions));
        self.least.max(expected.unwrap_or(Duration::MAX).saturating_mul(FOLD))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_follow_the_variable_and_what_was_measured() {
        let usual = Patience::of(None);
        assert_eq!(usual.limits(), Limits::default());
        for text in ["", "-1", "0", "soon", "1e400"] {
            assert_eq!(Patience::of(Some(text)), usual, "{text}");
        }
        let short = Patience::of(Some("0.5"));
        assert_eq!(short.limits().init, Duration::from_secs(3));
        assert_eq!(short.limit(None, 8, 1), Duration::from_millis(500));
        assert_eq!(short.limit(Some(Nanos::new(1_000_000)), 8, 100), Duration::from_secs(5));
        assert_eq!(usual.limit(None, 1 << 34, 1), Duration::from_secs_f64(8589.934592));
    }
}
