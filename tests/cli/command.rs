//! Runs a command and keeps everything it says.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Stdio};

/// What a command left behind.
#[derive(Debug, PartialEq, Eq)]
pub struct Said {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `predict` with `arguments` and nothing on standard input.
pub fn predict<S: AsRef<OsStr>>(arguments: &[S]) -> Said {
    predict_reading(arguments, "")
}

/// Runs `predict` with `input` on standard input.
pub fn predict_reading<S: AsRef<OsStr>>(arguments: &[S], input: &str) -> Said {
    let mut child = Command::new(env!("CARGO_BIN_EXE_predict"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // A command that does not read must not block the test, nor fail it by closing the pipe.
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Said {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// `text` with every number outside a word replaced by `~`, so that the look of an answer can
/// be compared whole while its figures follow the fit.
pub fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        if letter.is_ascii_digit() && !before.is_alphanumeric() && before != '-' {
            while letters.next_if(|next| next.is_ascii_digit() || *next == '.').is_some() {}
            masked.push('~');
        } else {
            masked.push(letter);
        }
        before = letter;
    }
    masked
}
