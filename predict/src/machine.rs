//! From a name or a path to a model.
//!
//! A shipped machine is named by its name or by its first words, if only one has them (`h200`),
//! in capitals or not, with `_` or `-`; anything else is a model file, or a folder that holds a `model.json`. Left to others: whether
//! the text is a model (`kernelgauge_model`).

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use kernelgauge_data::dataset::{MANIFEST, stored_digest};
use kernelgauge_data::{Bytes, Diagnostic, ExitStatus, foreign, nearest};
use kernelgauge_model::{Model, StoreError};
use thiserror::Error;

use crate::shipped::{self, ShippedModel};

/// Largest model file that is read. The largest shipped one has under 3 MiB.
pub const MODEL_FILE_LIMIT: u64 = 64 << 20;

/// Why a machine has no model here.
#[derive(Debug, Error)]
pub enum MachineError {
    /// No machine was named.
    #[error("which machine?")]
    NotNamed,
    /// Neither a shipped machine nor a file.
    #[error("no such machine or file: `{name}`")]
    Unknown {
        /// What was given.
        name: String,
        /// The nearest shipped name, if one is near.
        nearest: Option<String>,
    },
    /// A prefix of several shipped names.
    #[error("`{name}` may be {candidates}")]
    Ambiguous {
        /// What was given.
        name: String,
        /// The shipped names that begin so, joined.
        candidates: String,
    },
    /// A folder that holds no model.
    #[error("{} holds no model.json", .0.display())]
    NoModelInFolder(PathBuf),
    /// Not a file that could be read whole.
    #[error("{} is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// Larger than any model.
    #[error("{} has over {}, which no model file has", .0.display(), Bytes::new(MODEL_FILE_LIMIT))]
    TooLarge(PathBuf),
    /// Something else altogether.
    #[error("{} is not a model file: it seems to be {seems}", path.display())]
    NotAModel {
        /// The file.
        path: PathBuf,
        /// What it seems to be.
        seems: &'static str,
    },
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The text is not a model this version can use.
    #[error("{label}: {source}")]
    Store {
        /// The file, or the name of the shipped machine.
        label: String,
        /// Why.
        source: StoreError,
    },
}

impl Diagnostic for MachineError {
    fn hint(&self) -> Option<String> {
        match self {
            MachineError::NotNamed => {
                Some(format!("add --machine with one of {}, or with a model file", known()))
            }
            MachineError::Unknown { nearest: Some(name), .. } => {
                Some(format!("did you mean `{name}`? shipped: {}", known()))
            }
            MachineError::Unknown { .. } => Some(format!("shipped: {}", known())),
            MachineError::Ambiguous { .. } => Some("add letters until only one is left".to_owned()),
            MachineError::NoModelInFolder(folder) => {
                Some(format!("`calibrate fit {}` writes one", folder.display()))
            }
            MachineError::NotAFile(_)
            | MachineError::TooLarge(_)
            | MachineError::NotAModel { .. } => Some(
                "`calibrate fit` writes model files; `predict machines` lists the shipped ones"
                    .to_owned(),
            ),
            MachineError::Read { .. } => None,
            MachineError::Store { source, .. } => source.hint(),
        }
    }

    fn exit_status(&self) -> ExitStatus {
        match self {
            MachineError::Store { source, .. } => source.exit_status(),
            _ => ExitStatus::Input,
        }
    }
}

/// The model of a shipped machine, by its name or an unambiguous prefix of it.
///
/// # Errors
/// [`MachineError::Unknown`] with the nearest name, [`MachineError::Ambiguous`] with the
/// candidates.
pub fn shipped(name: &str) -> Result<Model, MachineError> {
    let model = find(name)?.ok_or_else(|| unknown(name))?;
    // Checked when it was built in; only the part that is asked for is parsed.
    Model::open(model.text)
        .map_err(|source| MachineError::Store { label: model.name.to_owned(), source })
}

/// The name and the model file of a shipped machine, by a name that [`fn@shipped`] understands.
pub fn shipped_text(name: &str) -> Option<(&'static str, &'static str)> {
    find(name).ok().flatten().map(|model| (model.name, model.text))
}

/// The model in a file, or in the `model.json` of a folder.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn from_file(path: &Path) -> Result<Model, MachineError> {
    let read_error = |source| MachineError::Read { path: path.to_owned(), source };
    let kind = fs::metadata(path).map_err(read_error)?;
    if kind.is_dir() {
        let inside = path.join("model.json");
        if !inside.is_file() {
            return Err(MachineError::NoModelInFolder(path.to_owned()));
        }
        return from_file(&inside);
    }
    // A pipe or device could stay silent, or never end.
    if !kind.is_file() {
        return Err(MachineError::NotAFile(path.to_owned()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(read_error)?;
    file.take(MODEL_FILE_LIMIT + 1).read_to_end(&mut bytes).map_err(read_error)?;
    if bytes.len() as u64 > MODEL_FILE_LIMIT {
        return Err(MachineError::TooLarge(path.to_owned()));
    }
    let not_a_model = |seems| MachineError::NotAModel { path: path.to_owned(), seems };
    if let Some(seems) = foreign::seems(&bytes) {
        return Err(not_a_model(seems));
    }
    let text = String::from_utf8(bytes).map_err(|_| not_a_model(foreign::BINARY))?;
    Model::from_text(&text)
        .map_err(|source| MachineError::Store { label: path.display().to_string(), source })
}

/// What `--machine` may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meant {
    /// A shipped machine, by name.
    Shipped(&'static str),
    /// A model file, or a folder with one.
    File(PathBuf),
}

/// What is meant by `--machine`: a shipped machine before a file of the same name.
///
/// # Errors
/// [`MachineError::NotNamed`], [`MachineError::Unknown`], [`MachineError::Ambiguous`].
pub fn meant(given: Option<&OsStr>) -> Result<Meant, MachineError> {
    let given = given.ok_or(MachineError::NotNamed)?;
    let path = Path::new(given);
    let exists = path.exists();
    let file = || Ok(Meant::File(path.to_owned()));
    match given.to_str() {
        Some(name) => match find(name) {
            // Another spelling of a shipped name may be the very name of a file.
            Ok(Some(found)) if exists && !found.name.starts_with(name) => file(),
            Ok(Some(found)) => Ok(Meant::Shipped(found.name)),
            Err(error) if !exists => Err(error),
            Ok(None) if !exists => Err(unknown(name)),
            _ => file(),
        },
        None if exists => file(),
        None => Err(unknown(&given.to_string_lossy())),
    }
}

/// The data set beside the model at `path` if the model was fitted on other data than it holds
/// now.
pub fn outdated_by(path: &Path, model: &Model) -> Option<PathBuf> {
    let folder = if path.is_dir() { path } else { path.parent()? };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let is_the_model = path.is_dir() || path.file_name() == Some(OsStr::new("model.json"));
    let places = [folder.join("samples"), folder.to_owned()];
    let data = places.into_iter().find(|place| place.join(MANIFEST).is_file())?;
    let digest = stored_digest(&data).filter(|_| is_the_model)?;
    (digest != model.data_sha256()).then(|| folder.to_owned())
}

/// Capitals and `_` in place of `-` make no other machine.
fn find(name: &str) -> Result<Option<&'static ShippedModel>, MachineError> {
    let plain = name.to_lowercase().replace('_', "-");
    let exact = shipped::MODELS.iter().find(|model| model.name == plain);
    if exact.is_some() || plain.is_empty() {
        return Ok(exact);
    }
    let candidates: Vec<&ShippedModel> =
        shipped::MODELS.iter().filter(|model| is_whole_word(model.name, &plain)).collect();
    match candidates.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        several => {
            let names: Vec<&str> = several.iter().map(|model| model.name).collect();
            Err(MachineError::Ambiguous { name: name.to_owned(), candidates: names.join(" or ") })
        }
    }
}

/// Whether `name` is the first words of `machine`: `h200` is `h200-sxm`, but `h20` and `l40` are
/// other GPUs than those that ship.
fn is_whole_word(machine: &str, name: &str) -> bool {
    let rest = machine.get(name.len()..).filter(|_| machine.starts_with(name));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn unknown(name: &str) -> MachineError {
    let nearest = nearest::unknown("machine", name, shipped::names()).nearest;
    MachineError::Unknown { name: name.to_owned(), nearest }
}

fn known() -> String {
    shipped::names().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_named_in_any_case_and_with_either_dash() {
        let name = |given: &str| match find(given) {
            Ok(found) => found.map_or("none", |model| model.name).to_owned(),
            Err(error) => error.to_string(),
        };
        for given in ["h200-sxm", "H200-SXM", "h200_sxm", "H200", "H200_Sxm"] {
            assert_eq!(name(given), "h200-sxm", "{given}");
        }
        assert_eq!(name("HOST_x86_64"), "host-x86-64");
        for given in ["", "h20", "h200sxm", "-", "_"] {
            assert_eq!(name(given), "none", "{given}");
        }
    }
}
