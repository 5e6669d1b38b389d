//! The faults, each a variable of the environment that is read at every call.
//!
//! | variable | value | effect |
//! |---|---|---|
//! | `KERNELGAUGE_FAKE_NCCL_VERSION` | number | what the version is said to be |
//! | `KERNELGAUGE_FAKE_NCCL_INIT` | `hang` | communicators stay in progress for ever |
//! | | `hang-later` | the same of those formed after one has ended, in any process |
//! | | number | forming a communicator ends with that code |
//! | `KERNELGAUGE_FAKE_NCCL_CALL` | number | every collective answers that code |
//! | `KERNELGAUGE_FAKE_NCCL_COLLECTIVE` | `hang` | what is enqueued never ends |
//! | | `hang:N` | collectives of N elements never end |
//! | | `wrong` | every result has a wrong byte |
//! | `KERNELGAUGE_FAKE_NCCL_PEER` | `hang` | that another process has ended goes unnoticed |
//! | `KERNELGAUGE_FAKE_NCCL_LAUNCH` | `hang` | collectives stay in progress, never launched |
//! | `KERNELGAUGE_FAKE_NCCL_ASYNC` | number | failure of a formed communicator, seen when asked |
//! | `KERNELGAUGE_FAKE_NCCL_END` | `hang` | destroying and aborting do not return |
//!
//! Where `KERNELGAUGE_FAKE_ONCE` names a file, only one process has the faults `hang` and `wrong`
//! of collectives: the first that would.
//!
//! A missing function is no variable: a name that is exported is found. The test overwrites it
//! in its copy of the file.

use std::fs::File;
use std::io::Write as _;

/// The value of one variable, by the end of its name.
fn value(name: &str) -> Option<String> {
    std::env::var(format!("KERNELGAUGE_FAKE_NCCL_{name}")).ok()
}

pub fn hangs(name: &str) -> bool {
    value(name).is_some_and(|value| value == "hang")
}

/// Whether communicators stay in progress once one has `ended`.
pub fn hangs_later(ended: impl Fn() -> bool) -> bool {
    value("INIT").is_some_and(|value| value == "hang-later") && ended()
}

pub fn number(name: &str) -> Option<u32> {
    value(name)?.parse().ok()
}

pub fn is_set(name: &str) -> bool {
    value(name).is_some_and(|value| !value.is_empty())
}

/// Whether this process has the fault.
pub fn is(name: &str, word: &str) -> bool {
    value(name).is_some_and(|value| value == word) && has_the_fault()
}

/// Whether this process is the first to ask, or all have the fault: where `KERNELGAUGE_FAKE_ONCE`
/// names a file, only the one has it that made the file and wrote its number there.
fn has_the_fault() -> bool {
    let Some(path) = std::env::var_os("KERNELGAUGE_FAKE_ONCE") else { return true };
    let own = std::process::id().to_string();
    if let Ok(mut file) = File::create_new(&path) {
        return file.write_all(own.as_bytes()).is_ok();
    }
    std::fs::read_to_string(&path).is_ok_and(|first| first == own)
}

/// The N of `word:N`, 0 of `word` alone.
pub fn nth(name: &str, word: &str) -> Option<u64> {
    let value = value(name).filter(|_| has_the_fault())?;
    let rest = value.strip_prefix(word)?;
    if rest.is_empty() { Some(0) } else { rest.strip_prefix(':')?.parse().ok() }
}
