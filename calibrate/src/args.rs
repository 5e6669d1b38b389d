//! The command line of `calibrate`, as declared: one declaration per flag feeds the parser,
//! `--help`, the man page and the completions.
//!
//! Parsing has no side effects and resolves nothing; the commands do. This file depends on clap
//! and the standard library only, because the root package's build script includes it.

#[path = "args/evaluate.rs"]
pub mod evaluate;

use evaluate::EvaluateArguments;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Measure a machine once; fit; write one model file and one report.
///
/// Without a subcommand, `calibrate` measures: it plans, takes the measurements that an earlier
/// run has not taken yet, checks them, fits a model and writes everything to one folder.
#[derive(Debug, Parser)]
#[command(name = "calibrate", disable_version_flag = true, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    /// What to do; measuring, when left out.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// How to measure.
    #[command(flatten)]
    pub measure: MeasureArguments,

    /// Print a man page or a completion script and exit.
    #[arg(long, value_name = "WHAT")]
    pub generate: Option<Generated>,

    /// Print the version, with git revision and data stamp, and exit.
    #[arg(short = 'V', long)]
    pub version: bool,
}

/// What `--generate` can print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Generated {
    /// The man page, in roff.
    Man,
    /// Completions for bash.
    CompleteBash,
    /// Completions for zsh.
    CompleteZsh,
    /// Completions for fish.
    CompleteFish,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Import measurements of others, or logs and tables of yours, into a data set folder.
    Import(Box<ImportArguments>),
    /// Fit a model to a data set folder.
    Fit(FitArguments),
    /// Print the held-out error of a model, or its error against fresh measurements.
    Evaluate(Box<EvaluateArguments>),
    /// Compare two data sets or models: two machines, drivers or dates.
    Compare(CompareArguments),
    /// Make a data set smaller by an even choice of its rows, or show what that cost.
    Thin(ThinArguments),
    /// Say what is here, what is missing, what that costs and what to do about it.
    Doctor(DoctorArguments),
}

/// How to measure.
#[derive(Debug, Clone, Args)]
pub struct MeasureArguments {
    /// What to measure: `cpu`, or GPUs as `0`, `0..7` (both ends included), `0-7`, `0,2,5`, `all`.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: String,

    /// Processor threads to measure with [default: all].
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<usize, 1, MANY>,
        allow_negative_numbers = true
    )]
    pub threads: Option<usize>,

    /// Families to measure, such as `gemm,copy` [default: all the device has].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub ops: Vec<String>,

    /// Measure what recorded traces of a run contain and nothing else: files or folders, as
    /// `predict ops` reads them. The ops that take longest come first.
    #[arg(long, value_name = "FILE|FOLDER", num_args = 1..)]
    pub from_trace: Vec<PathBuf>,

    /// Read a trace that ends in the middle up to its last complete event.
    #[arg(long, requires = "from_trace")]
    pub allow_truncated: bool,

    /// Read execution traces of a schema newer than this build knows as the newest it knows.
    #[arg(long, requires = "from_trace")]
    pub allow_unknown_schema: bool,

    /// Time for the whole command, fit and report included, such as `60s`, `10m` or `1h30m`.
    ///
    /// A quarter is kept for fit and report. The first pass covers the whole domain; after it
    /// points are chosen by where models would be least sure for what they cost. A later run
    /// without a budget measures the rest.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,

    /// Folder to write to (default: `calibrations/<machine>`).
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Seed of the operands and of the order of points.
    #[arg(
        long,
        value_name = "N",
        default_value = "0",
        value_parser = whole::<u64, 0, { u64::MAX }>,
        allow_negative_numbers = true
    )]
    pub seed: u64,

    /// Measure the coarse first pass of the plan only.
    #[arg(long)]
    pub quick: bool,

    /// Print the plan and measure nothing.
    #[arg(long)]
    pub plan: bool,

    /// Start over: an unfinished run in the folder is kept beside the new one.
    #[arg(long)]
    pub new_run: bool,

    /// Measure the points again that failed in an earlier run.
    #[arg(long)]
    pub retry_failed: bool,

    /// Longest time to sample one point [default: 5s, less under a budget].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub max_time_per_point: Option<Duration>,

    /// Time a GPU gets to start, to prepare a point or to time a sample, before the process that
    /// measures it is replaced; more where more is expected [default: 60s, 30s and 10s].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub deadline: Option<Duration>,

    /// Number of this process among `--ranks`, where no launcher says so.
    #[arg(
        long,
        value_name = "N",
        requires = "ranks",
        value_parser = whole::<u32, 0, MANY>,
        allow_negative_numbers = true
    )]
    pub rank: Option<u32>,

    /// Processes that measure together.
    #[arg(
        long,
        value_name = "N",
        requires = "rank",
        value_parser = whole::<u32, 1, MANY>,
        allow_negative_numbers = true
    )]
    pub ranks: Option<u32>,

    /// Where rank 0 listens for the others [default: what the launcher says].
    #[arg(long, value_name = "HOST:PORT")]
    pub master: Option<String>,

    /// Time in which all ranks must have come [default: 60s].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub join_within: Option<Duration>,

    /// Exactly this many samples per point, instead of stopping when the median is known.
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<u32, 1, 1_000_000>,
        allow_negative_numbers = true
    )]
    pub samples: Option<u32>,

    /// On GPUs, time this many algorithms of each matrix product first and measure the fastest
    /// [default: the one that the library proposes first].
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<u32, 1, 64>,
        allow_negative_numbers = true
    )]
    pub gemm_tune: Option<u32>,

    /// Format of the plan and of the final summary on standard output.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
}

/// Formats of what is printed on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// One JSON document.
    Json,
    /// A Markdown table.
    Markdown,
}

/// What to import and how to read what the files do not say.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// Files to import; what they hold is recognised by content, never by name.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Data set folder to write; records are added to those it has.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// Name of the machine, for a new data set [default: name of the folder].
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,

    /// The device's own name, such as `NVIDIA H200` [default: what the files say].
    #[arg(long, value_name = "NAME")]
    pub device_name: Option<String>,

    /// Devices in one node [default: what the files say].
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<u32, 1, MANY>,
        allow_negative_numbers = true
    )]
    pub count: Option<u32>,

    /// Element type of rows that state none.
    #[arg(long, value_name = "DTYPE")]
    pub dtype: Option<String>,

    /// Name of the op, for tables of named integer columns.
    #[arg(long, value_name = "NAME")]
    pub op: Option<String>,

    /// Input contents to keep, where a file mixes several.
    #[arg(long, value_name = "NAME")]
    pub input: Option<String>,

    /// Rows to keep, by what stands in a column, such as `layout=TN`; may be repeated.
    ///
    /// Conditions on several columns all hold; of several on one column, any.
    #[arg(long = "where", value_name = "NAME=VALUE")]
    pub conditions: Vec<String>,

    /// Family of the rows, where the columns leave it open.
    #[arg(long, value_name = "FAMILY")]
    pub family: Option<String>,

    /// The collective, for logs that do not name it.
    #[arg(long, value_name = "NAME")]
    pub collective: Option<String>,

    /// Number of ranks, for logs that do not state it.
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<u64, 1, MANY>,
        allow_negative_numbers = true
    )]
    pub ranks: Option<u64>,

    /// Number of nodes, for logs that name no hosts.
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<u64, 1, MANY>,
        allow_negative_numbers = true
    )]
    pub nodes: Option<u64>,

    /// Links between the devices: `nvswitch`, `nvlink`, `pcie`, `xgmi` or `network`.
    #[arg(long, value_name = "LINKS")]
    pub links: Option<String>,

    /// Fail, and write nothing, when any row is dropped.
    #[arg(long)]
    pub strict: bool,

    /// Largest file to read, such as `512MiB` (1024 each; `512MB` is 1000 each).
    #[arg(long, value_name = "SIZE")]
    pub max_bytes: Option<String>,

    /// Where the files come from: package, version and path, or an address.
    #[arg(long, value_name = "TEXT")]
    pub source: Option<String>,

    /// Licence the files are under.
    #[arg(long, value_name = "SPDX")]
    pub licence: Option<String>,

    /// How the measurements were taken.
    #[arg(long, value_name = "TEXT")]
    pub method: Option<String>,
}

/// What to fit.
#[derive(Debug, Args)]
pub struct FitArguments {
    /// Data set folder, or a folder that `calibrate` wrote.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Model file to write [default: model.json in the folder].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Data set folder of another machine to borrow from, for what this one has few measurements
    /// of or none; may be repeated.
    ///
    /// A folder whose `dataset.toml` only describes a machine is enough to borrow for it: units,
    /// memory_gb_s, cache_bytes and peak_tflop_s, better with compute_capability. A measured
    /// point or two of each kind make the answers far better.
    #[arg(long, value_name = "DIR")]
    pub borrow: Vec<PathBuf>,

    /// Seed of the cross-validation.
    #[arg(
        long,
        value_name = "N",
        default_value = "0",
        value_parser = whole::<u64, 0, { u64::MAX }>,
        allow_negative_numbers = true
    )]
    pub seed: u64,

    /// How finely corrections are learned: `standard`, `full` (the most accurate, in a model ten
    /// times as large) or TREESxLEAVES.
    #[arg(long, value_name = "LEVEL", default_value = "standard")]
    pub detail: String,
}

/// What to compare, and which differences count.
#[derive(Debug, Args)]
#[command(after_help = "Ratios are times of B over times of A: 1.10 is ten per cent slower. \
Exit codes: 0 compared; 1 a variant differs by more than --threshold and beyond its noise; \
2 an input is wrong, or the two have nothing in common.")]
pub struct CompareArguments {
    /// Data set folder, a folder that `calibrate` wrote, a model file, or a shipped machine by
    /// name: the one compared with.
    #[arg(value_name = "A")]
    pub before: PathBuf,

    /// The same for the other side.
    #[arg(value_name = "B")]
    pub after: PathBuf,

    /// Fail (exit code 1) where a variant differs by more than this, such as `5%`, beyond noise.
    #[arg(long, value_name = "PERCENT", value_parser = percentage, allow_negative_numbers = true)]
    pub threshold: Option<f64>,

    /// Families to compare [default: all].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub ops: Vec<String>,

    /// Seed of the fits, where data sets without common points are compared by their models.
    #[arg(
        long,
        value_name = "N",
        default_value = "0",
        value_parser = whole::<u64, 0, { u64::MAX }>,
        allow_negative_numbers = true
    )]
    pub seed: u64,

    /// Format of the result on standard output.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
}

/// What to thin, or what to compare with its thinned form.
#[derive(Debug, Args)]
#[command(
    override_usage = "calibrate thin <DIR> --out <DIR> --max-bytes <SIZE> [OPTIONS]\n       \
                      calibrate thin <DIR> --check <DIR> [--seed <N>]"
)]
pub struct ThinArguments {
    /// Data set folder: the full table.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Folder to write the thinned data set to.
    #[arg(long, value_name = "DIR", requires = "max_bytes")]
    pub out: Option<PathBuf>,

    /// Size of all CSV files of the thinned data set together, such as `3MB` (1000 each) or
    /// `3MiB` (1024 each).
    #[arg(long, value_name = "SIZE")]
    pub max_bytes: Option<String>,

    /// Move the kernel names from the rows to the notes of each file.
    #[arg(long)]
    pub summarise_kernels: bool,

    /// Compare held-out errors of models fitted on the full table and on this thinned one.
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub check: Option<PathBuf>,

    /// Seed of the choice, or of what is held out.
    #[arg(
        long,
        value_name = "N",
        default_value = "0",
        value_parser = whole::<u64, 0, { u64::MAX }>,
        allow_negative_numbers = true
    )]
    pub seed: u64,
}

/// How to report.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Print the findings as JSON.
    #[arg(long)]
    pub json: bool,

    /// Let warnings fail too.
    #[arg(long)]
    pub strict: bool,

    /// Folder that measurements would be written to.
    #[arg(long, value_name = "DIR", default_value = "calibrations")]
    pub out: PathBuf,
}

/// More of anything than is counted.
const MANY: u64 = u32::MAX as u64;

/// A whole number in decimal digits, from `LOW` to `HIGH`.
fn whole<T: TryFrom<u64>, const LOW: u64, const HIGH: u64>(text: &str) -> Result<T, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number: Option<u64> = if digits { text.parse().ok() } else { None };
    let number = number.filter(|number| (LOW..=HIGH).contains(number));
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| format!("not a whole number from {LOW} to {HIGH}"))
}

/// `5%`, `0.5 %`, `5`: a share, from a number of per cent.
fn percentage(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let percent = if plain { number.parse::<f64>().ok() } else { None };
    let share = percent.map(|percent| percent / 100.0).filter(|share| *share <= 10.0);
    share.ok_or_else(|| "not a percentage from 0% to 1000%, such as 5%".to_owned())
}

/// `90` (seconds), `90s`, `1.5m`, `1h30m`, `250ms`.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let refuse = || format!("`{text}` is not a time such as `60s`, `10m` or `1h30m`");
    let mut rest = text.trim();
    let mut seconds = 0.0;
    if rest.is_empty() {
        return Err(refuse());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let scale = match unit {
            "" if number == text.trim() => 1.0,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(refuse()),
        };
        seconds += number.parse::<f64>().map_err(|_| refuse())? * scale;
        rest = tail;
    }
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| refuse())?;
    if duration.is_zero() || seconds > 1e6 {
        return Err(format!("`{text}` is not between 1 ms and 1e6 s"));
    }
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn measure(arguments: &[&str]) -> Result<MeasureArguments, String> {
        let words = std::iter::once(&"calibrate").chain(arguments);
        Arguments::try_parse_from(words).map(|a| a.measure).map_err(|e| e.to_string())
    }

    #[test]
    fn the_declaration_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        let read = |text| parse_duration(text).map(|time| time.as_secs_f64());
        assert_eq!(read("90"), Ok(90.0));
        assert_eq!(read("60s"), Ok(60.0));
        assert_eq!(read("1.5m"), Ok(90.0));
        assert_eq!(read("1h30m"), Ok(5400.0));
        assert_eq!(read("250ms"), Ok(0.25));
        for bad in ["", "s", "-5s", "0", "5 parsecs", "1e9h", "60s90", "9999999999h", "NaN", ".s"] {
            assert!(parse_duration(bad).is_err(), "{bad} was accepted");
        }
    }

    #[test]
    fn percentages_become_shares() {
        assert_eq!(percentage("5%"), Ok(0.05));
        assert_eq!(percentage("2.5 %"), Ok(0.025));
        assert_eq!(percentage("5"), Ok(0.05));
        for bad in ["", "%", "five", "-5%", "NaN", "1e9%", "2000%", "5%x", "."] {
            assert!(percentage(bad).is_err(), "{bad} was accepted");
        }
    }

    #[test]
    fn every_whole_number_states_its_range() {
        const LARGE: &str = "18446744073709551616";
        for (line, range) in [
            ("--seed", "0 to 18446744073709551615"),
            ("--threads", "1 to 4294967295"),
            ("--samples", "1 to 1000000"),
            ("import x --out y --count", "1 to 4294967295"),
            ("import x --out y --ranks", "1 to 4294967295"),
            ("import x --out y --nodes", "1 to 4294967295"),
            ("--gemm-tune", "1 to 64"),
            ("fit x --seed", "0 to 18446744073709551615"),
            ("evaluate x --fresh", "1 to 10000"),
            ("evaluate x --threads", "1 to 4294967295"),
            ("evaluate x --seed", "0 to 18446744073709551615"),
            ("thin x --check y --seed", "0 to 18446744073709551615"),
        ] {
            let zero = if range.starts_with('0') { "-0" } else { "0" };
            for value in ["NaN", "-1", "1.5", "+1", "", LARGE, zero] {
                let words = line.split(' ').chain([value]);
                let error = Arguments::try_parse_from(std::iter::once("calibrate").chain(words));
                let error = error.map(|_| ()).unwrap_err().to_string();
                let expected = format!("not a whole number from {range}");
                let empty = value.is_empty() && error.contains("a value is required");
                assert!(empty || error.contains(&expected), "{line} {value}: {error}");
            }
        }
    }

    #[test]
    fn flags_land_where_they_belong() {
        let parsed = measure(&["--device", "0..7", "--ops", "gemm,copy", "--budget", "1m"]);
        let parsed = parsed.unwrap();
        assert_eq!(parsed.device, "0..7");
        assert_eq!(parsed.ops, ["gemm", "copy"]);
        assert_eq!(parsed.budget, Some(Duration::from_secs(60)));
        assert!(measure(&["--budget", "soon"]).unwrap_err().contains("`soon` is not a time"));
        assert!(measure(&["--samples", "0"]).is_err());
        assert!(measure(&["--quick", "fit", "x"]).is_err());
    }
}
