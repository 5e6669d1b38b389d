//! `calibrate` on eight GPUs of a driver that stands in for NVIDIA's.

use std::fs;
use std::path::Path;

use crate::stand_in::{calibrate, calibrate_with, folder, suggestion_is_answered};

/// MiB of a GPU that leave room for operands of 16 MiB: points are quick.
const SMALL: (&str, &str) = ("KERNELGAUGE_FAKE_MEMORY", "96");

fn has(text: &str, part: &str) {
    assert!(text.contains(part), "`{part}` is not in:\n{text}");
}

/// Names of the lock files of GPUs in `folder`.
fn locks(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("kernelgauge-gpu-")).collect()
}

#[test]
fn eight_gpus_are_planned_with_points_memory_and_time() {
    let folder = folder("plan");
    let said = calibrate(&folder, "", "--device 0..7 --plan");
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{}", said.stdout);
    let lines: Vec<&str> = said.stdout.lines().collect();
    let machine = "machine   synthetic-gpu-x8: 8 x Synthetic GPU (nvswitch), 100 multiprocessors, \
                   256 MiB, cuda 13.0, driver 580.00.00";
    assert_eq!(lines[0], machine);
    let suites: Vec<&str> = lines[2..].iter().filter_map(|l| l.split(' ').next()).collect();
    assert_eq!(suites[..6], ["gemm", "embedding", "memory", "copy", "collective", "custom"]);
    has(&said.stdout, "to calibrations/synthetic-gpu-x8");
    has(&said.stdout, "more points cannot be measured: matrix products: libcublasLt.so.13 was not");
    has(&said.stdout, "more points need more memory than this device has");
    let one = calibrate(&folder, "", "--device 3 --plan --format json").stdout;
    let document: serde_json::Value = serde_json::from_str(&one).unwrap();
    assert_eq!(document["machine"], "synthetic-gpu");
    let all = calibrate(&folder, "", "--device all --plan");
    assert_eq!(all.stdout, said.stdout);
}

#[test]
fn a_run_measures_every_route_and_says_that_it_is_synthetic() {
    let folder = folder("run");
    let said = calibrate_with(&folder, &[SMALL], "--device 0,1 --quick --out a");
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    suggestion_is_answered(&folder, &said);
    has(&said.stdout, "synthetic-gpu-x2 (synthetic), ");
    let table = fs::read_to_string(folder.join("a/samples/copy.csv")).unwrap();
    for kernel in [
        "cuMemcpyHtoDAsync (graph)",
        "cuMemcpyHtoDAsync (stream)",
        "cuMemcpyDtoHAsync (graph)",
        "cuMemcpyDtoDAsync (flushed)",
        "cuMemcpyPeerAsync (graph)",
    ] {
        has(&table, kernel);
    }
    let manifest = fs::read_to_string(folder.join("a/samples/dataset.toml")).unwrap();
    has(&manifest, "origin = \"synthetic\"");
    has(&manifest, "driver_version = \"580.00.00\"");
    // Neither the UUIDs, nor their hashes, nor an address is in any file of the run.
    let locks = locks(&folder);
    assert_eq!(locks.len(), 2);
    for file in ["a/journal.jsonl", "a/report.md", "a/samples/dataset.toml", "a/model.json"] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert!(!text.contains("fake-gpu-uuid") && !text.contains("00000000:1"), "{file}");
        for lock in &locks {
            let key = lock.trim_start_matches("kernelgauge-").trim_end_matches(".lock");
            assert!(!text.contains(key), "{file} has {key}");
        }
    }
    let line = "evaluate a --fresh 4 --device 0,1 --format json";
    let answer = calibrate_with(&folder, &[SMALL], line);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
}

#[test]
fn every_pair_is_shown_and_the_first_of_each_kind_of_link_is_a_line() {
    let folder = folder("islands");
    // GPUs 3 and 4 are on different islands; copies of 4 MiB have room.
    let variables = [("KERNELGAUGE_FAKE_LINKS", "islands"), ("KERNELGAUGE_FAKE_MEMORY", "88")];
    let line = "--device 2,3,4 --ops copy --samples 6 --out a";
    let said = calibrate_with(&folder, &variables, line);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let manifest = fs::read_to_string(folder.join("a/samples/dataset.toml")).unwrap();
    has(&manifest, "gpu_links = \"nvlink: 0-1; pcie between processors: 0-2 1-2\"");
    let table = fs::read_to_string(folder.join("a/samples/copy.csv")).unwrap();
    let sizes = |pair: &str| {
        let measured = |line: &&str| line.contains(pair) && !line.contains("skipped");
        table.lines().filter(measured).count()
    };
    assert_eq!([sizes("GPU 1 to 2)"), sizes("GPU 1 to 0)")], [2, 2], "{table}");
    assert!(sizes("GPU 0 to 2)") > 20, "{}", sizes("GPU 0 to 2)"));
    assert_eq!(sizes("GPU 0 to 2)"), sizes("GPU 2 to 0)"));
    let report = fs::read_to_string(folder.join("a/report.md")).unwrap();
    let matrix = report.split("## Between GPUs").nth(1).unwrap();
    has(matrix, "GB/s of a copy of 4 MiB, from the GPU of the row.");
    let rows: Vec<&str> = matrix.lines().filter(|line| line.starts_with('|')).take(5).collect();
    assert!(rows[0].starts_with("| GPU |"), "{rows:?}");
    for (gpu, row) in rows[2..].iter().enumerate() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells[1], gpu.to_string(), "{row}");
        for (to, cell) in cells[2..5].iter().enumerate() {
            let shown = cell.parse::<f64>().is_ok_and(|rate| rate > 0.0);
            assert_eq!(shown, to != gpu, "{row}");
        }
    }
}

#[test]
fn times_follow_the_law_of_the_driver() {
    let folder = folder("law");
    let said = calibrate(&folder, "", "--device 0 --quick --ops copy --out a");
    assert_eq!(said.code, 0, "{}", said.stderr);
    let table = fs::read_to_string(folder.join("a/samples/copy.csv")).unwrap();
    let heading: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let at = |name: &str| heading.iter().position(|column| *column == name).unwrap();
    let mut compared = 0;
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        if cells[at("direction")] != "h2d" || cells[at("pinned")] != "true" {
            continue;
        }
        let Ok(time) = cells[at("time_us")].parse::<f64>() else { continue };
        let bytes: f64 = cells[at("bytes")].parse().unwrap();
        let law = 1.5 + bytes / 2.5e4;
        // The gap between graphs and the events' own cost are a part of it.
        assert!(time > law * 0.999 && time < law * 1.05, "{bytes}: {time} µs, not {law}");
        compared += 1;
    }
    assert!(compared >= 10, "{compared}");
}

#[test]
fn gpus_that_are_not_there_are_named_and_a_gpu_in_use_is_locked() {
    let folder = folder("choice");
    let said = calibrate(&folder, "", "--device 6..9");
    assert_eq!((said.code, said.stdout.as_str()), (2, ""));
    assert_eq!(
        said.stderr,
        "error: there is no GPU 8: this machine has 8\n\
         hint: use `--device 0..7`, `--device all` or one of them\n"
    );
    // One lock per GPU: the run on two of them leaves two files.
    assert_eq!(calibrate(&folder, "", "--device 2,5 --quick --ops memory --out a").code, 0);
    let locks = locks(&folder);
    assert_eq!(locks.len(), 2);
    let lock = fs::File::open(folder.join(&locks[0])).unwrap();
    lock.lock().unwrap();
    let said = calibrate(&folder, "", "--device 0..7 --quick --ops memory --out b");
    assert_eq!(said.code, 3, "{}", said.stderr);
    has(&said.stderr, "is being measured by another run");
}

#[test]
fn doctor_finds_the_libraries_and_their_versions() {
    let folder = folder("doctor");
    let said = calibrate(&folder, "", "doctor");
    assert_eq!(said.code, 0, "{}", said.stdout);
    has(&said.stdout, "driver/libcuda.so.1, supports CUDA 13.0\n");
    has(&said.stdout, "driver/libnvidia-ml.so.1, driver 580.00.00\n");
}

#[test]
fn the_script_for_machines_with_a_gpu_runs_every_step() {
    let folder = folder("script");
    let binaries = Path::new(env!("CARGO_BIN_EXE_calibrate")).parent().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gpu/run.sh");
    let output = std::process::Command::new("sh")
        .arg(&script)
        .args([&folder.join("out"), binaries])
        .current_dir(&folder)
        .env("TMPDIR", &folder)
        .env("LD_LIBRARY_PATH", folder.join("driver"))
        .env("KERNELGAUGE_FAKE_MEMORY", "96")
        .env("KERNELGAUGE_GPU_BUDGET", "8")
        .env("KERNELGAUGE_GPU_FRESH", "2")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let steps = fs::read_to_string(folder.join("out/steps.txt")).unwrap();
    for step in ["doctor: exit 0", "plan: exit 0", "calibrate: exit ", "fresh: exit 0", "size: "] {
        has(&steps, step);
    }
    has(&fs::read_to_string(folder.join("out/fresh.txt")).unwrap(), "median error");
}
