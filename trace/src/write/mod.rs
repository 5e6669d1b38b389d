//! Graphs as files that others read: [`chrome`] for Perfetto, `chrome://tracing` and
//! HolisticTraceAnalysis, [`csv`] for tables. Both write while they go through the graph.
//!
//! Left to others: Chakra (`chakra`), names of files and folders (the command line).

pub mod chrome;
pub mod csv;
mod moment;

#[cfg(test)]
pub(crate) mod sample;
