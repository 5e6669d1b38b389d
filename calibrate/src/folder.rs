//! The folder a run writes to, tested before anything is measured.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use kernelgauge_data::dataset::MANIFEST;
use kernelgauge_data::{Bytes, Diagnostic, ExitStatus};
use thiserror::Error;

use crate::journal::FILE_NAME;

/// Journal, data set, model and report of a whole run stay well below this.
pub const NEEDED: Bytes = Bytes::new(32 << 20);

/// Why a folder cannot be written to.
#[derive(Debug, Error)]
pub enum FolderError {
    /// Something else has its name.
    #[error("{path} is a file, not a folder", path = .0.display())]
    NotAFolder(PathBuf),
    /// It holds a data set that no run of ours wrote.
    #[error("{path} holds a data set that was not measured into it", path = .0.display())]
    Taken(PathBuf),
    /// It cannot be made or written to.
    #[error("cannot write to {path}: {source}", path = path.display())]
    Unwritable {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Its disk is full, or nearly.
    #[error("{free} free on the disk of {path}, {NEEDED} needed", path = path.display())]
    Full {
        /// The folder.
        path: PathBuf,
        /// Space left.
        free: Bytes,
    },
}

impl Diagnostic for FolderError {
    fn hint(&self) -> Option<String> {
        Some("`--out DIR` names another folder".to_owned())
    }

    fn exit_status(&self) -> ExitStatus {
        ExitStatus::Environment
    }
}

/// Makes `folder` with its parents and proves that a file can be written there.
///
/// # Errors
/// Why not.
pub fn prepare(folder: &Path) -> Result<(), FolderError> {
    let unwritable = |source| FolderError::Unwritable { path: folder.to_owned(), source };
    if folder.is_file() {
        return Err(FolderError::NotAFolder(folder.to_owned()));
    }
    fs::create_dir_all(folder).map_err(unwritable)?;
    let probe = folder.join(format!(".kernelgauge-{}", std::process::id()));
    let write = || -> io::Result<()> {
        let mut file = fs::File::create(&probe)?;
        file.write_all(b"test")?;
        file.sync_all()
    };
    let written = write();
    let removed = fs::remove_file(&probe);
    written.and(removed).map_err(unwritable)?;
    match free_bytes(folder) {
        Some(free) if free < NEEDED => Err(FolderError::Full { path: folder.to_owned(), free }),
        _ => Ok(()),
    }
}

/// That a run may write to `folder`: a data set that was imported into it would lose its model
/// to the run's.
///
/// # Errors
/// [`FolderError::Taken`].
pub fn is_free_for_a_run(folder: &Path) -> Result<(), FolderError> {
    let imported = folder.join(MANIFEST).exists() && !folder.join(FILE_NAME).exists();
    if imported { Err(FolderError::Taken(folder.to_owned())) } else { Ok(()) }
}

/// Space left on the disk of the nearest existing folder above `path`, where the system says.
pub fn free_bytes(path: &Path) -> Option<Bytes> {
    let existing = path.ancestors().find(|folder| folder.exists());
    let folder = existing.filter(|folder| !folder.as_os_str().is_empty());
    let figures = rustix::fs::statvfs(folder.unwrap_or(Path::new("."))).ok()?;
    Some(Bytes::new(figures.f_bavail.saturating_mul(figures.f_frsize)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_made_and_left_clean() {
        let root = std::env::temp_dir().join(format!("kernelgauge-folder-{}", std::process::id()));
        let folder = root.join("a/b");
        prepare(&folder).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        assert!(free_bytes(&folder.join("not/there/yet")).unwrap() > NEEDED);

        let file = root.join("file");
        fs::write(&file, b"").unwrap();
        assert!(matches!(prepare(&file), Err(FolderError::NotAFolder(_))));
        let error = prepare(&file.join("below")).unwrap_err();
        assert!(matches!(error, FolderError::Unwritable { .. }), "{error}");
        assert_eq!(error.exit_status(), ExitStatus::Environment);

        fs::write(root.join(MANIFEST), b"").unwrap();
        assert!(matches!(is_free_for_a_run(&root), Err(FolderError::Taken(_))));
        fs::write(root.join(FILE_NAME), b"").unwrap();
        is_free_for_a_run(&root).unwrap();
        fs::remove_dir_all(&root).unwrap();
    }
}
