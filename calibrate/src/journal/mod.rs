//! The journal of a run: an append-only file with one flushed line per point.
//!
//! The first line says which run it is; every other line is one point or one reading of the
//! sentinel. A line is written whole and synced before the next point begins, so a crash at any
//! moment loses at most the line being written. The journal stays when the run is finished:
//! the data set is made from it.
//!
//! Left to others: what is measured (`sweep`) and the data set (`finish`).

mod error;
mod line;
mod reading;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

pub use error::JournalError;
pub use line::{Entry, FORMAT_VERSION, Header};
pub use reading::Contents;

/// The name of the journal in its folder.
pub const FILE_NAME: &str = "journal.jsonl";

/// A journal open for appending.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
}

/// A journal open for appending, with what it held.
#[derive(Debug)]
pub struct Opened {
    /// The journal.
    pub journal: Journal,
    /// What earlier runs left in it.
    pub contents: Contents,
}

impl Journal {
    /// Opens the journal in `folder` for the run of `header`: continues a run that agrees,
    /// else begins one. `new_run` sets an existing journal aside first.
    ///
    /// # Errors
    /// [`JournalError::OtherRun`] when there is a run that does not agree, and what the file
    /// system says.
    pub fn open(folder: &Path, header: Header, new_run: bool) -> Result<Opened, JournalError> {
        let path = folder.join(FILE_NAME);
        if new_run {
            set_aside(&path)?;
        } else if let Some(contents) = Contents::read(&path)? {
            let differences = reading::differences(&contents.header, &header);
            if !differences.is_empty() {
                return Err(JournalError::OtherRun { path, differences });
            }
            return Ok(Opened { journal: Journal::reopen(path, contents.whole_bytes)?, contents });
        }
        Journal::begin(path, header)
    }

    fn begin(path: PathBuf, header: Header) -> Result<Opened, JournalError> {
        let failed = |source| JournalError::Io { path: path.clone(), source };
        let options = OpenOptions::new().write(true).create(true).truncate(true).clone();
        let file = options.open(&path).map_err(failed)?;
        let mut journal = Journal { file, path: path.clone() };
        journal.append(&Entry::Header(header.clone()))?;
        // The name of a new file is as durable as its folder.
        if let Some(folder) = path.parent() {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        }
        let contents = Contents { header, entries: vec![], whole_bytes: 0, torn: false };
        Ok(Opened { journal, contents })
    }

    /// Cuts a torn line off and continues after the last whole one.
    fn reopen(path: PathBuf, whole_bytes: u64) -> Result<Self, JournalError> {
        let open = || -> io::Result<File> {
            let file = OpenOptions::new().append(true).open(&path)?;
            file.set_len(whole_bytes)?;
            file.sync_all()?;
            Ok(file)
        };
        match open() {
            Ok(file) => Ok(Journal { file, path }),
            Err(source) => Err(JournalError::Io { path, source }),
        }
    }

    /// Writes one line and waits until it is on the disk.
    ///
    /// # Errors
    /// What the file system says; a line that could not be written whole counts as torn.
    pub fn append(&mut self, entry: &Entry) -> Result<(), JournalError> {
        let line = entry.to_line()?;
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|source| JournalError::Io { path: self.path.clone(), source })
    }
}

/// Renames an existing journal to the first free `journal.<n>.jsonl`.
fn set_aside(path: &Path) -> Result<(), JournalError> {
    if !path.exists() {
        return Ok(());
    }
    let free = (1_u32..).map(|n| path.with_file_name(format!("journal.{n}.jsonl")));
    for target in free {
        if !target.exists() {
            return fs::rename(path, &target)
                .map_err(|source| JournalError::Io { path: path.to_owned(), source });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
