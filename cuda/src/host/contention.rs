//! How long the threads of the pool waited for a processor that another program had.
//!
//! Linux counts for every thread the nanoseconds it was ready to run and did not (the second
//! number of `schedstat`, kernel documentation, "Scheduler Statistics"). A timing during which
//! that number grew says how busy the machine was and not how long the work takes. Where the
//! system does not count, nothing is known and nothing is called contended.
//!
//! Left to others: what becomes of such a timing (`kernelgauge-calibrate`).

use std::fs::File;
use std::time::Instant;

use super::threads::Threads;

/// Threads that are watched at most: reading a number costs about a microsecond.
const MOST_WATCHED: usize = 16;

/// The counters of the threads of a pool.
#[derive(Debug, Default)]
pub struct Contention(Vec<File>);

impl Contention {
    /// Of the threads that run what `threads` runs.
    pub fn of(threads: &Threads) -> Self {
        // The file belongs to the thread that opens it.
        let mut counters = threads.on_each(|| File::open("/proc/thread-self/schedstat").ok());
        counters.truncate(MOST_WATCHED);
        let counters: Option<Vec<File>> = counters.into_iter().collect();
        Contention(counters.unwrap_or_default())
    }

    /// Nanoseconds each thread waited, up to when it last began to run; none where the system
    /// does not count.
    pub fn waited(&self) -> Option<Vec<u64>> {
        self.0.iter().map(waited).collect()
    }

    /// The longest wait of a thread between `before` and now, in nanoseconds.
    ///
    /// A wait is counted when it ends. A thread may still be waiting (others then do its share,
    /// and the work takes twice as long with nothing to be seen), so every thread is first made
    /// to run; what that itself takes does not count.
    pub fn waited_since(&self, before: Option<Vec<u64>>, threads: &Threads) -> u64 {
        let Some(before) = before.filter(|before| !before.is_empty()) else { return 0 };
        let until = Instant::now();
        threads.on_each(|| ());
        let since = u64::try_from(until.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let Some(after) = self.waited() else { return 0 };
        let waits = before.iter().zip(&after).map(|(before, after)| after.saturating_sub(*before));
        waits.max().unwrap_or(0).saturating_sub(since)
    }
}

#[cfg(unix)]
fn waited(counter: &File) -> Option<u64> {
    use std::os::unix::fs::FileExt as _;

    let mut text = [0_u8; 96];
    let length = counter.read_at(&mut text, 0).ok()?;
    second_number(std::str::from_utf8(text.get(..length)?).ok()?)
}

#[cfg(not(unix))]
fn waited(_: &File) -> Option<u64> {
    None
}

/// `on-cpu waiting slices`.
fn second_number(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_the_second_number() {
        assert_eq!(second_number("4026531 63044 17\n"), Some(63_044));
        assert_eq!(second_number("4026531"), None);
    }

    #[test]
    fn a_thread_that_shares_its_processor_waits() {
        // Twice as many busy threads as processors: each of them has to wait.
        let threads = Threads::new(2).unwrap();
        let contention = Contention::of(&threads);
        let Some(before) = contention.waited().filter(|waited| !waited.is_empty()) else { return };
        let rivals = 2 * std::thread::available_parallelism().map_or(1, usize::from);
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..rivals {
                scope.spawn(|| {
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        std::hint::spin_loop()
                    }
                });
            }
            threads.on_each(|| {
                let began = std::time::Instant::now();
                while began.elapsed().as_millis() < 60 {}
            });
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        assert!(contention.waited_since(Some(before), &threads) > 3_000_000);
    }
}
