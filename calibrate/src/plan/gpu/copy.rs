//! Copies of a GPU, on every route.
//!
//! A route is a line over the number of bytes: start-up cost, the bend, and the bandwidth at
//! its end.

use kernelgauge_data::{CacheState, CopyDirection, CopyPoint, Point};

use super::super::scatter::{Scatter, log_between};
use super::super::{Candidate, DEEPEST};

/// Powers of two from the smallest to the largest copy: 1 KiB to 1 GiB.
const SMALLEST: u32 = 10;
const LARGEST: u32 = 30;
/// Largest copy of memory that is not page-locked: the host spends its time on them.
const LARGEST_PAGEABLE: u32 = 28;
/// Scattered sizes by pass.
const SCATTERED: [usize; 3] = [4, 8, 16];

/// The candidate points.
pub fn candidates() -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for (direction, pinned, cache, largest) in routes() {
        line(largest, |level, bytes| {
            let point = Point::Copy(CopyPoint { direction, pinned, bytes });
            candidates.push(Candidate::usual(point, cache, level));
        });
    }
    candidates
}

/// Every kind of copy. Whether a cache is flushed matters within a device alone.
fn routes() -> [(CopyDirection, bool, CacheState, u32); 7] {
    use CopyDirection::{DeviceToDevice, DeviceToHost, HostToDevice, PeerToPeer};
    let (hot, cold) = (CacheState::Hot, CacheState::Cold);
    [
        (HostToDevice, true, hot, LARGEST),
        (DeviceToHost, true, hot, LARGEST),
        (HostToDevice, false, hot, LARGEST_PAGEABLE),
        (DeviceToHost, false, hot, LARGEST_PAGEABLE),
        (DeviceToDevice, false, hot, LARGEST),
        (DeviceToDevice, false, cold, LARGEST),
        (PeerToPeer, false, hot, LARGEST),
    ]
}

/// The line of a peer copy: passes and bytes.
pub fn peer_line(add: impl FnMut(u8, u64)) {
    line(LARGEST, add);
}

/// Powers of two, then those between and scattered sizes, up to two to the `largest`.
fn line(largest: u32, mut add: impl FnMut(u8, u64)) {
    for exponent in SMALLEST..=largest {
        add(u8::from(exponent % 2 == 1), 1 << exponent);
        if exponent < largest {
            add(DEEPEST, 3 << (exponent - 1));
        }
    }
    let mut sizes = Scatter::<1>::new();
    for (level, count) in SCATTERED.into_iter().enumerate() {
        for [size] in sizes.by_ref().take(count) {
            add(level as u8, log_between(1 << SMALLEST, 1 << largest, size));
        }
    }
}
