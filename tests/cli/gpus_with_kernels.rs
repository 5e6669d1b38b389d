//! `calibrate` on GPUs whose kernels run, on the processor, from the same sources.

use std::fs;
use std::path::Path;

use crate::stand_in::{calibrate_with, folder, folder_with_kernels, suggestion_is_answered};

/// MiB of a GPU that has 2 MiB free for operands: kernels run for real.
const MEMORY: (&str, &str) = ("KERNELGAUGE_FAKE_MEMORY", "82");

/// The rows of a table of a run, by the names of their columns.
struct Table {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn read(folder: &Path, name: &str) -> Self {
        let text = fs::read_to_string(folder.join("a/samples").join(name)).unwrap();
        let mut rows = text.lines().map(cells);
        Table { heading: rows.next().unwrap(), rows: rows.collect() }
    }

    /// The rows with this status; a table whose rows all have a time has no such column.
    fn with_status(mut self, status: &str) -> Self {
        match self.heading.iter().position(|name| name == "status") {
            Some(at) => self.rows.retain(|row| row[at] == status),
            None => self.rows.retain(|_| status == "ok"),
        }
        self
    }

    fn at(&self, column: &str) -> usize {
        self.heading.iter().position(|name| name == column).unwrap()
    }

    fn column(&self, name: &str) -> Vec<&str> {
        let at = self.at(name);
        self.rows.iter().map(|row| row[at].as_str()).collect()
    }
}

/// The cells of a line, of which some are in quotes.
fn cells(line: &str) -> Vec<String> {
    let mut quoted = false;
    let separates = |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    line.split(separates).map(|cell| cell.trim_matches('"').to_owned()).collect()
}

#[test]
fn every_memory_op_runs_in_three_types_and_is_verified() {
    let Some(folder) = folder_with_kernels("memory-ops") else { return };
    let line = "--device 0 --quick --ops memory --samples 6 --out a";
    let said = calibrate_with(&folder, &[MEMORY], line);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    suggestion_is_answered(&folder, &said);
    let table = Table::read(&folder, "memory.csv").with_status("ok");
    assert!(table.column("verified").iter().all(|verified| *verified == "true"));
    let (ops, types) = (table.column("op"), table.column("dtype"));
    let kernels = table.column("kernel");
    for op in [
        "add",
        "scale",
        "relu",
        "sigmoid",
        "gelu",
        "sum",
        "softmax",
        "layer_norm",
        "transpose",
        "concat",
        "fill",
        "dropout",
        "cast",
        "triangle",
        "layer_norm_backward",
    ] {
        for dtype in ["f32", "f16", "bf16"] {
            for mode in ["(graph)", "(flushed)"] {
                let measured = (0..ops.len())
                    .any(|i| ops[i] == op && types[i] == dtype && kernels[i].ends_with(mode));
                assert!(measured, "{op} {dtype} {mode}");
            }
        }
    }
    // A long row is summed in two launches.
    assert!(kernels.contains(&"sum_split_f32 + sum_join_f32 (graph)"), "{kernels:?}");
    // The clock of the stand-in, and what its management library says of the temperature.
    assert!(table.column("sm_clock_mhz").iter().all(|clock| *clock == "1500"));
    assert!(table.column("temperature_c").iter().all(|degrees| *degrees == "45"));
    let report = fs::read_to_string(folder.join("a/report.md")).unwrap();
    assert!(report.contains("1500 to 1500 MHz from point to point, at most 45 °C"), "{report}");
    assert!(fs::read_dir(folder.join("cache/kernelgauge/kernels")).unwrap().count() > 5);
}

#[test]
fn embedding_bags_run_in_both_directions_and_are_verified() {
    let Some(folder) = folder_with_kernels("embedding-bags") else { return };
    let line = "--device 0 --quick --ops embedding --samples 6 --out a";
    let said = calibrate_with(&folder, &[MEMORY], line);
    // A point of each variant is too little for a model, and nothing else is amiss.
    assert!(said.stdout.contains(" 0 failed"), "{}{}", said.stdout, said.stderr);
    let table = Table::read(&folder, "embedding.csv").with_status("ok");
    assert!(table.column("verified").iter().all(|verified| *verified == "true"));
    let (kernels, laws) = (table.column("kernel"), table.column("distribution"));
    for kernel in ["forward", "backward_sgd", "backward_rowwise_adagrad"] {
        for dtype in ["f32", "f16"] {
            for law in ["uniform", "zipf", "reuse"] {
                let name = format!("embedding_{kernel}_{dtype}_i64 (graph)");
                let measured =
                    kernels.iter().zip(&laws).any(|(k, l)| *k == name && l.starts_with(law));
                assert!(measured, "{name} {law}");
            }
        }
    }
}

#[test]
fn a_kernel_that_does_nothing_is_a_wrong_result() {
    let Some(folder) = folder_with_kernels("wrong-kernel") else { return };
    let variables = [MEMORY, ("KERNELGAUGE_FAKE_FAULT", "wrong_kernel")];
    let line = "--device 0 --quick --ops memory,embedding --samples 6 --out a";
    let said = calibrate_with(&folder, &variables, line);
    assert_ne!(said.code, 0, "{}", said.stdout);
    for file in ["memory.csv", "embedding.csv"] {
        let table = Table::read(&folder, file);
        let failed = Table::read(&folder, file).with_status("failed");
        assert!(!failed.rows.is_empty(), "{file}");
        let reasons = failed.column("reason");
        assert!(reasons.iter().all(|reason| reason.contains("wrong_result")), "{reasons:?}");
        // The driver fills, not a kernel.
        let measured = table.with_status("ok");
        assert!(measured.column("kernel").iter().all(|kernel| kernel.starts_with("cuMemset")));
    }
}

#[test]
fn a_launch_that_is_refused_is_named() {
    let Some(folder) = folder_with_kernels("refused-launch") else { return };
    let variables = [MEMORY, ("KERNELGAUGE_FAKE_FAULT", "launch_fails:40")];
    let line = "--device 0 --quick --ops memory --samples 6 --out a";
    let said = calibrate_with(&folder, &variables, line);
    assert_eq!(said.code, 3, "{}", said.stderr);
    assert!(
        said.stderr.contains("cuLaunchKernel: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"),
        "{}",
        said.stderr
    );
    // What was measured before is kept.
    assert!(folder.join("a/journal.jsonl").exists());
}

#[test]
fn without_a_compiler_that_knows_the_gpu_copies_and_fills_go_on() {
    let without = folder("no-compiler");
    let mut old = vec![(without, Vec::new(), "was not found")];
    if let Some(folder) = folder_with_kernels("old-compiler") {
        let variables = vec![("KERNELGAUGE_FAKE_COMPILER", "old")];
        old.push((folder, variables, "does not compile for sm_99"));
    }
    for (folder, mut variables, why) in old {
        variables.push(MEMORY);
        let line = "--device 0 --quick --ops memory,embedding,copy --samples 6 --out a";
        let said = calibrate_with(&folder, &variables, line);
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        let measured = Table::read(&folder, "memory.csv").with_status("ok");
        assert!(!measured.rows.is_empty());
        assert!(measured.column("kernel").iter().all(|kernel| kernel.starts_with("cuMemset")));
        assert!(!measured.heading.contains(&"sm_clock_mhz".to_owned()));
        let skipped = Table::read(&folder, "embedding.csv").with_status("skipped");
        let reasons = skipped.column("reason");
        assert!(!reasons.is_empty());
        for reason in reasons {
            assert!(reason.contains("kernels are compiled on the machine: "), "{reason}");
            // A machine with a compiler of NVIDIA's has one that does not know this GPU.
            assert!(reason.contains(why) || reason.contains("does not compile"), "{reason}");
        }
    }
}

#[test]
fn a_lowered_clock_shows_in_what_was_counted() {
    let Some(folder) = folder_with_kernels("lowered-clock") else { return };
    let variables = [MEMORY, ("KERNELGAUGE_FAKE_FAULT", "throttled")];
    let said =
        calibrate_with(&folder, &variables, "--device 0 --quick --ops copy --samples 6 --out a");
    assert_eq!(said.code, 1, "{}", said.stderr);
    let table = Table::read(&folder, "copy.csv").with_status("ok");
    assert!(table.column("flags").iter().all(|flags| flags.contains("throttled")));
    assert!(table.column("sm_clock_mhz").iter().all(|clock| *clock == "1000"));
    assert!(table.column("temperature_c").iter().all(|degrees| *degrees == "88"));
}

#[test]
fn launching_is_measured_as_lines_over_how_often() {
    let Some(folder) = folder_with_kernels("overheads") else { return };
    let line = "--device 0 --quick --ops custom --samples 6 --out a";
    let said = calibrate_with(&folder, &[MEMORY], line);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    suggestion_is_answered(&folder, &said);
    let files: Vec<String> = fs::read_dir(folder.join("a/samples"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("custom"))
        .collect();
    assert!(!files.is_empty());
    let (mut gaps, mut launches) = (0, 0);
    for file in files {
        let table = Table::read(&folder, &file).with_status("ok");
        assert!(!table.heading.contains(&"verified".to_owned()), "{file}: nothing is compared");
        let (ops, counts) = (table.column("op"), table.column("count"));
        for ((op, count), time) in ops.iter().zip(counts).zip(table.column("time_us")) {
            let (count, time): (f64, f64) = (count.parse().unwrap(), time.parse().unwrap());
            if *op == "gap/stream" {
                // A kernel takes 2 µs there, an event 1 µs.
                assert!((time - 2.0 * count).abs() <= 1.1, "{count}: {time}");
                gaps += 1;
            }
            launches += u32::from(*op == "launch/kernel");
        }
    }
    assert_eq!((gaps, launches), (6, 6));
    // The stand-in's GPU has a clock of its own, so this constant is known.
    assert!(said.stdout.contains(", gap between kernels 2.0 us, "), "{}", said.stdout);
    let report = fs::read_to_string(folder.join("a/report.md")).unwrap();
    for (op, has) in [("gap/graph", true), ("launch/copy", true), ("launch/other", false)] {
        let row = format!("| `{op}`");
        assert_eq!(report.contains(&row), has, "{row} in {report}");
    }
}
