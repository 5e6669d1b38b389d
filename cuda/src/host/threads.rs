//! The threads of the host device, and how work is split among them.
//!
//! The pool is the device's own, so that the number of threads is what was asked for and
//! nothing else in the process takes part. A whole timing runs inside the pool: entering it
//! costs a wake-up that would otherwise be measured.

use pulp::Arch;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::device::DeviceError;

/// Memory traffic in bytes from which a second thread pays: splitting and joining costs about
/// 5 to 10 us, in which one core moves this much.
pub const SPLIT_BYTES: usize = 256 << 10;

/// Pieces per thread: enough that a thread that wakes late leaves work to the others.
const PIECES_PER_THREAD: usize = 4;

/// Threads and the instruction set they use.
#[derive(Debug)]
pub struct Threads {
    pool: Option<ThreadPool>,
    count: usize,
    arch: Arch,
}

impl Threads {
    /// A pool of `count` threads; a single one is the calling thread.
    pub fn new(count: usize) -> Result<Self, DeviceError> {
        let pool = match count {
            0 | 1 => None,
            _ => Some(
                ThreadPoolBuilder::new()
                    .num_threads(count)
                    .thread_name(|index| format!("host-{index}"))
                    .build()
                    .map_err(|error| DeviceError::Threads {
                        what: format!("cannot start {count} threads: {error}"),
                        hint: "ask for fewer with --threads".to_owned(),
                    })?,
            ),
        };
        Ok(Threads { pool, count: count.max(1), arch: Arch::new() })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The widest vectors in use: `avx512`, `avx2`, or `baseline` of the target.
    pub fn vectors(&self) -> &'static str {
        match self.arch {
            #[cfg(target_arch = "x86_64")]
            Arch::V4(_) => "avx512",
            #[cfg(target_arch = "x86_64")]
            Arch::V3(_) => "avx2",
            _ => "baseline",
        }
    }

    /// Runs `work` on a thread of the pool.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// Runs `work` once on every thread.
    pub fn on_each<R: Send>(&self, work: impl Fn() -> R + Sync) -> Vec<R> {
        match &self.pool {
            Some(pool) => pool.broadcast(|_| work()),
            None => vec![work()],
        }
    }

    /// Runs `work` compiled for the widest vectors of this processor. Only what is inlined into
    /// `work` gains from it.
    #[inline(always)]
    pub fn vectorise<R>(&self, work: impl FnOnce() -> R) -> R {
        self.arch.dispatch(work)
    }

    /// Whether `bytes` of traffic are worth splitting.
    pub fn worth(&self, bytes: usize) -> bool {
        self.count > 1 && bytes >= SPLIT_BYTES
    }

    /// Calls `body` with consecutive pieces of `out`, in parallel where `split`: each a whole
    /// number of `unit`s long, with the index of its first unit. A `unit` of 0 is an empty call.
    pub fn pieces<T: Send>(
        &self,
        out: &mut [T],
        unit: usize,
        split: bool,
        body: impl Fn(usize, &mut [T]) + Sync,
    ) {
        if unit == 0 || out.is_empty() {
            return;
        }
        if !split {
            return body(0, out);
        }
        let units = (out.len() / unit).div_ceil(self.count * PIECES_PER_THREAD).max(1);
        out.par_chunks_mut(units * unit)
            .enumerate()
            .for_each(|(piece, out)| body(piece * units, out));
    }

    /// Pieces to cut work into that is not a slice.
    pub fn piece_count(&self) -> usize {
        self.count * PIECES_PER_THREAD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_every_unit_once() {
        for count in [1, 2, 3] {
            let threads = Threads::new(count).unwrap();
            for (units, unit) in [(1, 5), (17, 3), (100, 1)] {
                let mut seen = vec![0_usize; units * unit];
                threads.run(|| {
                    threads.pieces(&mut seen, unit, true, |first, piece| {
                        for (offset, slot) in piece.iter_mut().enumerate() {
                            *slot += first * unit + offset + 1;
                        }
                    });
                });
                assert!(seen.iter().enumerate().all(|(index, value)| *value == index + 1));
            }
        }
    }
}
