//! What launching costs: lines over how often, from once to as often as a queue holds.

use kernelgauge_data::point::launching::{COUNT, OPS};
use kernelgauge_data::{CacheState, CustomPoint, Point};

use super::super::{Candidate, DEEPEST};

/// The largest count, as a power of two.
const LARGEST: u32 = 10;

/// The candidate points.
pub fn candidates() -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for op in OPS {
        let mut add = |level, count| {
            let parameters = vec![(COUNT.to_owned(), count)];
            let point = Point::Custom(CustomPoint { op: op.to_owned(), parameters });
            candidates.push(Candidate::usual(point, CacheState::Unstated, level));
        };
        for exponent in 0..=LARGEST {
            add(u8::from(exponent % 2 == 1), 1 << exponent);
            if (1..LARGEST).contains(&exponent) {
                add(DEEPEST, 3 << (exponent - 1));
            }
        }
    }
    candidates
}
