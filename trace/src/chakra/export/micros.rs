//! Nanoseconds as the microseconds of Chakra, without drift.

use std::collections::HashMap;

use crate::graph::ProcessorId;

/// What each processor owes after rounding, in nanoseconds.
#[derive(Default)]
pub(super) struct Rounding {
    owed: HashMap<ProcessorId, i64>,
}

impl Rounding {
    /// A duration in microseconds: at least one for what takes any time at all. What was given
    /// too much or too little is made up for by later work of the same processor, so that the
    /// sum stays right as long as there is longer work.
    pub(super) fn micros(&mut self, processor: ProcessorId, nanos: u64) -> u64 {
        if nanos == 0 {
            return 0;
        }
        let owed = self.owed.entry(processor).or_insert(0);
        let wanted = i64::try_from(nanos).unwrap_or(i64::MAX).saturating_add(*owed);
        let micros = (wanted.saturating_add(500) / 1000).max(1);
        *owed = wanted.saturating_sub(micros.saturating_mul(1000));
        micros.unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_work_takes_a_microsecond_and_the_sum_stays() {
        let mut rounding = Rounding::default();
        let thread = ProcessorId(0);
        let all: Vec<u64> =
            [300, 300, 0, 2_100, 10_400, 499].map(|nanos| rounding.micros(thread, nanos)).to_vec();
        assert_eq!(all, [1, 1, 0, 1, 10, 1]);
        assert_eq!(rounding.micros(ProcessorId(1), 1_499), 1);
    }
}
