//! `calibrate` and matrix products, through a library that stands in for cuBLASLt.

use std::fs;
use std::path::Path;

use crate::command::Said;
use crate::stand_in::{
    add_cublas_lt, calibrate, calibrate_with, folder, remove_from, suggestion_is_answered,
};

/// MiB of a GPU that has room for the smaller products alone, which take no time here.
const MEMORY: &str = "86";

/// A fresh folder with driver and library.
fn with_library(name: &str) -> std::path::PathBuf {
    let folder = folder(name);
    add_cublas_lt(&folder);
    folder
}

fn measure(folder: &Path, fault: &str, flags: &str) -> Said {
    let line = format!("--device 0 --quick --ops gemm --samples 2 --out a {flags}");
    let variables = [("KERNELGAUGE_FAKE_MEMORY", MEMORY), ("KERNELGAUGE_FAKE_FAULT", fault)];
    calibrate_with(folder, &variables, &line)
}

/// The rows of the table that were tried, by column name.
fn tried(folder: &Path) -> Vec<std::collections::BTreeMap<String, String>> {
    let table = fs::read_to_string(folder.join("a/samples/gemm.csv")).unwrap();
    let mut lines = table.lines().map(|line| line.split(',').map(str::to_owned));
    let heading: Vec<String> = lines.next().unwrap().collect();
    let rows = lines.map(|cells| heading.iter().cloned().zip(cells).collect());
    let rows: Vec<std::collections::BTreeMap<String, String>> = rows.collect();
    rows.into_iter().filter(|row| row["status"] != "skipped").collect()
}

#[test]
fn products_of_every_type_and_layout_are_verified_and_answer_questions() {
    let folder = with_library("gemm");
    let said = measure(&folder, "", "");
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    suggestion_is_answered(&folder, &said);
    let rows = tried(&folder);
    assert!(rows.iter().all(|row| row["verified"] == "true"), "{rows:?}");
    for (dtype, layout) in [
        ("bf16", "nt"),
        ("bf16", "nn"),
        ("bf16", "tn"),
        ("fp8", "nt"),
        ("int8", "nt"),
        ("f16", "nt"),
        ("tf32", "nt"),
        ("f32", "nt"),
        ("f32", "nn"),
        ("f32", "tn"),
    ] {
        let of = |row: &&std::collections::BTreeMap<String, String>| {
            row["dtype"] == dtype && row["layout"] == layout
        };
        assert!(rows.iter().filter(of).count() >= 3, "{dtype} {layout}");
    }
    assert!(rows.iter().any(|row| row["batch"] == "8" && row["layout"] == "nn"));
    // The first choice, its configuration and the launch mode stand in the record; the manifest
    // names the library once.
    let kernel = "cublasLt 13.0.2 algo 11 tile 20 stages 8 split-k 1 swizzle 0 cluster 2 \
                  workspace 0 first choice";
    for (cache, mode, types) in
        [("hot", "graph", &["bf16", "fp8", "f32"][..]), ("cold", "flushed", &["bf16", "fp8"])]
    {
        let of = |row: &&std::collections::BTreeMap<String, String>| row["cache"] == cache;
        let expected = format!("{kernel} ({mode})");
        assert!(rows.iter().filter(of).all(|row| row["kernel"] == expected), "{rows:?}");
        for dtype in types {
            assert!(rows.iter().filter(of).any(|row| row["dtype"] == *dtype), "{cache} {dtype}");
        }
    }
    let manifest = fs::read_to_string(folder.join("a/samples/dataset.toml")).unwrap();
    assert!(manifest.contains("software = \"cublasLt 13.0.2\"\n"), "{manifest}");
    assert!(manifest.contains("cublaslt_version = \"13.0.2\""), "{manifest}");
    // Who names no layout is answered as who names that of a linear layer.
    let ask = |words: &str| {
        let line = format!("gemm -m 16 -n 256 -k 512 --dtype bf16 --format json {words} --machine");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_predict"))
            .args(line.split_whitespace())
            .arg(folder.join("a"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        answer["time_us"].as_f64().unwrap()
    };
    assert_eq!(ask(""), ask("--layout nt"));
}

/// Which algorithms a run with these flags measured, in what workspace, and how they were chosen.
fn algorithms(folder: &Path, fault: &str, flags: &str) -> Vec<String> {
    let said = measure(folder, fault, flags);
    assert_eq!(said.code, 0, "{fault}: {}{}", said.stdout, said.stderr);
    let words = tried(folder).into_iter().map(|row| {
        let words: Vec<&str> = row["kernel"].split(' ').collect();
        let at = words.iter().position(|word| *word == "algo").unwrap();
        let how = row["kernel"].split_once("workspace ").unwrap().1;
        format!("{} {how}", words[at + 1])
    });
    words.collect::<std::collections::BTreeSet<String>>().into_iter().collect()
}

#[test]
fn tuning_takes_the_fastest_and_belongs_to_the_run() {
    let folder = with_library("gemm-tune");
    let measured = algorithms(&folder, "", "--gemm-tune 4");
    let fastest = ["12 1048576 fastest of 4 (flushed)", "12 1048576 fastest of 4 (graph)"];
    assert_eq!(measured, fastest);
    // What was measured with a choice is not continued without one.
    let said = measure(&folder, "", "");
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("gemm_tune was 4 and is now not recorded"), "{}", said.stderr);
    let said = calibrate(&folder, "", "--device cpu --gemm-tune 4");
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("--gemm-tune has no effect on `--device cpu`"), "{}", said.stderr);
}

#[test]
fn tuning_passes_over_what_is_refused_or_wrong() {
    for fault in ["refused_fastest", "wrong_fastest"] {
        let folder = with_library(&format!("gemm-{fault}"));
        let measured = algorithms(&folder, fault, "--gemm-tune 2");
        let sound = ["11 0 fastest of 2 (flushed)", "11 0 fastest of 2 (graph)"];
        assert_eq!(measured, sound, "{fault}");
    }
}

#[test]
fn a_wrong_product_fails_and_is_not_recorded() {
    let folder = with_library("gemm-wrong");
    let said = measure(&folder, "wrong_product", "");
    assert_ne!(said.code, 0, "{}", said.stderr);
    let table = fs::read_to_string(folder.join("a/journal.jsonl")).unwrap();
    let points: Vec<&str> = table
        .lines()
        .filter(|line| line.contains("\"gemm\"") && !line.contains("skipped"))
        .collect();
    assert!(points.len() > 30, "{table}");
    assert!(points.iter().all(|line| line.contains("wrong_result")), "{}", points[0]);
}

#[test]
fn without_the_library_a_function_or_an_algorithm_products_are_skipped_and_the_rest_goes_on() {
    for (name, fault, removed, reason) in [
        ("gemm-none", "", None, "libcublasLt.so.13 was not found"),
        ("gemm-old", "", Some("cublasLtMatmul"), "cuBLASLt lacks cublasLtMatmul"),
        (
            "gemm-no-algorithm",
            "no_algorithm",
            Some(""),
            "cuBLASLt has no algorithm for this product",
        ),
    ] {
        let folder = folder(name);
        if let Some(function) = removed {
            add_cublas_lt(&folder);
            if !function.is_empty() {
                remove_from(&folder, "libcublasLt.so.13", function);
            }
        }
        let line = "--device 0 --quick --ops gemm,memory --samples 2 --out a";
        let variables = [("KERNELGAUGE_FAKE_MEMORY", MEMORY), ("KERNELGAUGE_FAKE_FAULT", fault)];
        let said = calibrate_with(&folder, &variables, line);
        assert_eq!(said.code, 0, "{name}: {}", said.stderr);
        let table = fs::read_to_string(folder.join("a/samples/gemm.csv")).unwrap();
        assert!(tried(&folder).is_empty(), "{name}: {table}");
        assert!(table.contains(reason), "{name}: {}", table.lines().nth(1).unwrap());
        let named = said.stderr.lines().any(|line| {
            line.starts_with("warning: ") && line.contains("skipped: ") && line.contains(reason)
        });
        assert!(named, "{name}: {}", said.stderr);
        let table = fs::read_to_string(folder.join("a/samples/memory.csv")).unwrap();
        assert!(table.contains(",true,ok,"), "{name}");
    }
}
