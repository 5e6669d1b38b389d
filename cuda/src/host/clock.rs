//! Resolution and cost of the clock that times executions, measured.

use std::time::Instant;

use kernelgauge_data::Nanos;

use crate::device::Timer;

/// Pairs of readings taken.
const READINGS: usize = 2_001;

/// Reads the clock many times in pairs. The cost is the median difference of a pair; the
/// resolution is the smallest difference that is not zero.
pub fn measure() -> Timer {
    let mut differences: Vec<u64> = (0..READINGS)
        .map(|_| {
            let first = Instant::now();
            let second = Instant::now();
            u64::try_from(second.duration_since(first).as_nanos()).unwrap_or(u64::MAX)
        })
        .collect();
    differences.sort_unstable();
    let cost = differences[READINGS / 2];
    let resolution = differences.into_iter().find(|difference| *difference > 0).unwrap_or(1);
    Timer { resolution: Nanos::new(resolution), cost: Nanos::new(cost.max(1)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_tells_microseconds_apart_and_is_cheap() {
        let timer = measure();
        assert!((1..1_000).contains(&timer.resolution.get()), "{timer:?}");
        assert!(timer.cost < Nanos::new(10_000), "{timer:?}");
    }
}
