//! Folders for tests that write files; nothing stays behind, whether a test passes or fails.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// A folder that is removed with everything in it when it goes out of scope.
pub(crate) struct TestFolder(PathBuf);

/// A fresh folder for the test called `name`.
pub(crate) fn test_folder(name: &str) -> TestFolder {
    let folder = env::temp_dir().join(format!("kernelgauge-data-{}-{name}", process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    TestFolder(folder)
}

impl Deref for TestFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for TestFolder {
    fn as_ref(&self) -> &Path {
        self
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        // A folder that cannot be removed is no failure of the test.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_test_folder_leaves_nothing_behind() {
    let folder = test_folder("leaves_nothing");
    let path = folder.to_owned();
    fs::create_dir_all(path.join("deep/er")).unwrap();
    fs::write(path.join("deep/er/file"), b"x").unwrap();
    drop(folder);
    assert!(!path.exists());
}
