//! Why a data-set folder cannot be read or written.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::diagnostic::{Diagnostic, ExitStatus};
use crate::units::Bytes;

/// Problems listed one by one; beyond that they are only counted.
pub(super) const LISTED_PROBLEMS: usize = 20;

/// A data-set folder that cannot be used.
#[derive(Debug, Error)]
pub enum DataSetError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is larger than any data set.
    #[error("{}: {size} is over the limit of {limit} for one file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        size: Bytes,
        /// The limit.
        limit: Bytes,
    },
    /// The folder has no manifest.
    #[error("{}: not a data set: it has no dataset.toml", path.display())]
    NoManifest {
        /// The folder.
        path: PathBuf,
    },
    /// The manifest is no valid manifest.
    #[error("{}{}: {message}", path.display(), at(*line))]
    Manifest {
        /// The file.
        path: PathBuf,
        /// The line, where known.
        line: Option<usize>,
        /// What is wrong.
        message: String,
    },
    /// The folder was written by a newer version.
    #[error("{}: format version {found} is newer than {known}, the newest this version reads", path.display())]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest known.
        known: u32,
    },
    /// The tables have errors, listed line by line.
    #[error("{}: {}{}", path.display(), count(*total), list(problems, *total))]
    Problems {
        /// The folder.
        path: PathBuf,
        /// The first problems, each with file, line and column.
        problems: Vec<Problem>,
        /// How many there are in all.
        total: usize,
    },
    /// A file cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// One thing wrong with one file of the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// File inside the folder.
    pub file: String,
    /// Line, from 1; none where the whole file is meant.
    pub line: Option<usize>,
    /// What is wrong, the column named.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

fn at(line: Option<usize>) -> String {
    line.map(|line| format!(":{line}")).unwrap_or_default()
}

fn count(total: usize) -> String {
    if total == 1 { "1 problem".to_owned() } else { format!("{total} problems") }
}

fn list(problems: &[Problem], total: usize) -> String {
    let mut text = String::new();
    for Problem { file, line, what, .. } in problems {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {file}{}: {what}", at(*line));
    }
    if total > problems.len() {
        let _ = write!(text, "\n  and {} more", total - problems.len());
    }
    text
}

impl DataSetError {
    pub(super) fn manifest(path: &Path, text: &str, error: &toml::de::Error) -> Self {
        let line =
            error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        DataSetError::Manifest { path: path.to_owned(), line, message }
    }
}

impl Diagnostic for DataSetError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            DataSetError::NoManifest { .. } => {
                "make one from measurements with `calibrate import FILE --out DIR`"
            }
            DataSetError::NewerFormat { .. } => "read it with the version that wrote it, or newer",
            DataSetError::Problems { problems, .. } => {
                return problems.iter().find_map(|problem| problem.hint.clone());
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }

    fn exit_status(&self) -> ExitStatus {
        match self {
            DataSetError::Write { .. } => ExitStatus::Environment,
            _ => ExitStatus::Input,
        }
    }
}
