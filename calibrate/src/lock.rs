//! One run at a time on a device: two would disturb each other's measurements.
//!
//! The lock is an advisory lock on a file in the system's folder for temporary files, which is
//! local where home folders may be on a network (`flock` is unreliable on NFS). The system
//! releases it when the process ends, however it ends. The file stays: removing it would let
//! two processes lock two files of the same name.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::PathBuf;

use kernelgauge_data::{Diagnostic, ExitStatus};
use thiserror::Error;

/// Holds the lock while it lives.
#[derive(Debug)]
pub struct DeviceLock {
    _file: File,
}

/// Why the device cannot be had.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another run has it.
    #[error("device `{key}` is being measured by another run ({holder})")]
    Held {
        /// The device.
        key: String,
        /// Who says to hold it.
        holder: String,
    },
    /// The lock file cannot be used.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Diagnostic for LockError {
    fn hint(&self) -> Option<String> {
        match self {
            LockError::Held { .. } => Some(
                "wait until it has finished: two runs at once would disturb each other".to_owned(),
            ),
            LockError::Io { .. } => Some("TMPDIR names another folder for lock files".to_owned()),
        }
    }

    fn exit_status(&self) -> ExitStatus {
        ExitStatus::Environment
    }
}

impl DeviceLock {
    /// Takes the locks of all of `keys`, or none. Two runs that want the same ones cannot wait
    /// for each other, because no one waits.
    ///
    /// # Errors
    /// As [`DeviceLock::take`].
    pub fn take_all(keys: &[String]) -> Result<Vec<Self>, LockError> {
        keys.iter().map(|key| Self::take(key)).collect()
    }

    /// Takes the lock of the device with this key, or says who has it.
    ///
    /// # Errors
    /// [`LockError::Held`], or what the file system says.
    pub fn take(key: &str) -> Result<Self, LockError> {
        let path = std::env::temp_dir().join(format!("kernelgauge-{key}.lock"));
        let failed = |source| LockError::Io { path: path.clone(), source };
        let mut file = open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let read = file.read_to_string(&mut holder);
                let known = read.is_ok() && !holder.trim().is_empty();
                let holder = if known { holder.trim() } else { "which left no name" };
                return Err(LockError::Held { key: key.to_owned(), holder: holder.to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        // Who holds it is a courtesy: another user's file can be locked but not written.
        let _ = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| write!(file, "process {}", std::process::id()));
        Ok(DeviceLock { _file: file })
    }
}

/// Opens for writing, or, where the file belongs to another user, for reading.
fn open(path: &PathBuf) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path),
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_on_several_devices_excludes_a_run_on_one_of_them() {
        let key = |name: &str| format!("test-{name}-{}", std::process::id());
        let (first, second, third) = (key("first"), key("second"), key("third"));
        let held = DeviceLock::take_all(&[first.clone(), second.clone()]).unwrap();
        assert!(DeviceLock::take_all(&[third.clone(), second.clone()]).is_err());
        // What was taken before the one that is held is free again.
        assert!(DeviceLock::take(&third).is_ok());
        drop(held);
        assert!(DeviceLock::take_all(&[third.clone(), second.clone()]).is_ok());
        for key in [first, second, third] {
            let file = std::env::temp_dir().join(format!("kernelgauge-{key}.lock"));
            let _ = std::fs::remove_file(file);
        }
    }

    #[test]
    fn a_second_run_is_told_who_holds_the_device_and_gets_it_afterwards() {
        let key = format!("test-{}", std::process::id());
        let held = DeviceLock::take(&key).unwrap();
        let error = DeviceLock::take(&key).unwrap_err();
        let LockError::Held { holder, .. } = &error else { panic!("{error}") };
        assert_eq!(*holder, format!("process {}", std::process::id()));
        drop(held);
        DeviceLock::take(&key).unwrap();
        let _ = std::fs::remove_file(std::env::temp_dir().join(format!("kernelgauge-{key}.lock")));
    }
}
