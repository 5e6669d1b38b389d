//! Sweeps that were killed, interrupted or cut: nothing that was journalled is lost.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::command::folder;

/// Copies and memory ops: more than a thousand points, no boosted trees to fit.
const RUN: [&str; 4] = ["--device", "simulated", "--ops", "copy,memory"];

/// A run into `out`, with locks of its own.
fn run(out: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_calibrate"));
    command.args(RUN).args(more).arg("--out").arg(out);
    command.env("TMPDIR", out.parent().unwrap());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn finished(out: &Path) -> Output {
    let output = run(out, &[]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    output
}

/// The journal up to its last whole line.
fn whole_lines(out: &Path) -> Vec<u8> {
    let mut bytes = fs::read(out.join("journal.jsonl")).unwrap_or_default();
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    bytes.truncate(end);
    bytes
}

/// Waits until the journal has more than `length` bytes, or the run has ended.
fn wait_for(out: &Path, length: u64, child: &mut Child) {
    let journal = out.join("journal.jsonl");
    let grown = || fs::metadata(&journal).is_ok_and(|journal| journal.len() > length);
    while !grown() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
}

/// The files of the data set, without the manifest, which says when it was made.
fn tables(out: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    ["copy.csv", "memory.csv"]
        .map(|name| (PathBuf::from(name), fs::read(out.join("samples").join(name)).unwrap()))
        .to_vec()
}

#[test]
fn killed_twenty_times_it_keeps_every_line_and_ends_with_the_same_measurements() {
    let folder = folder("killed");
    let out = folder.join("killed");
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for kill in 0..20 {
        let before = whole_lines(&out);
        let mut child = run(&out, &[]).spawn().unwrap();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // A random moment: when some random number of bytes more was written.
        wait_for(&out, before.len() as u64 + random % 20_000, &mut child);
        child.kill().unwrap();
        child.wait().unwrap();
        let after = whole_lines(&out);
        assert!(after.starts_with(&before), "kill {kill} lost lines that were written");
    }
    let kept = whole_lines(&out);
    assert!(kept.len() > 20_000, "only {} bytes were journalled", kept.len());
    finished(&out);
    assert!(whole_lines(&out).starts_with(&kept));

    let undisturbed = folder.join("undisturbed");
    finished(&undisturbed);
    assert_eq!(tables(&out), tables(&undisturbed));
}

#[test]
fn control_c_ends_with_what_was_measured_and_says_how_to_continue() {
    let out = folder("interrupted").join("run");
    let mut child = run(&out, &[]).spawn().unwrap();
    wait_for(&out, 10_000, &mut child);
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(output.stdout.is_empty());
    let last = said.lines().last().unwrap();
    assert!(last.starts_with("stopped after "), "{said}");
    let expected = format!(
        " points; everything measured is kept. Continue with: calibrate --device simulated \
         --ops copy,memory --out {}",
        out.display()
    );
    assert!(last.ends_with(&expected), "{last}");
    let journal = fs::read_to_string(out.join("journal.jsonl")).unwrap();
    assert!(journal.ends_with('\n'));

    let resumed = finished(&out);
    let said = String::from_utf8_lossy(&resumed.stderr).into_owned();
    assert!(said.starts_with("continuing the run begun "), "{said}");
}

/// The run is held where it says good-bye: standard error is a pipe with room for the first line
/// of progress and no more. So the second interrupt finds it alive however fast it is.
#[test]
fn a_second_control_c_ends_at_once_and_keeps_what_was_measured() {
    let out = folder("interrupted_twice").join("run");
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    // Linux lets a pipe hold sixteen pages.
    writer.write_all(&[b'.'; 16 * 4096 - 120]).unwrap();
    let mut child = run(&out, &[]).stderr(writer).spawn().unwrap();
    wait_for(&out, 3_000, &mut child);
    let pid = child.id().to_string();
    let mut interrupts = 0;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        Command::new("kill").args(["-INT", &pid]).status().unwrap();
        interrupts += 1;
    };
    let mut said = String::new();
    reader.read_to_string(&mut said).unwrap();
    assert_eq!(status.code(), Some(130), "{}", said.trim_matches('.'));
    assert!(interrupts >= 2, "{interrupts}");
    let kept = whole_lines(&out);
    assert!(kept.len() > 3_000);
    finished(&out);
    assert!(whole_lines(&out).starts_with(&kept));
}

#[test]
fn a_journal_damaged_in_the_middle_is_refused_with_its_line() {
    let out = folder("damaged").join("run");
    assert!(run(&out, &["--quick"]).output().unwrap().status.success());
    let path = out.join("journal.jsonl");
    let mut lines: Vec<String> =
        fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
    lines[4] = lines[4].replace("time_us", "time_ms");
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let output = run(&out, &["--quick"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("journal.jsonl:5: damaged: its checksum does not match"), "{said}");
    assert!(said.contains("hint: `--new-run` starts over"), "{said}");
}
