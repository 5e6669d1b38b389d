//! What goes wrong, and from which call on: `KERNELGAUGE_FAKE_FAULT` holds `NAME` or `NAME:N`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{DONE, ILLEGAL_ADDRESS, Status, UNKNOWN};

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// All is well.
    None,
    /// The driver finds no GPU.
    NoDevice,
    /// The driver supports CUDA 12.4 only.
    OldDriver,
    /// The nth allocation fails.
    OutOfMemory(u64),
    /// From the nth synchronisation on, every call fails.
    Sticky(u64),
    /// The same, and the management library says that the GPU is lost.
    Lost(u64),
    /// Every elapsed time is zero.
    ZeroElapsed,
    /// Every elapsed time is negative.
    NegativeElapsed,
    /// The first n elapsed times are zero.
    ZeroAtFirst(u64),
    /// The clock is lowered all the time.
    Throttled,
    /// No kernel does anything.
    WrongKernel,
    /// From the nth launch on, each is refused.
    LaunchFails(u64),
}

/// The fault of this process.
pub fn fault() -> Fault {
    static FAULT: OnceLock<Fault> = OnceLock::new();
    *FAULT.get_or_init(|| read(&std::env::var("KERNELGAUGE_FAKE_FAULT").unwrap_or_default()))
}

fn read(text: &str) -> Fault {
    let (name, number) = text.split_once(':').unwrap_or((text, "1"));
    let number = number.parse().unwrap_or(1);
    match name {
        "no_device" => Fault::NoDevice,
        "old_driver" => Fault::OldDriver,
        "out_of_memory" => Fault::OutOfMemory(number),
        "sticky" => Fault::Sticky(number),
        "lost" => Fault::Lost(number),
        "zero_elapsed" => Fault::ZeroElapsed,
        "negative_elapsed" => Fault::NegativeElapsed,
        "zero_at_first" => Fault::ZeroAtFirst(number),
        "throttled" => Fault::Throttled,
        "wrong_kernel" => Fault::WrongKernel,
        "launch_fails" => Fault::LaunchFails(number),
        _ => Fault::None,
    }
}

static SYNCHRONISATIONS: AtomicU64 = AtomicU64::new(0);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static TIMES: AtomicU64 = AtomicU64::new(0);
static LAUNCHES: AtomicU64 = AtomicU64::new(0);

/// Counts a synchronisation, where a GPU's errors come to light.
pub fn synchronised() -> Status {
    SYNCHRONISATIONS.fetch_add(1, Ordering::Relaxed);
    health()
}

/// What a GPU in this state answers to any call.
pub fn health() -> Status {
    let count = SYNCHRONISATIONS.load(Ordering::Relaxed);
    match fault() {
        Fault::Sticky(first) if count >= first => ILLEGAL_ADDRESS,
        Fault::Lost(first) if count >= first => UNKNOWN,
        _ => DONE,
    }
}

/// Whether the next allocation fails.
pub fn allocation_fails() -> bool {
    let count = ALLOCATIONS.fetch_add(1, Ordering::Relaxed) + 1;
    fault() == Fault::OutOfMemory(count)
}

/// Whether this launch of a kernel is refused.
pub fn launch_fails() -> bool {
    let count = LAUNCHES.fetch_add(1, Ordering::Relaxed) + 1;
    matches!(fault(), Fault::LaunchFails(first) if count >= first)
}

/// The clock of the multiprocessors in MHz.
pub fn sm_clock_mhz() -> f64 {
    if fault() == Fault::Throttled { 1_000.0 } else { 1_500.0 }
}

/// The elapsed time that is reported for `milliseconds`.
pub fn reported(milliseconds: f64) -> f64 {
    let count = TIMES.fetch_add(1, Ordering::Relaxed);
    match fault() {
        Fault::ZeroElapsed => 0.0,
        Fault::NegativeElapsed => -milliseconds,
        Fault::ZeroAtFirst(first) if count < first => 0.0,
        _ => milliseconds,
    }
}
