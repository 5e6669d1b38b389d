//! NCCL's wrappers against the fake library: what they pass on, and that every fault ends with
//! its own error in time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail where it stands")]

mod collectives;
mod fake;
mod forming;
mod loading;
mod processes;
