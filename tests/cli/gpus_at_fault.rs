//! What becomes of a run when driver or GPU fail: how it ends, and that the journal is whole.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::command::Said;
use crate::stand_in::{calibrate_with, folder, remove_function};

/// Runs `calibrate` under a fault, with GPUs that have 16 MiB free for operands, so that points
/// are quick.
fn calibrate(folder: &Path, fault: &str, line: &str) -> Said {
    let variables = [("KERNELGAUGE_FAKE_FAULT", fault), ("KERNELGAUGE_FAKE_MEMORY", "96")];
    calibrate_with(folder, &variables, line)
}

/// Every line of the journal is whole: the run continues, and ends, without the fault.
fn journal_is_intact(folder: &Path, line: &str) {
    let journal = fs::read_to_string(folder.join("a/journal.jsonl")).unwrap();
    assert!(journal.ends_with('\n') && journal.lines().count() > 1);
    // With the usual deadlines: a busy machine is no fault.
    let line = line.split(" --deadline").next().unwrap_or(line);
    let said = calibrate(folder, "", &format!("{line} --retry-failed"));
    assert_eq!(said.code, 0, "{}", said.stderr);
    // Where only failures were kept, all of it is tried again.
    let failed = "\"status\":\"failed\"";
    let kept = journal.lines().any(|line| line.contains("{\"point\"") && !line.contains(failed));
    assert_eq!(said.stderr.starts_with("continuing the run begun "), kept, "{}", said.stderr);
}

#[test]
fn a_driver_that_cannot_be_used_is_refused_in_two_lines() {
    for (name, fault, removed, error) in [
        (
            "no-device",
            "no_device",
            None,
            "error: the NVIDIA driver finds no GPU: CUDA_ERROR_NO_DEVICE (no CUDA-capable GPU)\n",
        ),
        (
            "old-driver",
            "old_driver",
            Some("cuEventElapsedTime_v2"),
            "error: the NVIDIA driver is too old: it supports CUDA 12.4, CUDA 12.8 is needed (it \
             lacks cuEventElapsedTime_v2)\n",
        ),
        (
            "other-symbol",
            "",
            Some("cuMemsetD8Async"),
            "error: the NVIDIA driver is too old: it supports CUDA 13.0, CUDA 12.8 is needed (it \
             lacks cuMemsetD8Async)\n",
        ),
        (
            "lost-at-once",
            "lost:0",
            None,
            "error: the GPU cannot be used: device error: cuCtxSetCurrent: CUDA_ERROR_UNKNOWN (the \
             GPU may be lost: see `nvidia-smi` and Xid messages)\n",
        ),
    ] {
        let folder = folder(name);
        if let Some(function) = removed {
            remove_function(&folder, function);
        }
        let said = calibrate(&folder, fault, "--device 0 --quick --out a");
        assert_eq!((said.code, said.stdout.as_str()), (3, ""), "{name}: {}", said.stderr);
        assert!(said.stderr.starts_with(error), "{name}: {}", said.stderr);
        assert!(said.stderr.lines().count() == 2, "{name}: {}", said.stderr);
        assert!(said.stderr.contains("\nhint: "), "{name}: {}", said.stderr);
        assert!(!folder.join("a").exists(), "{name}");
    }
}

/// A run that `fault` ends, and what it says of that.
fn ends(name: &str, fault: &str, how: &str, words: &str) {
    let folder = folder(name);
    let line = "--device 0 --quick --ops memory --out a --deadline 600ms";
    let began = Instant::now();
    let said = calibrate(&folder, fault, line);
    assert_eq!(said.code, 3, "{name}: {}", said.stderr);
    assert!(said.stderr.contains(&format!("the device {how} (")), "{}", said.stderr);
    assert!(said.stderr.contains(words), "{}", said.stderr);
    assert!(said.stderr.contains("--retry-failed"), "{}", said.stderr);
    assert!(began.elapsed() < Duration::from_secs(20));
    journal_is_intact(&folder, line);
}

// Each process opens the GPU with 9 synchronisations and has 3 for its point.

#[test]
fn a_gpu_that_fails_for_good_ends_the_run_and_keeps_the_journal() {
    let in_a_row = "failed point after point";
    ends("sticky", "sticky:12", in_a_row, "CUDA_ERROR_ILLEGAL_ADDRESS");
    ends("lost", "lost:100", "is lost", "CUDA_ERROR_UNKNOWN");
}

#[test]
fn a_gpu_that_ends_or_stops_every_process_ends_the_run_too() {
    let in_a_row = "failed point after point";
    ends("crashing", "crash:12", in_a_row, "SIGABRT");
    ends("hanging", "hang:12", in_a_row, "did not answer");
}

#[test]
fn fresh_points_of_a_gpu_that_fails_for_good_are_given_up() {
    let folder = folder("fresh");
    let line = "--device 0 --quick --ops memory --out a";
    assert_eq!(calibrate(&folder, "", line).code, 0);
    let said = calibrate(&folder, "sticky:12", "evaluate a --fresh 20 --device 0");
    assert_eq!((said.code, said.stdout.as_str()), (3, ""), "{}", said.stderr);
    assert!(said.stderr.contains("error: the device fails ("), "{}", said.stderr);
}

#[test]
fn one_allocation_without_room_costs_one_point() {
    let folder = folder("out-of-memory");
    let line = "--device 0 --quick --ops memory --out a";
    let said = calibrate(&folder, "out_of_memory:20", line);
    assert_eq!(said.code, 1, "{}", said.stderr);
    let table = fs::read_to_string(folder.join("a/samples/memory.csv")).unwrap();
    let failed: Vec<&str> = table.lines().filter(|line| line.contains("out of memory")).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].contains("cannot allocate"), "{failed:?}");
    journal_is_intact(&folder, line);
}

#[test]
fn elapsed_times_that_are_no_measurements_are_never_recorded() {
    for fault in ["zero_elapsed", "negative_elapsed"] {
        let folder = folder(fault);
        let line = "--device 0 --quick --ops memory --out a";
        let said = calibrate(&folder, fault, line);
        assert_eq!(said.code, 1, "{fault}: {}", said.stderr);
        let table = fs::read_to_string(folder.join("a/samples/memory.csv")).unwrap();
        let tried = table.lines().skip(1).filter(|row| !row.contains(",skipped,"));
        let times: Vec<&str> =
            tried.filter(|row| !row.contains("below_timer_resolution")).collect();
        assert!(times.is_empty(), "{times:?}");
        journal_is_intact(&folder, line);
    }
    // A few of them are rejected and the next are longer.
    let folder = folder("zero-at-first");
    let said = calibrate(&folder, "zero_at_first:20", "--device 0 --quick --ops memory --out a");
    assert_eq!(said.code, 0, "{}", said.stderr);
}

#[test]
fn points_under_a_lowered_clock_are_flagged_and_kept() {
    let folder = folder("throttled");
    let said = calibrate(&folder, "throttled", "--device 0 --quick --ops memory --out a");
    assert_eq!(said.code, 1, "{}", said.stderr);
    let table = fs::read_to_string(folder.join("a/samples/memory.csv")).unwrap();
    let rows: Vec<&str> = table.lines().skip(1).filter(|row| !row.contains("skipped")).collect();
    assert!(!rows.is_empty() && rows.iter().all(|row| row.contains("throttled")), "{table}");
}
