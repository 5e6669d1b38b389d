//! One test per failure that people met with tools of this kind, each named after what
//! happened. The inputs are our own; they show the kind, not anybody's file.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail where it stands"
)]

mod collectives;
mod command;
mod csv;
mod journal;
