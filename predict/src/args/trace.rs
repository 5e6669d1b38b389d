//! Questions about recorded training steps.

use std::path::PathBuf;

use clap::Args;

use super::Format;

/// Which traces are read, and how strictly.
#[derive(Debug, Args)]
pub struct TraceFiles {
    /// Traces of one run: Kineto (PyTorch profiler), PyTorch execution trace or Chakra, plain,
    /// .gz, .tar or .tar.gz, one file per rank; folders are searched
    #[arg(value_name = "FILE|FOLDER", required = true)]
    pub files: Vec<PathBuf>,
    /// Read a trace that ends in the middle up to its last complete event
    #[arg(long)]
    pub allow_truncated: bool,
    /// Read execution traces of a schema newer than this build knows as the newest it knows
    #[arg(long)]
    pub allow_unknown_schema: bool,
}

/// `predict inspect`.
#[derive(Debug, Args)]
pub struct InspectArguments {
    /// The traces.
    #[command(flatten)]
    pub traces: TraceFiles,
    /// How many ops and collectives are listed
    #[arg(long, default_value = "10", value_name = "COUNT")]
    pub top: usize,
    /// How to print: CSV has one row per rank and step
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}
