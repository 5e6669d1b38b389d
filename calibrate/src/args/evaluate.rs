//! The arguments of `calibrate evaluate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Format, MANY, parse_duration, whole};

/// What is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// The whole model.
    Best,
    /// The analytical term alone.
    Analytical,
    /// The regression of the time alone.
    Learned,
    /// Term and correction, without measured neighbours.
    Hybrid,
}

/// A way to hold points out of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum HeldOut {
    /// Single points, drawn by hash.
    Point,
    /// Whole lines, drawn by hash: sites (n, k) of a product never seen.
    Line,
    /// Every second value of the axis.
    EverySecond,
    /// Every second size of a collective, other dtypes at the same bytes known.
    SisterDtype,
    /// The top three octaves of the axis.
    Frontier,
    /// The top four octaves of a collective's sizes.
    FarFrontier,
    /// The top three octaves of a product's columns n.
    WideFrontier,
    /// A rank count between others.
    Ranks,
    /// All but the smallest, the largest and the middle size of each curve of a collective.
    FewPoints,
    /// All but a twentieth of the points, as of a machine hardly measured.
    FewShot,
    /// Every point, as of a machine never measured; needs `--borrow`.
    UnseenMachine,
}

/// What to evaluate and against what.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 evaluated; 1 nothing could be held out, or an error is above \
its limit; 2 an input is wrong; 4 interrupted."
)]
pub struct EvaluateArguments {
    /// Data set folder, or a folder that `calibrate` wrote.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Measure this many new random points per family and compare them with the model.
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<u32, 1, 10_000>,
        allow_negative_numbers = true
    )]
    pub fresh: Option<u32>,

    /// Let the table answer for the machine, and say how few of its points would have been enough:
    /// chosen as `--budget` chooses, evenly, and at random. Of several bands the last is held out.
    #[arg(long, conflicts_with_all = ["fresh", "splits", "borrow", "repeat", "peers", "limits"])]
    pub sweep: bool,

    /// Device for `--fresh`.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: String,

    /// Processor threads for `--fresh` [default: those of the data set].
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<usize, 1, MANY>,
        allow_negative_numbers = true
    )]
    pub threads: Option<usize>,

    /// Time a GPU gets to start, to prepare a point or to time a sample, before the process that
    /// measures it is replaced; more where more is expected [default: 60s, 30s and 10s].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub deadline: Option<Duration>,

    /// How to hold points out [default: every way that has a meaning for the family].
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "fresh")]
    pub splits: Vec<HeldOut>,

    /// Which points and lines are drawn, as bands of their hash within 0..1.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = parse_band,
        default_value = "0..0.2,0.2..0.4,0.6..0.8",
        conflicts_with = "fresh"
    )]
    pub bands: Vec<(f64, f64)>,

    /// Data sets of other machines, to borrow from as `calibrate fit --borrow` does.
    #[arg(long, value_name = "DIR", value_delimiter = ',', conflicts_with = "fresh")]
    pub borrow: Vec<PathBuf>,

    /// More machines to evaluate, each with all others here and in `--borrow` to borrow from, but
    /// for those whose files are from a source of its own; one row for each machine and one over all.
    #[arg(
        long,
        value_name = "DIR",
        value_delimiter = ',',
        conflicts_with_all = ["fresh", "sweep", "repeat"]
    )]
    pub among: Vec<PathBuf>,

    /// What is evaluated: the whole model or a part of it.
    #[arg(long, value_name = "PART", default_value = "best", conflicts_with = "fresh")]
    pub basis: Part,

    /// Another measurement of the same points: what the two differ by is shown beside, the floor
    /// of what can be predicted.
    #[arg(long, value_name = "DIR", conflicts_with = "fresh")]
    pub repeat: Option<PathBuf>,

    /// Errors of other tools to show beside, as CSV: machine, family, variant, split, name, mape,
    /// median, p90, source; in per cent.
    #[arg(long, value_name = "FILE", conflicts_with = "fresh")]
    pub peers: Option<PathBuf>,

    /// Errors that may not be exceeded, as CSV: machine, family, variant, split, mape, median,
    /// p90, covered_least, covered_most; in per cent. Exit code 1 where one is.
    #[arg(long, value_name = "FILE", conflicts_with = "fresh")]
    pub limits: Option<PathBuf>,

    /// Families to evaluate [default: all].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub ops: Vec<String>,

    /// Seed of the splits, or of the fresh points.
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

    /// Format of the result on standard output.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
}

/// `0.2..0.4`, the lower end included.
fn parse_band(text: &str) -> Result<(f64, f64), String> {
    let refuse = || format!("`{text}` is not a band such as `0.2..0.4`, within 0..1");
    let (low, high) = text.split_once("..").ok_or_else(refuse)?;
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| (0.0..=1.0).contains(n));
    let band = (number(low).ok_or_else(refuse)?, number(high).ok_or_else(refuse)?);
    if band.0 < band.1 { Ok(band) } else { Err(refuse()) }
}
