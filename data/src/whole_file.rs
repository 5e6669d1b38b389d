//! Whole files: read up to a limit, written so that a reader never sees half of one.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::units::Bytes;

/// Why a file was not read.
#[derive(Debug)]
pub enum ReadError {
    /// The system refused.
    System(io::Error),
    /// The file has more bytes than the limit; for a device or pipe the size is not known.
    TooLarge {
        /// Its size, or what was seen of it.
        size: Bytes,
    },
}

/// Reads a file of at most `limit` bytes. Devices and pipes that never end are cut off there
/// too.
///
/// # Errors
/// As [`ReadError`].
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let file = File::open(path).map_err(ReadError::System)?;
    let size = file.metadata().map_err(ReadError::System)?.len();
    if size > limit {
        return Err(ReadError::TooLarge { size: Bytes::new(size) });
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(ReadError::System)?;
    let size = bytes.len() as u64;
    if size > limit {
        return Err(ReadError::TooLarge { size: Bytes::new(size) });
    }
    Ok(bytes)
}

/// Replaces the file at `path`: writes a temporary file beside it, syncs it, renames it over
/// `path` and syncs the folder. Missing parent folders are made. A link stays one, and the file
/// it leads to is replaced; a device or a pipe is written to and stays what it is.
///
/// # Errors
/// Whatever the system says; a file at `path` is then as it was before.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = &target(path)?;
    if fs::metadata(path).is_ok_and(|existing| !existing.is_file() && !existing.is_dir()) {
        return fs::OpenOptions::new().write(true).open(path)?.write_all(content);
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    fs::create_dir_all(&folder)?;
    let temporary = beside(path);
    let written = write_synced(&temporary, content).and_then(|()| fs::rename(&temporary, path));
    if let Err(error) = written {
        // The first error is the one worth telling; a leftover temporary file harms nobody.
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    File::open(&folder)?.sync_all()
}

/// Where links lead from `path`, whether or not there is a file.
fn target(path: &Path) -> io::Result<PathBuf> {
    /// Links in a row that Linux follows.
    const MOST_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let is_link = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink());
        if !is_link {
            return Ok(path);
        }
        let next = fs::read_link(&path)?;
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(io::Error::other(format!("{} is a link that leads to itself", path.display())))
}

fn write_synced(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// `model.json` -> `.model.json.1234.tmp`: hidden, and never the same for two processes.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_read_up_to_its_limit() {
        let folder = crate::test_folder("whole_file");
        let path = folder.join("deep/er/file.txt");
        replace(&path, b"first").unwrap();
        replace(&path, b"second").unwrap();
        assert_eq!(read(&path, 6).unwrap(), b"second");
        assert!(matches!(read(&path, 5), Err(ReadError::TooLarge { size }) if size.get() == 6));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_devices_stay_devices() {
        let folder = crate::test_folder("whole_file_links");
        let link = folder.join("link.json");
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        replace(&link, b"first").unwrap();
        assert_eq!(fs::read(folder.join("real.json")).unwrap(), b"first");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let circle = folder.join("circle");
        std::os::unix::fs::symlink("circle", &circle).unwrap();
        assert!(replace(&circle, b"x").is_err());
        // A device of our own, as nobody may spoil the system's: the terminal's null twin.
        let null = folder.join("null");
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        replace(&null, b"lost").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn a_stream_without_end_is_cut_off() {
        assert!(matches!(read(Path::new("/dev/zero"), 1000), Err(ReadError::TooLarge { .. })));
    }

    #[test]
    fn a_folder_that_cannot_be_is_an_error() {
        let folder = crate::test_folder("whole_file_below_file");
        fs::write(folder.join("file"), b"").unwrap();
        assert!(replace(&folder.join("file/below"), b"x").is_err());
    }
}
