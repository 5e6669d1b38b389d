//! A shared library in NCCL's place, for tests.
//!
//! It keeps the books of communicators (who joined which, who may be called when, what was
//! called). Beside the stand-in driver, whose device memory is the host's, it moves real data and
//! passes time on the GPUs' clock; alone it moves none. Ranks of several processes exchange files
//! ([`exchange`]). Faults are injected by variables of the environment, see [`faults`]. It stands
//! for the library's behaviour only; nothing that is timed with it is a measurement.

#![allow(missing_docs, non_snake_case, unreachable_pub, reason = "the interface is NCCL's")]
#![allow(clippy::missing_safety_doc, reason = "the contracts are NCCL's")]

mod books;
mod calls;
mod driver;
mod exchange;
mod faults;
mod lifecycle;
mod op;
mod tuning;

/// The answers of NCCL that are given here.
pub type Answer = u32;
pub const SUCCESS: Answer = 0;
pub const INVALID_ARGUMENT: Answer = 4;
pub const INVALID_USAGE: Answer = 5;
pub const REMOTE_ERROR: Answer = 6;
pub const IN_PROGRESS: Answer = 7;
