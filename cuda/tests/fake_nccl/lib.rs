//! A shared library in NCCL's place, for tests.
//!
//! It keeps the books of communicators of one process (who joined which, who may be called
//! when, what was called) and moves no data. Faults are injected by variables of the
//! environment, see [`faults`]. It stands for the library's behaviour only; nothing that is
//! timed with it is a measurement.

#![allow(missing_docs, non_snake_case, unreachable_pub, reason = "the interface is NCCL's")]
#![allow(clippy::missing_safety_doc, reason = "the contracts are NCCL's")]

mod books;
mod calls;
mod faults;
mod lifecycle;

/// The answers of NCCL that are given here.
pub type Answer = u32;
pub const SUCCESS: Answer = 0;
pub const INVALID_ARGUMENT: Answer = 4;
pub const INVALID_USAGE: Answer = 5;
pub const IN_PROGRESS: Answer = 7;
