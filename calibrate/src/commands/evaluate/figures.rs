//! Errors stated in CSV files: those of other tools, and those that may not be exceeded.
//!
//! Both files name a row of an evaluation by machine, family, variant and split and state errors
//! in per cent, of which any may be left empty. What is done with them is left to `held_out`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use kernelgauge_data::{Diagnostic, ExitStatus};
use kernelgauge_model::EvaluationRow;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// More than any list of figures needs; the rest of a longer file is not read.
const MOST_BYTES: u64 = 1 << 24;

/// What is wrong with a file of figures.
#[derive(Debug, Error)]
pub enum FiguresError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A row that is none.
    #[error("{}{}: {what}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
    Row {
        /// The file.
        path: PathBuf,
        /// The line, where one is known.
        line: Option<u64>,
        /// What is wrong.
        what: String,
    },
}

impl Diagnostic for FiguresError {
    fn hint(&self) -> Option<String> {
        match self {
            FiguresError::Read { .. } => None,
            FiguresError::Row { .. } => Some(
                "`calibrate evaluate --help` names the columns; figures are per cent".to_owned(),
            ),
        }
    }

    fn exit_status(&self) -> ExitStatus {
        ExitStatus::Input
    }
}

/// What another tool reaches on a row.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerFigure {
    pub machine: String,
    pub family: String,
    pub variant: String,
    pub split: String,
    pub name: String,
    pub mape: Option<f64>,
    pub median: Option<f64>,
    pub p90: Option<f64>,
    /// Where the figures come from.
    pub source: String,
}

/// What a row may not exceed, or fall short of.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    pub machine: String,
    pub family: String,
    pub variant: String,
    pub split: String,
    pub mape: Option<f64>,
    pub median: Option<f64>,
    pub p90: Option<f64>,
    pub covered_least: Option<f64>,
    pub covered_most: Option<f64>,
}

/// A row of such a file.
pub trait Figure: DeserializeOwned {
    /// Machine, family, variant, split.
    fn names(&self) -> [&str; 4];
    /// All figures it states.
    fn figures(&self) -> Vec<f64>;

    /// Whether it speaks of `row` of `machine`.
    fn is_about(&self, machine: &str, row: &EvaluationRow) -> bool {
        let of_row = [machine, row.family.name(), row.variant.as_str(), row.split.name()];
        self.names() == of_row
    }
}

impl Figure for PeerFigure {
    fn names(&self) -> [&str; 4] {
        [&self.machine, &self.family, &self.variant, &self.split]
    }

    fn figures(&self) -> Vec<f64> {
        [self.mape, self.median, self.p90].into_iter().flatten().collect()
    }
}

impl Figure for Limit {
    fn names(&self) -> [&str; 4] {
        [&self.machine, &self.family, &self.variant, &self.split]
    }

    fn figures(&self) -> Vec<f64> {
        let covered = [self.covered_least, self.covered_most];
        [self.mape, self.median, self.p90].into_iter().chain(covered).flatten().collect()
    }
}

/// Reads a file of figures.
///
/// # Errors
/// A file that cannot be read, a column too many or too few, a figure that is no percentage.
pub fn read<F: Figure>(path: &Path) -> Result<Vec<F>, FiguresError> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text))
        .map_err(|source| FiguresError::Read { path: path.to_owned(), source })?;
    let wrong = |line, what: String| FiguresError::Row { path: path.to_owned(), line, what };
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| wrong(Some(1), error.to_string()))?.clone();
    let mut figures = Vec::new();
    for row in reader.records() {
        let row = row
            .map_err(|error| wrong(error.position().map(csv::Position::line), error.to_string()))?;
        let line = row.position().map(csv::Position::line);
        let figure: F =
            row.deserialize(Some(&headers)).map_err(|error| wrong(line, reason(&error)))?;
        let possible = |value: &f64| value.is_finite() && *value >= 0.0;
        if figure.figures().is_empty() || !figure.figures().iter().all(possible) {
            return Err(wrong(line, "no figure, or one that is no percentage".to_owned()));
        }
        figures.push(figure);
    }
    if figures.is_empty() {
        return Err(wrong(None, "no row".to_owned()));
    }
    Ok(figures)
}

/// What a row lacks, in csv's words without its place, which is named already.
fn reason(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => err.to_string(),
        _ => error.to_string(),
    }
}
