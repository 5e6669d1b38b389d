//! The command line of `predict`, declared once: parser, help, man page and completions all
//! come from here.
//!
//! Depends on clap and std only, because the root build script includes this file. Values are
//! kept as given; what they mean for a machine is left to `question` and `machine`.

#[path = "args/trace.rs"]
pub mod trace;

use std::ffi::OsString;

use trace::{ConvertArguments, InspectArguments, OpsArguments, OverheadsArguments};

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Predict how long kernels and collectives take, offline, with an error bar.
#[derive(Debug, Parser)]
#[command(
    name = "predict",
    disable_version_flag = true,
    disable_help_subcommand = true,
    after_help = "Examples:
  predict machines
  predict gemm -m 4096 -n 4096 -k 4096 --dtype bf16 --machine h200-sxm
  predict all-reduce --bytes 64MiB --ranks 8 --machine h200-sxm --explain
  predict batch shapes.csv --machine h200-sxm > times.csv
  predict convert traces/ --to chakra --out astra/
  predict inspect traces/

Exit codes: 0 answered; 1 some rows of a batch have no answer; 2 the question, a file or a
model is wrong; 3 the answer could not be written."
)]
pub struct Arguments {
    /// Print version, git revision and data stamp
    #[arg(short = 'V', long)]
    pub version: bool,
    /// Print a man page or a shell completion script
    #[arg(long, value_enum, value_name = "KIND")]
    pub generate: Option<Generate>,
    /// What is asked.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The questions.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Time of a matrix product, m x k times k x n
    Gemm(GemmArguments),
    /// Time of an embedding bag, forward or backward
    Embedding(EmbeddingArguments),
    /// Time of attention over a prompt or of one generated token
    Attention(AttentionArguments),
    /// Time of a memory-bound op; `predict softmax ...` is short for `predict memory softmax ...`
    Memory(MemoryArguments),
    /// Time of a copy between or within memories
    Copy(CopyArguments),
    /// Time of an all-reduce
    #[command(alias = "all_reduce")]
    AllReduce(CollectiveArguments),
    /// Time of an all-gather
    #[command(alias = "all_gather")]
    AllGather(CollectiveArguments),
    /// Time of a reduce-scatter
    #[command(alias = "reduce_scatter")]
    ReduceScatter(CollectiveArguments),
    /// Time of an all-to-all
    #[command(alias = "all_to_all")]
    AllToAll(CollectiveArguments),
    /// Time of an all-to-all with unequal parts
    #[command(alias = "all_to_all_v")]
    AllToAllV(CollectiveArguments),
    /// Time of a broadcast
    Broadcast(CollectiveArguments),
    /// Time of a reduction to one rank
    Reduce(CollectiveArguments),
    /// Time of a gather to one rank
    Gather(CollectiveArguments),
    /// Time of a scatter from one rank
    Scatter(CollectiveArguments),
    /// Time of each rank sending to its neighbour
    #[command(alias = "send_recv")]
    SendRecv(CollectiveArguments),
    /// Time of an op that a data set measured over parameters of its own
    Custom(CustomArguments),
    /// Answer every row of a CSV or JSON lines file
    Batch(BatchArguments),
    /// Write recorded training steps in the formats of other tools
    Convert(ConvertArguments),
    /// What recorded training steps say: where their time went, what waited for what
    Inspect(InspectArguments),
    /// The distinct ops of recorded training steps, as points that can be measured and predicted
    Ops(OpsArguments),
    /// What ops cost on the host of recorded training steps (overheads T1 to T5)
    Overheads(OverheadsArguments),
    /// List the machines that ship with the project
    Machines(MachinesArguments),
    /// c = a + b
    #[command(hide = true)]
    Add(MatrixArguments),
    /// b = s a
    #[command(hide = true)]
    Scale(MatrixArguments),
    /// b = max(a, 0)
    #[command(hide = true)]
    Relu(MatrixArguments),
    /// b = 1 / (1 + exp(-a))
    #[command(hide = true)]
    Sigmoid(MatrixArguments),
    /// Gaussian error linear unit
    #[command(hide = true)]
    Gelu(MatrixArguments),
    /// Sum of each row
    #[command(hide = true)]
    Sum(MatrixArguments),
    /// Softmax of each row
    #[command(hide = true)]
    Softmax(MatrixArguments),
    /// Layer normalisation of each row
    #[command(hide = true, alias = "layer_norm")]
    LayerNorm(MatrixArguments),
    /// Rows and columns swapped
    #[command(hide = true)]
    Transpose(MatrixArguments),
    /// Two matrices side by side
    #[command(hide = true)]
    Concat(MatrixArguments),
    /// a = s
    #[command(hide = true)]
    Fill(MatrixArguments),
    /// Elements kept and scaled, or zero
    #[command(hide = true)]
    Dropout(MatrixArguments),
    /// Into another element type: f64 to f32, f32 to f16, narrower ones to f32
    #[command(hide = true)]
    Cast(MatrixArguments),
    /// What lies below the diagonal of each square of a batch
    #[command(hide = true)]
    Triangle(MatrixArguments),
    /// Layer normalisation backward, to its input
    #[command(hide = true, alias = "layer_norm_backward")]
    LayerNormBackward(MatrixArguments),
}

/// `predict gemm`.
#[derive(Debug, Args)]
pub struct GemmArguments {
    /// Rows of the result
    #[arg(short, value_parser = count, allow_negative_numbers = true)]
    pub m: u64,
    /// Columns of the result
    #[arg(short, value_parser = count, allow_negative_numbers = true)]
    pub n: u64,
    /// The contracted dimension
    #[arg(short, value_parser = count, allow_negative_numbers = true)]
    pub k: u64,
    /// Independent products in one call
    #[arg(long, default_value = "1", value_parser = count, allow_negative_numbers = true)]
    pub batch: u64,
    /// Element type: bf16, f16, f32, fp8 ...
    #[arg(long)]
    pub dtype: Option<String>,
    /// Row-major operands: nn as they are, nt with b transposed, tn with a [default: the usual]
    #[arg(long, default_value = "", hide_default_value = true)]
    pub layout: String,
    /// Model and output.
    #[command(flatten)]
    pub ask: AskOptions,
}

/// `predict embedding`.
#[derive(Debug, Args)]
pub struct EmbeddingArguments {
    /// Tables in one op
    #[arg(
        long,
        required_unless_present = "tables_file",
        conflicts_with = "tables_file",
        value_parser = count,
        allow_negative_numbers = true
    )]
    pub tables: Option<u64>,
    /// CSV file of the tables of one fused op, each with columns of its own: rows, dim, pooling,
    /// distribution, and tables for several that are alike; options stand for columns left out
    #[arg(long, value_name = "FILE")]
    pub tables_file: Option<OsString>,
    /// Rows of each table
    #[arg(
        long,
        required_unless_present = "tables_file",
        value_parser = count,
        allow_negative_numbers = true
    )]
    pub rows: Option<u64>,
    /// Elements of a row
    #[arg(
        long,
        required_unless_present = "tables_file",
        value_parser = count,
        allow_negative_numbers = true
    )]
    pub dim: Option<u64>,
    /// Samples
    #[arg(long, value_parser = count, allow_negative_numbers = true)]
    pub batch: u64,
    /// Indices per sample and table; 1 for `nn.Embedding`
    #[arg(
        long,
        required_unless_present = "tables_file",
        value_parser = count,
        allow_negative_numbers = true
    )]
    pub pooling: Option<u64>,
    /// forward, or backward with its update
    #[arg(long, default_value = "forward")]
    pub direction: String,
    /// Update of the backward pass: sgd, rowwise_adagrad, or dense for the gradient of nn.Embedding
    #[arg(long)]
    pub optimizer: Option<String>,
    /// How indices are drawn: uniform, zipf:1.05, or 17 shares by how often a row is looked up,
    /// of the rows as reuse:.../... or of the lookups as access:.../...
    #[arg(long, default_value = "uniform")]
    pub distribution: String,
    /// Element type of the rows
    #[arg(long)]
    pub dtype: Option<String>,
    /// Model and output.
    #[command(flatten)]
    pub ask: AskOptions,
}

/// `predict attention`.
#[derive(Debug, Args)]
pub struct AttentionArguments {
    /// context (a prompt) or generation (one token)
    #[arg(long)]
    pub phase: String,
    /// Sequences
    #[arg(long, value_parser = count, allow_negative_numbers = true)]
    pub batch: u64,
    /// Query heads
    #[arg(long, value_parser = count, allow_negative_numbers = true)]
    pub heads: u64,
    /// Key and value heads [default: as --heads]
    #[arg(long, value_parser = count, allow_negative_numbers = true)]
    pub kv_heads: Option<u64>,
    /// Elements of a head
    #[arg(long, default_value = "128", value_parser = count, allow_negative_numbers = true)]
    pub head_dim: u64,
    /// Queries per sequence [default: as --kv-len for context, 1 for generation]
    #[arg(long, value_parser = count, allow_negative_numbers = true)]
    pub query_len: Option<u64>,
    /// Keys per sequence, the new ones included
    #[arg(long, value_parser = count, allow_negative_numbers = true)]
    pub kv_len: u64,
    /// Sliding window in keys; 0 for none
    #[arg(long, default_value = "0", value_parser = count_or_none, allow_negative_numbers = true)]
    pub window: u64,
    /// Element type of queries and output
    #[arg(long)]
    pub dtype: Option<String>,
    /// Element type of the key and value cache [default: as --dtype]
    #[arg(long)]
    pub kv_dtype: Option<String>,
    /// Model and output.
    #[command(flatten)]
    pub ask: AskOptions,
}

/// `predict memory OP`.
#[derive(Debug, Args)]
pub struct MemoryArguments {
    /// add, scale, relu, sigmoid, gelu, sum, softmax, layer_norm, layer_norm_backward, transpose,
    /// concat, fill, dropout, cast (f64 to f32, f32 to f16, narrower types to f32) or triangle
    /// (below the diagonal of --rows squares of --columns)
    #[arg(value_name = "OP")]
    pub op: String,
    /// Its parameters.
    #[command(flatten)]
    pub matrix: MatrixArguments,
}

/// Parameters of a memory-bound op.
#[derive(Debug, Args)]
pub struct MatrixArguments {
    /// Rows
    #[arg(long, value_parser = count, allow_negative_numbers = true, requires = "columns")]
    pub rows: Option<u64>,
    /// Elements of a row (of the result, for concat); side of a square, for triangle
    #[arg(
        long,
        value_parser = count,
        allow_negative_numbers = true,
        required_unless_present = "elements",
        conflicts_with = "elements"
    )]
    pub columns: Option<u64>,
    /// Elements in all, as one row
    #[arg(long, value_parser = count, allow_negative_numbers = true, conflicts_with = "rows")]
    pub elements: Option<u64>,
    /// Element type
    #[arg(long)]
    pub dtype: Option<String>,
    /// Model and output.
    #[command(flatten)]
    pub ask: AskOptions,
}

/// `predict copy`.
#[derive(Debug, Args)]
pub struct CopyArguments {
    /// h2d, d2h, d2d, p2p or h2h
    #[arg(long)]
    pub direction: String,
    /// Bytes copied: 65536, 64K or 64KiB (1024 each), 64KB (1000 each); the same for M, G, T
    #[arg(long, allow_hyphen_values = true)]
    pub bytes: String,
    /// Host memory is page-locked
    #[arg(long)]
    pub pinned: bool,
    /// Model and output.
    #[command(flatten)]
    pub ask: AskOptions,
}

/// Every collective.
#[derive(Debug, Args)]
pub struct CollectiveArguments {
    /// Size as nccl-tests counts it, the larger of a rank's two buffers: 65536, 64M or 64MiB
    /// (1024 x 1024 each), 64MB (10^6 each); the same for K, G, T
    #[arg(long, allow_hyphen_values = true)]
    pub bytes: String,
    /// Participating devices
    #[arg(long, value_parser = count, allow_negative_numbers = true)]
    pub ranks: u64,
    /// Nodes the ranks are spread over
    #[arg(long, default_value = "1", value_parser = count, allow_negative_numbers = true)]
    pub nodes: u64,
    /// What the rank that sends most sends, in percent of the mean (all-to-all-v)
    #[arg(long, default_value = "100", value_name = "PERCENT", value_parser = count, allow_negative_numbers = true)]
    pub imbalance: u64,
    /// Element type [default: the machine's 16-bit float]
    #[arg(long)]
    pub dtype: Option<String>,
    /// Model and output.
    #[command(flatten)]
    pub ask: AskOptions,
}

/// `predict custom NAME`.
#[derive(Debug, Args)]
pub struct CustomArguments {
    /// Name of the op in the data set
    pub name: String,
    /// A parameter, once for each: --set batch=64 --set width=8
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub parameters: Vec<String>,
    /// Model and output.
    #[command(flatten)]
    pub ask: AskOptions,
}

/// `predict batch`.
#[derive(Debug, Args)]
pub struct BatchArguments {
    /// CSV with a header, or one JSON object a line; `-` reads standard input
    ///
    /// Columns are those of the data sets (dtype,m,n,k for gemm); what is left out has the
    /// default of the single question. A column `family` or `op` names the op of each row (gemm,
    /// all_reduce, softmax, or an op of the machine's own) where they are mixed, a column
    /// `machine` its machine, a column `cache` whether its operands are hot or cold. An op of the machine's own has a column for each parameter, or one
    /// column `parameters` as `batch=64;width=8`. The output has the same format and every input
    /// column, then time_us, low_us, high_us, domain, basis, machine and error.
    #[arg(value_name = "FILE|-")]
    pub input: OsString,
    /// Family or op of every row, where no column says it; with --machine also an op of its own
    #[arg(long)]
    pub op: Option<String>,
    /// Which model answers.
    #[command(flatten)]
    pub model: ModelOptions,
}

/// `predict machines`.
#[derive(Debug, Args)]
pub struct MachinesArguments {
    /// How to print
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}

/// What every single question takes.
#[derive(Debug, Args)]
pub struct AskOptions {
    /// Which model answers.
    #[command(flatten)]
    pub model: ModelOptions,
    /// How to print
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// Show terms, domain, nearest measured points and held-out error
    #[arg(long)]
    pub explain: bool,
}

/// Which model answers, and how.
#[derive(Debug, Args)]
pub struct ModelOptions {
    /// A machine of `predict machines`, or a model file or folder that `calibrate` wrote
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<OsString>,
    /// Which part of the model answers; the last four are published models, for comparison
    #[arg(long, value_enum, default_value = "best", hide_default_value = true)]
    pub basis: BasisName,
    /// Whether operands are in cache before each execution [default: as measured, hot first]
    #[arg(long, value_enum)]
    pub cache: Option<CacheName>,
    /// Answer outside the measured domain too, with a wider interval, up to 1024 times beyond
    /// (ranks: 8 times); never other nodes than were measured
    #[arg(long)]
    pub extrapolate: bool,
}

/// How an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// One JSON document
    Json,
    /// Header and rows
    Csv,
}

/// Which part of the model answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BasisName {
    /// Measured points as measured, else the best the model has
    Best,
    /// The analytical term alone
    Analytical,
    /// The linfa regression alone
    Learned,
    /// Analytical term times learned correction
    Hybrid,
    /// Analytical term with the machine's published figures, for embedding bags and memory-bound
    /// ops; what was never measured needs --extrapolate
    Described,
    /// max(arithmetic / peak, traffic / bandwidth)
    Roofline,
    /// Published embedding heuristic without caches
    Plain,
    /// Published embedding heuristic with caches
    CacheAware,
    /// Published three-region curve of collectives
    Sigmoid,
}

/// Cold or hot operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CacheName {
    /// The same operands again and again
    Hot,
    /// Operands evicted before each execution
    Cold,
}

/// Texts generated from this declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Generate {
    /// The man page, in roff
    Man,
    /// Completions for bash
    CompleteBash,
    /// Completions for zsh
    CompleteZsh,
    /// Completions for fish
    CompleteFish,
}

/// A parameter: a whole number in decimal digits.
fn count(text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = if digits { text.parse().ok() } else { None };
    // Zero is refused by its point, with the parameter's name.
    number.ok_or_else(|| format!("not a whole number from 1 to {}", u64::MAX))
}

/// A parameter that may be none.
fn count_or_none(text: &str) -> Result<u64, String> {
    count(text).map_err(|_| format!("not a whole number from 0 to {}", u64::MAX))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        Arguments::try_parse_from(line.split_whitespace()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_declaration_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn parameters_are_whole_numbers() {
        for value in ["-1", "1.5", "NaN", "+4", "99999999999999999999"] {
            let error = parse(&format!("predict gemm -m {value} -n 1 -k 1")).unwrap_err();
            let complaint = "not a whole number from 1 to 18446744073709551615";
            assert!(error.contains(complaint) && error.contains("-m"), "{value}: {error}");
        }
        let glued = parse("predict gemm -m4096 -n4 -k 2").unwrap();
        assert!(matches!(glued.command, Some(Command::Gemm(gemm)) if gemm.m == 4096));
    }

    #[test]
    fn a_matrix_is_rows_and_columns_or_elements() {
        for good in ["--rows 8 --columns 4", "--columns 4", "--elements 32"] {
            assert!(parse(&format!("predict softmax {good}")).is_ok(), "{good}");
        }
        for bad in ["", "--rows 8", "--rows 8 --elements 4", "--columns 8 --elements 4"] {
            assert!(parse(&format!("predict softmax {bad}")).is_err(), "{bad}");
        }
    }
}
