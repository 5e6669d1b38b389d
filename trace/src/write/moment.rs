//! Points in time and durations as decimal microseconds, exact to the nanosecond.

use std::fmt;

use kernelgauge_data::Nanos;

use crate::graph::{Graph, Timing};
use crate::time::Moment;

/// Nanoseconds, shown as microseconds with three decimals.
pub(super) struct Micros(i64);

impl Micros {
    /// A duration.
    pub fn lasting(duration: Nanos) -> Self {
        Micros(i64::try_from(duration.get()).unwrap_or(i64::MAX))
    }

    /// From `origin` to `moment`.
    pub fn between(origin: Moment, moment: Moment) -> Self {
        Micros(moment.minus(origin))
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        write!(out, "{sign}{}.{:03}", nanos / 1000, nanos % 1000)
    }
}

/// The whole microsecond in which the first event of any rank began: files of different ranks
/// count from the same moment, and numbers stay small enough for a double to hold nanoseconds.
/// Readers that round to microseconds then round as they would with the recording itself.
pub(super) fn origin(graph: &Graph) -> Moment {
    let calls = graph.calls.iter().filter_map(|call| call.timing);
    let tasks = graph.tasks.iter().filter_map(|task| task.timing);
    let starts = calls.chain(tasks).map(|Timing { start, .. }| start);
    let first = starts.min().unwrap_or_default();
    first.shifted(-first.get().rem_euclid(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_stay_exact() {
        assert_eq!(Micros::lasting(Nanos::new(1_234_567)).to_string(), "1234.567");
        assert_eq!(Micros::between(Moment::new(5), Moment::new(3)).to_string(), "-0.002");
        assert_eq!(Micros::lasting(Nanos::new(9)).to_string(), "0.009");
    }
}
