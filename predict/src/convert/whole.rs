//! Files that appear whole or not at all, and never in place of an input.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::ConvertError;

/// The folder that is written to, and what was read.
pub(super) struct Folder {
    path: PathBuf,
    inputs: Vec<PathBuf>,
}

impl Folder {
    /// `inputs` are files and folders.
    pub fn new(path: &Path, inputs: &[PathBuf]) -> Self {
        let inputs = inputs.iter().filter_map(|input| fs::canonicalize(input).ok()).collect();
        Folder { path: path.to_owned(), inputs }
    }

    /// Writes a file through `write`; an earlier one of the name gives way once the new one is
    /// complete, unless it is an input or lies in a folder that was given as one.
    pub fn write<T>(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>,
    ) -> Result<(PathBuf, T), ConvertError> {
        let path = self.path.join(name);
        if self.is_input(&path) {
            return Err(ConvertError::Input { path: path.display().to_string() });
        }
        let partial = self.path.join(format!(".{name}.partial"));
        let written = fs::create_dir_all(&self.path).and_then(|()| fill(&partial, write));
        let moved = written.and_then(|value| fs::rename(&partial, &path).map(|()| value));
        match moved {
            Ok(value) => Ok((path, value)),
            Err(error) => {
                // What went wrong first is what counts.
                let _ = fs::remove_file(&partial);
                Err(ConvertError::Write { path: path.display().to_string(), error })
            }
        }
    }

    fn is_input(&self, path: &Path) -> bool {
        let Ok(path) = fs::canonicalize(path) else { return false };
        self.inputs.iter().any(|input| path.starts_with(input))
    }
}

fn fill<T>(
    partial: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>,
) -> io::Result<T> {
    let mut file = BufWriter::new(File::create(partial)?);
    let value = write(&mut file)?;
    // A full disk says so here and not when the file is dropped.
    file.flush()?;
    file.get_ref().sync_all()?;
    Ok(value)
}
