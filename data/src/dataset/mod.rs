//! Data sets: the measurements of one machine with their provenance, as a folder.
//!
//! The folder holds `dataset.toml` (machine, how measured, digest of every file) and one CSV
//! file per op family. Reading is strict: what is not understood is an error with its line.
//! Writing replaces each file whole, the manifest last; a set that was read and written again
//! is the same to the byte.
//!
//! Left to others: tables of other tools (`import`) and judging the times (`quality`).

mod error;
mod files;
mod manifest;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::measurement::Record;
use crate::units::Bytes;
use crate::whole_file::{self, ReadError};
use reader::Problems;

pub use error::{DataSetError, Problem};
pub use manifest::{FORMAT_VERSION, FileEntry, Manifest, Run, RunStatus};

/// Name of the manifest inside the folder.
pub const MANIFEST: &str = "dataset.toml";

/// Largest file of a data set: ten times the largest published table.
const MAX_FILE_BYTES: u64 = 512 << 20;

/// Measurements of one machine with their provenance.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSet {
    /// The provenance.
    pub manifest: Manifest,
    /// The measurements.
    pub records: Vec<Record>,
}

impl DataSet {
    /// Reads the data set in `folder`. Every file is checked against its digest, every row
    /// against the columns of its family.
    ///
    /// # Errors
    /// What is missing, newer, changed or not understood, with file and line; up to twenty
    /// problems at once.
    pub fn read(folder: &Path) -> Result<DataSet, DataSetError> {
        let manifest = read_manifest(folder)?;
        let mut problems = Problems::default();
        let mut records = Vec::new();
        for entry in &manifest.files {
            let Some(family) = files::family_of(&entry.name) else {
                let hint = "data-set files are named `gemm.csv` or `custom-<op>.csv`".to_owned();
                let what = format!("`{}` is not the name of a data-set file", entry.name);
                problems.add(MANIFEST, None, what, Some(hint));
                continue;
            };
            let bytes = read_file(&folder.join(&entry.name))?;
            let before = problems.total;
            let rows = reader::read_csv(&entry.name, family, &bytes, &mut problems);
            if problems.total == before {
                check_entry(entry, &bytes, rows.len(), &mut problems);
            }
            records.extend(rows);
        }
        if problems.total > 0 {
            let Problems { listed, total } = problems;
            let path = folder.to_owned();
            return Err(DataSetError::Problems { path, problems: listed, total });
        }
        Ok(DataSet { manifest, records })
    }

    /// Writes the data set into `folder`, made if missing. Rows and digests of the manifest
    /// are brought up to date; what it says about the source of a file is kept.
    ///
    /// # Errors
    /// [`DataSetError::Write`] with the file; files written before it are in place.
    pub fn write(&self, folder: &Path) -> Result<(), DataSetError> {
        let mut manifest = self.manifest.clone();
        manifest.format_version = FORMAT_VERSION;
        manifest.files.clear();
        for (name, key, records) in files::grouped(&self.records) {
            let text = writer::csv_text(&key, &records);
            write_file(&folder.join(&name), text.as_bytes())?;
            let known = self.manifest.file(&name).cloned().unwrap_or_default();
            let (rows, sha256) = (records.len() as u64, sha256_hex(text.as_bytes()));
            manifest.files.push(FileEntry { name, rows, sha256, ..known });
        }
        let path = folder.join(MANIFEST);
        let text = toml::to_string(&manifest).map_err(|error| DataSetError::Manifest {
            path: path.clone(),
            line: None,
            message: error.to_string(),
        })?;
        write_file(&path, text.as_bytes())
    }

    /// Size of all CSV files together, as [`DataSet::write`] writes them.
    pub fn csv_bytes(&self) -> Bytes {
        let files = files::grouped(&self.records).into_iter();
        Bytes::new(files.map(|(_, key, group)| writer::csv_text(&key, &group).len() as u64).sum())
    }

    /// SHA-256 over the names and the canonical text of all files: the same for the same
    /// measurements, in whatever order they were taken.
    pub fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        for (name, key, records) in files::grouped(&self.records) {
            hasher.update(name.as_bytes());
            hasher.update(b"\n");
            hasher.update(writer::csv_text(&key, &records).as_bytes());
        }
        hex(&hasher.finalize())
    }
}

/// The [`DataSet::digest`] of the data set in `folder` from the bytes of its files, none of which
/// is parsed. None where they are not as [`DataSet::write`] left them, or too many to be hashed
/// in passing.
pub fn stored_digest(folder: &Path) -> Option<String> {
    /// Some tens of milliseconds of hashing.
    const MOST: u64 = 16 << 20;
    let manifest = read_manifest(folder).ok()?;
    let paths = manifest.files.iter().map(|file| folder.join(&file.name));
    let sizes = paths.map(|path| std::fs::metadata(path).map(|file| file.len()));
    let total = sizes.sum::<Result<u64, _>>().ok()?;
    if total > MOST {
        return None;
    }
    let mut hasher = Sha256::new();
    for file in &manifest.files {
        let plain =
            Path::new(&file.name).file_name().is_some_and(|name| name == file.name.as_str());
        let bytes = if plain { std::fs::read(folder.join(&file.name)).ok()? } else { return None };
        if sha256_hex(&bytes) != file.sha256 {
            return None;
        }
        hasher.update(file.name.as_bytes());
        hasher.update(b"\n");
        hasher.update(&bytes);
    }
    Some(hex(&hasher.finalize()))
}

/// Names of the files that `records` are written to.
pub fn file_names(records: &[Record]) -> Vec<String> {
    files::grouped(records).into_iter().map(|(name, ..)| name).collect()
}

fn read_manifest(folder: &Path) -> Result<Manifest, DataSetError> {
    /// Of all keys the only one that may be read from a newer version.
    #[derive(Deserialize)]
    struct Version {
        format_version: u32,
    }
    let path = folder.join(MANIFEST);
    if folder.is_dir() && !path.exists() {
        return Err(DataSetError::NoManifest { path: folder.to_owned() });
    }
    let bytes = read_file(&path)?;
    let text = String::from_utf8_lossy(&bytes);
    let broken = |error| DataSetError::manifest(&path, &text, &error);
    let Version { format_version: found } = toml::from_str(&text).map_err(broken)?;
    if found > FORMAT_VERSION {
        return Err(DataSetError::NewerFormat { path, found, known: FORMAT_VERSION });
    }
    let manifest: Manifest = toml::from_str(&text).map_err(broken)?;
    match manifest.machine.hardware.impossible() {
        Some(message) => Err(DataSetError::Manifest { path, line: None, message }),
        None => Ok(manifest),
    }
}

fn check_entry(entry: &FileEntry, bytes: &[u8], rows: usize, problems: &mut Problems) {
    let digest = sha256_hex(bytes);
    if digest != entry.sha256 {
        let what = format!("sha256 is {digest}, but {MANIFEST} says {}", entry.sha256);
        let hint = "the file was changed after it was written: restore it, or import it anew";
        problems.add(&entry.name, None, what, Some(hint.to_owned()));
    } else if rows as u64 != entry.rows {
        let what = format!("{rows} rows, but {MANIFEST} says {}", entry.rows);
        problems.add(&entry.name, None, what, None);
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, DataSetError> {
    let path: PathBuf = path.to_owned();
    whole_file::read(&path, MAX_FILE_BYTES).map_err(|error| match error {
        ReadError::System(source) => DataSetError::Read { path, source },
        ReadError::TooLarge { size } => {
            DataSetError::TooLarge { path, size, limit: Bytes::new(MAX_FILE_BYTES) }
        }
    })
}

fn write_file(path: &Path, content: &[u8]) -> Result<(), DataSetError> {
    whole_file::replace(path, content)
        .map_err(|source| DataSetError::Write { path: path.to_owned(), source })
}

/// SHA-256 of `bytes` in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(digest: &[u8]) -> String {
    digest.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
