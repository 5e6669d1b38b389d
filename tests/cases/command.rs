//! Runs the commands on the inputs of this folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The input called `name`.
pub fn input(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/inputs").join(name)
}

/// A fresh folder for the test called `name`.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cases").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Where the test called `test` imports to.
pub fn set_folder(test: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cases").join(test).join("set")
}

/// What `calibrate import` made of a file.
pub struct Imported {
    /// Exit code.
    pub code: i32,
    /// Standard output: the account of the import.
    pub stdout: String,
    /// Standard error: errors, hints and warnings.
    pub stderr: String,
    /// Every CSV file of the data set, joined in name order; empty if none was written.
    pub tables: String,
}

/// Imports `file` into a fresh data set.
pub fn import(test: &str, file: &Path, options: &[&str]) -> Imported {
    run(file, &folder(test).join("set"), options)
}

/// Imports `file` into the data set that the test called `test` has made.
pub fn import_more(test: &str, file: &Path) -> Imported {
    run(file, &set_folder(test), &[])
}

fn run(file: &Path, out: &Path, options: &[&str]) -> Imported {
    let output = Command::new(env!("CARGO_BIN_EXE_calibrate"))
        .arg("import")
        .arg(file)
        .arg("--out")
        .arg(out)
        .args(options)
        .output()
        .unwrap();
    imported(&output, out)
}

fn imported(output: &Output, out: &Path) -> Imported {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut files: Vec<PathBuf> = match fs::read_dir(out) {
        Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
        Err(_) => Vec::new(),
    };
    files.retain(|path| path.extension().is_some_and(|extension| extension == "csv"));
    files.sort();
    Imported {
        code: output.status.code().unwrap_or(-1),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
        tables: files.iter().map(|path| fs::read_to_string(path).unwrap()).collect(),
    }
}
