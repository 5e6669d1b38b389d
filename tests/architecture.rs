//! The shape of the workspace, checked from `cargo metadata` and the sources: which crate may
//! know which, who may be unsafe, and how long a module may get.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Arrows between the crates; `predict` and `model` never see a device.
const ARROWS: [(&str, &[&str]); 11] = [
    ("kernelgauge", &["kernelgauge-calibrate", "kernelgauge-predict"]),
    (
        "kernelgauge-calibrate",
        &["kernelgauge-cuda", "kernelgauge-data", "kernelgauge-model", "kernelgauge-trace"],
    ),
    ("kernelgauge-cuda", &["kernelgauge-data"]),
    ("kernelgauge-data", &[]),
    ("kernelgauge-fake-cublaslt", &[]),
    ("kernelgauge-fake-compiler", &[]),
    ("kernelgauge-fake-driver", &[]),
    ("kernelgauge-fake-nccl", &[]),
    ("kernelgauge-model", &["kernelgauge-data"]),
    ("kernelgauge-predict", &["kernelgauge-data", "kernelgauge-model", "kernelgauge-trace"]),
    ("kernelgauge-trace", &["kernelgauge-data"]),
];

/// Lines a module may have, tests included.
const LONGEST_MODULE: usize = 700;

/// Lines the median module may have.
const MEDIAN_MODULE: usize = 150;

/// Every package of the workspace with the names of its dependencies, by kind (`normal`,
/// `dev`, `build`).
fn packages() -> BTreeMap<String, Vec<(String, String)>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let dependency = |value: &Value| {
        let kind = value["kind"].as_str().unwrap_or("normal").to_owned();
        (kind, text(&value["name"]))
    };
    let package = |value: &Value| {
        let dependencies = value["dependencies"].as_array().unwrap().iter().map(dependency);
        (text(&value["name"]), dependencies.collect())
    };
    metadata["packages"].as_array().unwrap().iter().map(package).collect()
}

/// Rust sources under `folder`, tests and fixtures included, build outputs excluded.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            found.extend(sources(&path));
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
    found
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn crates_know_only_whom_they_may() {
    let packages = packages();
    let names: BTreeSet<&str> = packages.keys().map(String::as_str).collect();
    assert_eq!(names, ARROWS.iter().map(|(name, _)| *name).collect(), "a crate without a rule");
    for (name, allowed) in ARROWS {
        let known: BTreeSet<&str> = packages[name]
            .iter()
            .filter(|(kind, dependency)| kind == "normal" && names.contains(dependency.as_str()))
            .map(|(_, dependency)| dependency.as_str())
            .collect();
        let allowed = allowed.iter().copied().collect();
        assert!(known.is_subset(&allowed), "{name} knows {known:?} but may know {allowed:?}");
    }
}

#[test]
fn only_the_model_knows_linfa() {
    for (name, dependencies) in packages() {
        let linfa = dependencies.iter().find(|(_, dependency)| dependency.starts_with("linfa"));
        assert!(name == "kernelgauge-model" || linfa.is_none(), "{name} depends on {linfa:?}");
    }
}

#[test]
fn only_the_device_boundary_is_unsafe() {
    for name in ["data", "calibrate", "model", "predict"] {
        let library = fs::read_to_string(root().join(name).join("src/lib.rs")).unwrap();
        assert!(library.contains("#![forbid(unsafe_code)]"), "{name} may become unsafe");
    }
    // Spelled in two pieces so that this file does not find itself.
    let block = ["unsafe", " {"].concat();
    for path in sources(root()) {
        // What stands in for a driver in tests speaks its language.
        let may_be_unsafe = ["cuda", "tests/fake"].map(|folder| root().join(folder));
        if may_be_unsafe.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&block), "{} has an unsafe block", path.display());
    }
}

#[test]
fn modules_stay_small() {
    let mut lengths: Vec<(usize, PathBuf)> = sources(root())
        .into_iter()
        .map(|path| (fs::read_to_string(&path).unwrap().lines().count(), path))
        .collect();
    lengths.sort();
    let (longest, path) = lengths.last().unwrap();
    let (median, _) = &lengths[lengths.len() / 2];
    println!(
        "{} modules, median {median} lines, longest {longest} ({})",
        lengths.len(),
        path.display()
    );
    assert!(*longest <= LONGEST_MODULE, "{} has {longest} lines", path.display());
    assert!(*median <= MEDIAN_MODULE, "the median module has {median} lines");
}
