//! GPUs are measured by a process of their own: what kills or stops it costs one point, and it
//! never outlives the one that started it.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::stand_in::{calibrate, command, folder, said};

const LINE: &str = "--device 0 --quick --ops memory --out a --deadline 1s";

/// What no output may hold.
const SECRET: &str = "hunter2-is-secret";

/// The rows of the points that failed.
fn failed(folder: &Path) -> Vec<String> {
    let table = fs::read_to_string(folder.join("a/samples/memory.csv")).unwrap();
    table.lines().filter(|row| row.contains(",failed,")).map(str::to_owned).collect()
}

/// Asks again and again, for some seconds.
fn eventually(what: impl Fn() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(10);
    while Instant::now() < until {
        if what() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// Numbers of the processes that `parent` started.
fn started_by(parent: &Child) -> Vec<String> {
    let id = parent.id();
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
    children.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Whether a process runs; one that has ended and waits to be reaped does not.
fn runs(id: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().unwrap_or_default();
    !state.is_empty() && !state.starts_with('Z')
}

/// A run that has measured a few points.
fn under_way(folder: &Path, fault: &str) -> Child {
    let mut run = command(folder, fault, "--device 0 --ops copy --out a");
    let run = run.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let journal = folder.join("a/journal.jsonl");
    let points = || fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
    assert!(eventually(|| points() > 4), "{} points", points());
    run
}

fn signal(name: &str, target: &str) {
    let sent = Command::new("kill").args([name, "--", target]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn a_fault_of_one_process_costs_one_point() {
    for (name, fault, words) in [
        ("crash", "crash:60", "device: the process that measures is gone: it was ended by SIGABRT"),
        ("hang", "hang:60", "timed_out: the process that measures did not answer `"),
        ("sticky-once", "sticky:60", "CUDA_ERROR_ILLEGAL_ADDRESS"),
    ] {
        let folder = folder(name);
        let mut command = command(&folder, fault, &format!("{LINE} --samples 1"));
        // Little memory: points are quick, and many are skipped.
        command.env("KERNELGAUGE_FAKE_ONCE", folder.join("once"));
        let said = said(command.env("KERNELGAUGE_FAKE_MEMORY", "96"));
        assert_eq!(said.code, 1, "{name}: {}", said.stderr);
        let failed = failed(&folder);
        assert_eq!(failed.len(), 1, "{name}: {failed:?}");
        assert!(failed[0].contains(words), "{name}: {failed:?}");
    }
}

#[test]
fn a_process_that_cannot_open_its_gpu_is_an_error_and_a_hint() {
    for (name, fault, words) in [
        ("crash-at-once", "crash:1", "it was ended by SIGABRT"),
        ("hang-at-once", "hang:1", "did not answer `open` within 1.0 s; it was killed"),
    ] {
        let folder = folder(name);
        let said = calibrate(&folder, fault, LINE);
        assert_eq!((said.code, said.stdout.as_str()), (3, ""), "{name}: {}", said.stderr);
        assert!(said.stderr.starts_with("error: the GPUs cannot be opened: "), "{}", said.stderr);
        assert!(said.stderr.contains(words), "{name}: {}", said.stderr);
        assert_eq!(said.stderr.lines().count(), 2, "{name}: {}", said.stderr);
        assert!(!folder.join("a").exists(), "{name}");
    }
}

#[test]
fn what_a_process_says_when_it_ends_gives_nothing_away() {
    let folder = folder("secrets");
    let mut run = command(&folder, "crash:60", LINE);
    run.env("KERNELGAUGE_FAKE_ONCE", folder.join("once")).env("KERNELGAUGE_FAKE_SECRET", SECRET);
    let said = said(run.env("API_TOKEN", "an-other-secret").env("USER", "somebody"));
    assert_eq!(said.code, 1, "{}", said.stderr);
    // Its words are there, and what they held is not.
    assert!(
        failed(&folder)[0].contains("it said: fault at * on *: token *"),
        "{:?}",
        failed(&folder)
    );
    let secrets = [SECRET, "an-other-secret", "somebody", "7ffd5e8a1c40", "66616b65-2d67"];
    let files = ["journal.jsonl", "report.md", "model.json", "samples/memory.csv"];
    let mut texts: Vec<(PathBuf, String)> = [files.as_slice(), &["samples/dataset.toml"]]
        .concat()
        .into_iter()
        .map(|name| folder.join("a").join(name))
        .map(|path| (path.clone(), fs::read_to_string(&path).unwrap()))
        .collect();
    texts.push(("standard output".into(), said.stdout));
    texts.push(("standard error".into(), said.stderr));
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    for (path, text) in texts {
        for secret in secrets.into_iter().chain([host.trim()]) {
            let found = text.split(|c: char| !c.is_alphanumeric() && c != '-').any(|w| w == secret);
            assert!(!found, "{} has {secret}", path.display());
        }
    }
}

#[test]
fn a_killed_run_leaves_no_process_and_a_whole_journal() {
    // The second process is within a call that never returns.
    for (name, fault) in [("killed", ""), ("killed-in-a-hang", "hang:200")] {
        let folder = folder(name);
        let mut run = under_way(&folder, fault);
        let children = started_by(&run);
        assert_eq!(children.len(), 1, "{name}: {children:?}");
        run.kill().unwrap();
        run.wait().unwrap();
        assert!(eventually(|| !runs(&children[0])), "{name}: {} still runs", children[0]);
        // The lock is free and the run goes on.
        let said = calibrate(&folder, "", "--device 0 --ops copy --out a --budget 1s");
        assert!([0, 4].contains(&said.code), "{name}: {}", said.stderr);
        assert!(said.stderr.starts_with("continuing the run begun "), "{name}: {}", said.stderr);
    }
}

#[test]
fn an_interrupted_run_ends_in_order_and_loses_no_point() {
    let folder = folder("interrupted");
    let mut run = under_way(&folder, "");
    let children = started_by(&run);
    // As a terminal does, to the whole process group; and a second one to the other process.
    signal("-INT", &children[0]);
    signal("-INT", &format!("-{}", run.id()));
    assert_eq!(run.wait().unwrap().code(), Some(4));
    assert!(!runs(&children[0]));
    let journal = fs::read_to_string(folder.join("a/journal.jsonl")).unwrap();
    assert!(!journal.contains("\"failed\""), "{journal}");
}

#[test]
fn a_worker_says_who_it_is_and_ends_with_its_input() {
    let folder = folder("worker");
    let said = said(command(&folder, "", "worker").stdin(Stdio::null()));
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    assert!(said.stdout.starts_with("{\"protocol\":1,\"tool\":\"0."), "{}", said.stdout);
    let help = calibrate(&folder, "", "--help").stdout;
    assert!(!help.contains("worker"), "{help}");
}
