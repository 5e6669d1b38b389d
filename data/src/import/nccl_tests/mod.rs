//! Logs and JSON reports of nccl-tests and rccl-tests, of every layout since 2019.
//!
//! A log is hostile text: launchers prefix its lines, NCCL's messages cut its rows, several
//! runs share it. Lines are told apart by content ([`facts`], [`header`], [`row`]), gathered
//! into runs ([`scan`]), and the numbers of a run must agree with each other before they
//! become records ([`bandwidth`], [`resolve`], [`records`]).

mod bandwidth;
mod facts;
mod header;
mod json;
mod pasted;
mod records;
mod resolve;
mod row;
mod scan;
mod tokens;

use std::path::Path;

use thiserror::Error;

use crate::diagnostic::Diagnostic;
use crate::import::{ImportError, ImportOptions, ImportSummary, Imported, MachineFacts};
use crate::measurement::Record;
use crate::point::{Collective, CollectivePoint, Point};
use facts::Program;
use pasted::RunsSeen;

/// The `kernel` of records measured with one buffer for sending and receiving.
pub const IN_PLACE: &str = crate::manner::IN_PLACE;

/// Why a log or report is not imported.
#[derive(Debug, Clone, PartialEq, Error)]
pub(crate) enum NcclTestsError {
    /// Two processes printed into one file.
    #[error("two runs in one file, printed at the same time")]
    TwoRuns,
    /// One rank moves nothing.
    #[error("world size 1 is not a collective measurement")]
    SingleRank,
    /// Rows without a header.
    #[error("rows without a header: which column is which is not known")]
    NoHeader,
    /// No rows at all.
    #[error("no usable rows{}{}", behind(": ", failure), behind("; the first: ", first))]
    NoRows {
        /// What the program reported.
        failure: Option<String>,
        /// Why the first row was left out.
        first: Option<String>,
    },
    /// The run is of a program that measures no collective.
    #[error("`{name}` is not a collective this tool knows")]
    OtherProgram {
        /// Its name.
        name: String,
    },
    /// The rows fit several collectives or none.
    #[error("which collective ran is not stated{}", candidate_list(candidates))]
    UnknownCollective {
        /// Those the rows fit.
        candidates: Vec<Collective>,
    },
    /// The number of ranks is not stated and the bandwidths do not tell it.
    #[error("the number of ranks is not stated{}", rank_list(implied))]
    UnknownRanks {
        /// Those the bandwidths fit.
        implied: Vec<u64>,
    },
    /// Rank list and bandwidths contradict each other.
    #[error("{stated} ranks are stated, but the bandwidths do not fit them{}", rank_list(implied))]
    RanksDisagree {
        /// As stated.
        stated: u64,
        /// Those the bandwidths fit.
        implied: Vec<u64>,
    },
    /// Times and bandwidths of a whole table contradict each other.
    #[error("time in {unit} and algbw in GB/s disagree: algbw is {ratio:.4} times size over time")]
    BandwidthDisagrees {
        /// Printed bandwidth over computed bandwidth.
        ratio: f64,
        /// The time unit taken.
        unit: &'static str,
    },
    /// Not the JSON of a report.
    #[error("column {column}: {}", if *truncated { "the report ends early" } else { "not a report" })]
    Json {
        /// Where reading stopped.
        column: usize,
        /// Whether the text simply ends.
        truncated: bool,
    },
}

fn behind(mark: &str, text: &Option<String>) -> String {
    text.as_ref().map(|text| format!("{mark}{text}")).unwrap_or_default()
}

fn candidate_list(candidates: &[Collective]) -> String {
    let names: Vec<&str> = candidates.iter().map(|collective| collective.name()).collect();
    if names.is_empty() { String::new() } else { format!("; the rows fit {}", names.join(", ")) }
}

fn rank_list(implied: &[u64]) -> String {
    /// Beyond this many the list helps nobody.
    const MOST: usize = 6;
    match implied {
        [] => String::new(),
        few if few.len() <= MOST => {
            let names: Vec<String> = few.iter().map(u64::to_string).collect();
            format!("; the bandwidths fit {}", names.join(", "))
        }
        [first, .., last] => format!("; the bandwidths fit {first} to {last}"),
        [only] => format!("; the bandwidths fit {only}"),
    }
}

impl Diagnostic for NcclTestsError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            NcclTestsError::TwoRuns | NcclTestsError::SingleRank => {
                "was the program built without MPI (`make MPI=1`)? then every process runs alone; \
                 import one run per file"
            }
            NcclTestsError::NoHeader => "import the whole log, from the line `# nThread` on",
            NcclTestsError::NoRows { .. } => return None,
            NcclTestsError::OtherProgram { .. } => {
                let known = Collective::ALL.map(Collective::name).join(", ");
                return Some(format!("known: {known}"));
            }
            NcclTestsError::UnknownCollective { .. } => "state it with `--collective`",
            NcclTestsError::UnknownRanks { .. } => "state it with `--ranks`",
            NcclTestsError::RanksDisagree { .. } => {
                "was the rank list cut? `--ranks` states the number where the log does not"
            }
            NcclTestsError::BandwidthDisagrees { ratio, .. } => return unit_hint(*ratio),
            NcclTestsError::Json { truncated: true, .. } => "the program was stopped; run it again",
            NcclTestsError::Json { .. } => "reports are written by nccl-tests with `-J`",
        };
        Some(hint.to_owned())
    }
}

/// Names the mix-up behind a ratio of printed to computed bandwidth.
fn unit_hint(ratio: f64) -> Option<String> {
    let near = |value: f64| (ratio / value - 1.0).abs() < 0.02;
    let hint = if near(1.048_576) || near(1.073_741_824) || near(1.0 / 1.073_741_824) {
        "one of the two counts powers of 1024; GB/s are 1e9 bytes per second"
    } else if near(1e3) || near(1e-3) || near(1e6) || near(1e-6) {
        "the time column has another unit than its heading says"
    } else {
        "one of the columns is not what its heading says"
    };
    Some(hint.to_owned())
}

/// A refusal and the line it is due to.
#[derive(Debug)]
struct Refusal {
    line: Option<usize>,
    error: NcclTestsError,
}

/// Whether `text` is a log or report of nccl-tests.
pub(crate) fn recognises(text: &str) -> bool {
    json::is_report(text)
        || text.lines().any(|line| {
            let line = tokens::without_escapes(line);
            facts::preamble(&line).is_some()
                || header::Header::parse(&line).is_some()
                || line.contains("# nccl-tests version")
                || line.contains("# Out of bounds values")
        })
        || is_fragment(text)
}

/// Whether most lines are rows, though nothing says so.
fn is_fragment(text: &str) -> bool {
    let lines = text.lines().filter(|line| !line.trim().is_empty()).take(100);
    let keys = lines.clone().filter(|line| row::Key::find(line).is_some()).count();
    keys * 2 > lines.count() && !text.contains(',')
}

/// Reads a log or report.
///
/// # Errors
/// Refuses what is no measurement of one run after another: see [`NcclTestsError`].
pub(crate) fn read(
    text: &str,
    path: &Path,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    let refused = |refusal: Refusal| {
        let hint = hint_for(&refusal.error, path);
        ImportError::refused(path, refusal.line, refusal.error.to_string(), hint)
    };
    let mut summary = ImportSummary::default();
    let scanned = if json::is_report(text) {
        json::scan(text, &mut summary)
    } else {
        scan::scan(text, &mut summary)
    };
    let scanned = scanned.map_err(refused)?;
    let mut records: Vec<Record> = Vec::new();
    let mut runs_seen = RunsSeen::default();
    let runs: Vec<_> = scanned.runs.iter().filter(|run| !run.rows.is_empty()).collect();
    for run in &runs {
        let stated = match &run.program {
            Some(Program::Of(collective)) => Some(*collective),
            Some(Program::Other(name)) => {
                let error = NcclTestsError::OtherProgram { name: name.clone() };
                return Err(refused(Refusal { line: Some(run.line), error }));
            }
            None => options.collective,
        };
        let found = records::records(run, stated, options, &mut summary).map_err(refused)?;
        if runs_seen.repeat(&found) {
            let (rows, line) = (found.len(), run.line);
            summary.note(format!(
                "the run from line {line} on repeats an earlier one exactly: its {rows} records \
                 are folded"
            ));
            continue;
        }
        records.extend(found);
    }
    if records.is_empty() {
        let failure = scanned.runs.iter().find_map(|run| run.failure.clone());
        let dropped = summary.dropped.first();
        let line = dropped.and_then(|dropped| dropped.lines.first().copied());
        let first = dropped.map(|dropped| dropped.reason.clone());
        return Err(refused(Refusal { line, error: NcclTestsError::NoRows { failure, first } }));
    }
    summary.count(&records);
    let of_node = |point: &CollectivePoint| point.ranks.div_ceil(point.nodes.max(1));
    let (count, nodes) = (most(&records, of_node), most(&records, |point| point.nodes));
    let machine = MachineFacts { count, nodes, ..scanned.machine };
    Ok(Imported { records, summary, machine })
}

/// What to do about an error. The name of a file is no evidence, but a person can judge what
/// it suggests.
fn hint_for(error: &NcclTestsError, path: &Path) -> String {
    let hint = error.hint().unwrap_or_default();
    let NcclTestsError::UnknownCollective { candidates } = error else { return hint };
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_possible = |guess: &Collective| {
        // All-to-all-v prints what all-to-all prints.
        let shown = if *guess == Collective::AllToAllV { Collective::AllToAll } else { *guess };
        candidates.is_empty() || candidates.contains(&shown)
    };
    match facts::file_collective(stem).filter(is_possible) {
        Some(guess) => format!("{hint}; is it `--collective {guess}`, as the file's name says?"),
        None => hint,
    }
}

/// The largest value of a parameter among `records`.
fn most(records: &[Record], parameter: fn(&CollectivePoint) -> u64) -> Option<u32> {
    let values = records.iter().filter_map(|record| match &record.point {
        Point::Collective(point) => u32::try_from(parameter(point)).ok(),
        _ => None,
    });
    values.max()
}

#[cfg(test)]
mod tests;
