//! Turns a kernel into a [`Workload`]: rotation of operands, timing, verification.

use std::hint::black_box;
use std::time::Instant;

use kernelgauge_data::{Failure, Nanos};

use super::contention::Contention;
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

/// A timing is contended from this share of it on that a thread waited for a processor: one
/// rival on as many processors as threads takes a third or more, the system's own threads under
/// a hundredth.
const CONTENDED_SHARE: f64 = 0.05;

/// Where kernels run, and what tells whether others ran there meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Host<'device> {
    /// The threads.
    pub threads: &'device Threads,
    /// Their waiting times.
    pub contention: &'device Contention,
}

impl<'device> Host<'device> {
    /// `kernel` over `slots` copies of its operands.
    pub fn boxed<K: Kernel + 'device>(
        self,
        kernel: K,
        slots: usize,
    ) -> Result<Box<dyn Workload + 'device>, Failure> {
        Ok(Box::new(HostWorkload::new(kernel, slots, self)))
    }
}

/// A kernel on the threads of a device.
#[derive(Debug)]
pub struct HostWorkload<'device, K> {
    kernel: K,
    rotation: Rotation,
    host: Host<'device>,
}

impl<'device, K: Kernel> HostWorkload<'device, K> {
    /// `kernel` over `slots` copies of its operands. Where there are several, each is used once
    /// first: the copies that were filled last would else still be in the cache, and the first
    /// round faster than the next.
    pub fn new(mut kernel: K, slots: usize, host: Host<'device>) -> Self {
        let threads = host.threads;
        let mut rotation = Rotation::new(slots);
        if slots > 1 {
            threads.run(|| (0..slots).for_each(|_| kernel.execute(rotation.next(), threads)));
        }
        HostWorkload { kernel, rotation, host }
    }
}

impl<K: Kernel> Workload for HostWorkload<'_, K> {
    fn kernel(&self) -> &str {
        self.kernel.name()
    }

    fn verify(&mut self) -> Result<(), Failure> {
        let HostWorkload { kernel, host, .. } = self;
        kernel.remember();
        host.threads.run(|| kernel.execute(0, host.threads));
        kernel.compare()
    }

    fn time(&mut self, executions: u32) -> Result<Timing, Failure> {
        let HostWorkload { kernel, rotation, host: Host { threads, contention } } = self;
        let (elapsed, waited) = threads.run(|| {
            let before = contention.waited();
            let begin = Instant::now();
            for _ in 0..executions {
                kernel.execute(rotation.next(), threads);
                // What was computed counts as used, and the next execution as different.
                black_box(&mut *kernel);
            }
            let elapsed = begin.elapsed();
            (elapsed, contention.waited_since(before, threads))
        });
        let nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        let contended = waited as f64 > CONTENDED_SHARE * nanos as f64;
        Ok(Timing { contended, ..Timing::of(Nanos::new(nanos), executions) })
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
