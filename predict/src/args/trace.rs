//! Questions about recorded training steps.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Format, ModelOptions};

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
    /// How many ops and collectives are listed; JSON lists all
    #[arg(long, default_value = "10", value_name = "COUNT")]
    pub top: usize,
    /// How to print: CSV has one row per rank and step
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}

/// `predict ops`.
#[derive(Debug, Args)]
pub struct OpsArguments {
    /// The traces.
    #[command(flatten)]
    pub traces: TraceFiles,
    /// How many ops are listed; JSON and CSV list all
    #[arg(long, default_value = "20", value_name = "COUNT")]
    pub top: usize,
    /// How to print: CSV is one row per op, with the columns of the data sets
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// The model that predicts each op beside its recorded time; none without --machine.
    #[command(flatten)]
    pub model: ModelOptions,
}

/// `predict overheads`.
#[derive(Debug, Args)]
pub struct OverheadsArguments {
    /// The traces.
    #[command(flatten)]
    pub traces: TraceFiles,
    /// What the profiler adds to the host for each event it records, in microseconds; it is
    /// taken off
    #[arg(long, default_value = "2", value_name = "MICROSECONDS", value_parser = event_cost)]
    pub event_cost: f64,
    /// Tell ops of different input shapes apart
    #[arg(long)]
    pub by_shape: bool,
    /// How many ops are listed; JSON and CSV list all
    #[arg(long, default_value = "20", value_name = "COUNT")]
    pub top: usize,
    /// How to print
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}

/// `predict convert`.
#[derive(Debug, Args)]
pub struct ConvertArguments {
    /// The traces.
    #[command(flatten)]
    pub traces: TraceFiles,
    /// The format
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: TraceFormat,
    /// The folder to write to, made if it is not there; files given are never overwritten
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
}

/// Formats of other tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// chakra.N.et for each rank, and comm_group.json: ASTRA-sim and Chakra's tools
    Chakra,
    /// rankN.json.gz for each rank: Perfetto, chrome://tracing, HolisticTraceAnalysis
    Chrome,
    /// tasks.csv, one row per task with what it waits for
    Csv,
}

/// Microseconds from 0 to 1000: what one event costs.
fn event_cost(text: &str) -> Result<f64, String> {
    let cost = text.parse::<f64>().ok().filter(|cost| (0.0..=1000.0).contains(cost));
    cost.ok_or_else(|| "not a number of microseconds from 0 to 1000".to_owned())
}
