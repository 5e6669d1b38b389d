//! Turns a kernel into a [`Workload`]: rotation of operands, timing, verification.

use std::hint::black_box;
use std::time::Instant;

use kernelgauge_data::{Failure, Nanos};

use super::threads::Threads;
use crate::device::{Timing, Workload};

/// An op with its operands in place.
pub trait Kernel: Send {
    /// The kernel or library that does the work.
    fn name(&self) -> &'static str;

    /// Executes once on copy `slot` of the operands, from within the pool.
    fn execute(&mut self, slot: usize, threads: &Threads);

    /// Keeps what [`Kernel::compare`] will need and execution overwrites.
    fn remember(&mut self) {}

    /// Compares the result in copy 0 with a plain reference.
    ///
    /// # Errors
    /// [`Failure::WrongResult`].
    fn compare(&self) -> Result<(), Failure>;
}

/// The order in which copies of the operands are used: a fixed stride near the golden section,
/// so that every copy comes once before any comes again and no two neighbours follow each other
/// (a prefetcher would run from one copy into the next).
#[derive(Debug, Clone, Copy)]
pub struct Rotation {
    slots: usize,
    step: usize,
    slot: usize,
}

impl Rotation {
    /// Over `slots` copies, at least one.
    pub fn new(slots: usize) -> Self {
        let slots = slots.max(1);
        let golden = (slots as f64 * 0.618_033_988_75) as usize;
        let step = (golden.max(1)..).find(|step| greatest_divisor(*step, slots) == 1).unwrap_or(1);
        Rotation { slots, step, slot: 0 }
    }

    fn next(&mut self) -> usize {
        self.slot = (self.slot + self.step) % self.slots;
        self.slot
    }
}

fn greatest_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

/// A kernel on the threads of a device.
#[derive(Debug)]
pub struct HostWorkload<'device, K> {
    kernel: K,
    rotation: Rotation,
    threads: &'device Threads,
}

impl<'device, K: Kernel> HostWorkload<'device, K> {
    /// `kernel` over `slots` copies of its operands. Where there are several, each is used once
    /// first: the copies that were filled last would else still be in the cache, and the first
    /// round faster than the next.
    pub fn new(mut kernel: K, slots: usize, threads: &'device Threads) -> Self {
        let mut rotation = Rotation::new(slots);
        if slots > 1 {
            threads.run(|| (0..slots).for_each(|_| kernel.execute(rotation.next(), threads)));
        }
        HostWorkload { kernel, rotation, threads }
    }
}

impl<K: Kernel> Workload for HostWorkload<'_, K> {
    fn kernel(&self) -> &str {
        self.kernel.name()
    }

    fn verify(&mut self) -> Result<(), Failure> {
        let HostWorkload { kernel, threads, .. } = self;
        kernel.remember();
        threads.run(|| kernel.execute(0, threads));
        kernel.compare()
    }

    fn time(&mut self, executions: u32) -> Result<Timing, Failure> {
        let HostWorkload { kernel, rotation, threads } = self;
        let elapsed = threads.run(|| {
            let begin = Instant::now();
            for _ in 0..executions {
                kernel.execute(rotation.next(), threads);
                // What was computed counts as used, and the next execution as different.
                black_box(&mut *kernel);
            }
            begin.elapsed()
        });
        let nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        Ok(Timing { elapsed: Nanos::new(nanos), executions, throttled: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_copy_is_used_before_any_is_used_again() {
        for slots in [1, 2, 3, 4, 7, 100, 1024] {
            let mut rotation = Rotation::new(slots);
            let mut seen = vec![false; slots];
            for _ in 0..slots {
                let slot = rotation.next();
                assert!(!seen[slot], "{slots} slots: {slot} twice");
                seen[slot] = true;
            }
        }
    }
}
