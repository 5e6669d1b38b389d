//! A folder with a driver that stands in for NVIDIA's, and `calibrate` run with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::Said;

/// The built stand-in, which cargo puts beside the tests that depend on it.
fn built() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.with_file_name("libkernelgauge_fake_driver.so")
}

/// A fresh folder whose folder `driver` holds the stand-in under the names of the real ones.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gpus").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("driver")).unwrap();
    for library in ["libcuda.so.1", "libnvidia-ml.so.1"] {
        fs::copy(built(), folder.join("driver").join(library)).unwrap();
    }
    folder
}

/// Puts the stand-in for NCCL beside the driver in `folder`.
pub fn with_nccl(folder: &Path) {
    let nccl = built().with_file_name("libkernelgauge_fake_nccl.so");
    fs::copy(nccl, folder.join("driver/libnccl.so.2")).unwrap();
}

/// Takes a function from the driver in `folder`, by giving it a name no one looks for.
pub fn remove_function(folder: &Path, name: &str) {
    let path = folder.join("driver/libcuda.so.1");
    let mut bytes = fs::read(&path).unwrap();
    let text = [b"\0", name.as_bytes(), b"\0"].concat();
    let mut found = 0;
    for at in 0..bytes.len() - text.len() {
        if bytes[at..].starts_with(&text) {
            bytes[at + 1] = b'X';
            found += 1;
        }
    }
    assert!(found > 0, "{name} is not in the driver");
    fs::write(&path, bytes).unwrap();
}

/// `calibrate` with the words of `line`, the driver in `folder`, and a fault.
pub fn command(folder: &Path, fault: &str, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_calibrate"));
    command
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("TMPDIR", folder)
        .env("LD_LIBRARY_PATH", folder.join("driver"))
        .env("KERNELGAUGE_FAKE_FAULT", fault);
    command
}

/// Runs `calibrate` so.
pub fn calibrate(folder: &Path, fault: &str, line: &str) -> Said {
    said(&mut command(folder, fault, line))
}

/// Runs `calibrate` with variables of the environment.
pub fn calibrate_with(folder: &Path, variables: &[(&str, &str)], line: &str) -> Said {
    said(command(folder, "", line).envs(variables.iter().copied()))
}

/// Runs `command` and keeps everything it says.
pub fn said(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
