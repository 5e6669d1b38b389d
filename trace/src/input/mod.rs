//! From files and folders to recordings and execution traces: what kind of file each is, what it
//! is wrapped in, and which rank it is of.
//!
//! Plain files, gzip, tar and both together are read as streams; nothing is unpacked to the
//! disk. A file that was named must be a trace; in a folder or an archive, what is none is passed
//! over with a note.
//!
//! Left to others: what is in a trace (`kineto`, `execution`, `chakra`), and linking (`build`).

mod archive;
mod folder;
mod format;
mod link;
mod name;
mod opened;
mod ranks;
pub mod strange;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use format::Format;

use crate::chakra::{self, ChakraTrace};
use crate::error::TraceError;
use crate::execution::{self, ExecutionTrace};
use crate::kineto;
use crate::options::ReadOptions;
use crate::recording::{Recording, StatedRank};
use opened::Opened;

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Recordings of profilers, by rank.
    pub recordings: Vec<Recording>,
    /// Execution traces, by rank.
    pub executions: Vec<ExecutionTrace>,
    /// Chakra traces, by rank.
    pub chakras: Vec<LoadedChakra>,
    /// What was passed over or assumed, a sentence each.
    pub notes: Vec<String>,
}

/// A Chakra trace; those of others do not state their rank.
#[derive(Debug)]
pub struct LoadedChakra {
    /// The rank, by the content, else by the name of the file or its place.
    pub rank: Option<StatedRank>,
    /// The trace.
    pub trace: ChakraTrace,
}

/// Reads files and folders (two levels deep); `-` is the standard input.
///
/// The rank of each comes from its content, else its name, else its place. An execution trace
/// and a recording of the same rank belong together.
///
/// # Errors
/// What cannot be read, a named file that is no trace, a folder or archive without any, and two
/// files of the same kind and rank.
pub fn load(paths: &[PathBuf], options: &ReadOptions) -> Result<Loaded, TraceError> {
    let mut loaded = Loaded::default();
    for path in paths {
        let before = loaded.len();
        if path.is_dir() {
            for file in folder::files(path)? {
                Loader { loaded: &mut loaded, options, named: false }.file(&file)?;
            }
        } else {
            Loader { loaded: &mut loaded, options, named: true }.file(path)?;
        }
        if loaded.len() == before {
            return Err(TraceError::unusable(
                &path.display().to_string(),
                format!("holds no trace{}", passed_over(&loaded.notes)),
                "traces are Kineto's JSON, PyTorch's execution traces and Chakra's `.et`",
            ));
        }
    }
    ranks::settle(&mut loaded)?;
    Ok(loaded)
}

/// The last note, in brackets.
fn passed_over(notes: &[String]) -> String {
    notes.last().map_or(String::new(), |note| format!(" ({note})"))
}

impl Loaded {
    /// How many traces there are.
    fn len(&self) -> usize {
        self.recordings.len() + self.executions.len() + self.chakras.len()
    }
}

/// Reads one file after another.
struct Loader<'of> {
    loaded: &'of mut Loaded,
    options: &'of ReadOptions,
    /// Whether the file must be a trace.
    named: bool,
}

impl Loader<'_> {
    /// Reads a file, or the members of an archive.
    fn file(&mut self, path: &std::path::Path) -> Result<(), TraceError> {
        let opened = opened::file(path)?;
        if !archive::is_tar(&opened.beginning) {
            return self.trace(opened);
        }
        let source_name = opened.source_name.clone();
        // What is no trace in an archive is passed over, as in a folder.
        let mut members = Loader { loaded: self.loaded, options: self.options, named: false };
        archive::each_member(&source_name, opened, |member| members.member(member))
    }

    /// Reads a member of an archive, or says that it was passed over.
    fn member(&mut self, member: archive::Member<'_>) -> Result<(), TraceError> {
        match member {
            archive::Member::File(opened) => self.trace(opened),
            archive::Member::PassedOver(note) => {
                self.loaded.notes.push(note);
                Ok(())
            }
        }
    }

    /// Reads one trace.
    fn trace(&mut self, opened: Opened<'_>) -> Result<(), TraceError> {
        let Opened { source_name, beginning, reader, .. } = opened;
        let format = match format::of(&source_name, &beginning) {
            Ok(format) => format,
            Err(strange) if self.named => {
                return Err(TraceError::unusable(&source_name, strange.problem, strange.hint));
            }
            Err(strange) => {
                self.loaded.notes.push(format!("{source_name} {}: passed over", strange.problem));
                return Ok(());
            }
        };
        match format {
            Format::Kineto => {
                let mut recording = kineto::read(&source_name, reader, self.options)?;
                recording.rank = recording.rank.or_else(|| name::rank(&source_name));
                self.loaded.recordings.push(recording);
            }
            Format::ExecutionTrace => {
                let mut execution = execution::read(&source_name, reader, self.options)?;
                execution.rank = execution.rank.or_else(|| name::rank(&source_name));
                self.loaded.executions.push(execution);
            }
            Format::ChakraProtobuf => {
                let trace = chakra::read(&source_name, reader)?;
                self.chakra(trace);
            }
            Format::ChakraJson => {
                let trace = chakra::read_json(&source_name, reader)?;
                self.chakra(trace);
            }
        }
        Ok(())
    }

    /// Takes a Chakra trace; those of others do not state their rank.
    fn chakra(&mut self, trace: ChakraTrace) {
        let rank = trace.stated_rank().or_else(|| name::rank(&trace.source));
        self.loaded.chakras.push(LoadedChakra { rank, trace });
    }
}
