//! One test per failure that people met with tools of this kind, each named after what
//! happened. The inputs are our own; they show the kind, not anybody's file.

mod collectives;
mod command;
mod csv;
mod journal;
