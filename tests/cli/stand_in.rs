//! A folder with a driver that stands in for NVIDIA's, and `calibrate` run with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::Said;
use crate::processor::Compiler;

/// The sources of kernels, compiled here for the processor.
const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cuda/kernels");

/// A built stand-in, which cargo puts beside the tests that depend on it.
fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.with_file_name(format!("lib{name}.so"))
}

/// A fresh folder whose folder `driver` holds the stand-in under the names of the real ones.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gpus").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("driver")).unwrap();
    for library in ["libcuda.so.1", "libnvidia-ml.so.1"] {
        fs::copy(built("kernelgauge_fake_driver"), folder.join("driver").join(library)).unwrap();
    }
    folder
}

/// Puts the stand-in for NCCL beside the driver in `folder`.
pub fn with_nccl(folder: &Path) {
    fs::copy(built("kernelgauge_fake_nccl"), folder.join("driver/libnccl.so.2")).unwrap();
}

/// As [`folder`], with a compiler of kernels, and the kernels for the driver to run; none, with
/// a message, where no C++ compiler is.
pub fn folder_with_kernels(name: &str) -> Option<PathBuf> {
    let compiler = Compiler::find()?;
    let folder = folder(name);
    let nvrtc = folder.join("driver/libnvrtc.so.13");
    fs::copy(built("kernelgauge_fake_compiler"), nvrtc).unwrap();
    fs::create_dir_all(folder.join("kernels")).unwrap();
    for entry in fs::read_dir(KERNELS).unwrap() {
        let file = entry.unwrap().file_name().to_string_lossy().into_owned();
        if file.ends_with(".cu") {
            let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
            let library = compiler.library(Path::new(KERNELS), &file, target);
            let link = folder.join("kernels").join(format!("{file}.so"));
            std::os::unix::fs::symlink(library, link).unwrap();
        }
    }
    Some(folder)
}

/// Puts the stand-in for cuBLASLt beside the driver.
pub fn add_cublas_lt(folder: &Path) {
    fs::copy(built("kernelgauge_fake_cublaslt"), folder.join("driver/libcublasLt.so.13")).unwrap();
}

/// Takes a function from the driver in `folder`, by giving it a name no one looks for.
pub fn remove_function(folder: &Path, name: &str) {
    remove_from(folder, "libcuda.so.1", name);
}

/// The same of another library there.
pub fn remove_from(folder: &Path, library: &str, name: &str) {
    let path = folder.join("driver").join(library);
    let mut bytes = fs::read(&path).unwrap();
    let text = [b"\0", name.as_bytes(), b"\0"].concat();
    let mut found = 0;
    for at in 0..bytes.len() - text.len() {
        if bytes[at..].starts_with(&text) {
            bytes[at + 1] = b'X';
            found += 1;
        }
    }
    assert!(found > 0, "{name} is not in {library}");
    fs::write(&path, bytes).unwrap();
}

/// `calibrate` with the words of `line`, the driver in `folder`, and a fault. What it compiles it
/// keeps in `folder`.
pub fn command(folder: &Path, fault: &str, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_calibrate"));
    command
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("TMPDIR", folder)
        .env("LD_LIBRARY_PATH", folder.join("driver"))
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env("KERNELGAUGE_FAKE_KERNELS", folder.join("kernels"))
        .env("KERNELGAUGE_FAKE_FAULT", fault);
    command
}

/// Runs `calibrate` so.
pub fn calibrate(folder: &Path, fault: &str, line: &str) -> Said {
    said(&mut command(folder, fault, line))
}

/// The same with these variables.
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

/// The question that a calibration suggests at its end is one that its model answers.
pub fn suggestion_is_answered(folder: &Path, said: &Said) {
    let line = said.stderr.lines().find_map(|line| line.strip_prefix("try: predict ")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_predict"))
        .args(line.split(' '))
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
}
