//! `calibrate fit --borrow`: a machine that is only described, and what cannot lend.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::calibrate::{calibrate, folder};
use crate::command::{Said, predict};

/// Twice the units, bandwidth, cache and peak of the simulated device.
const FIGURES: &str = "\n[machine.hardware]\nunits = 16\nmemory_gb_s = 400.0\n\
                       cache_bytes = 67108864\n\n[machine.hardware.peak_tflop_s]\nf32 = 2.0\n";

/// A fresh folder with a small data set `lender` of the simulated device's `ops`.
fn measured(name: &str, ops: &str) -> std::path::PathBuf {
    let folder = folder(name);
    let said = calibrate(&folder, &format!("--device simulated --quick --ops {ops} --out lender"));
    assert_eq!(said.code, 0, "{}", said.stderr);
    folder
}

/// A data set of no rows, `described` in `folder`: a machine and its `figures`.
fn describe(folder: &Path, figures: &str) {
    let described = folder.join("described");
    fs::create_dir_all(&described).unwrap();
    let machine = "[machine]\nname = \"made-up\"\ndevice = \"of no maker\"\ncount = 1\n";
    let text = format!("format_version = 1\norigin = \"imported\"\n\n{machine}{figures}");
    fs::write(described.join("dataset.toml"), text).unwrap();
}

fn product(folder: &Path, machine: &str, format: &str) -> Said {
    let model = folder.join(machine).display().to_string();
    let question = "gemm -m 1024 -n 1024 -k 1024 --dtype f32 --format";
    let words = question.split(' ').chain([format, "--machine", model.as_str()]);
    predict(&words.collect::<Vec<_>>())
}

#[test]
fn a_described_machine_answers_from_the_lender_and_says_so() {
    let folder = measured("borrow_described", "gemm");
    describe(&folder, FIGURES);
    let said = calibrate(&folder, "fit described --borrow lender");
    assert_eq!(
        (said.code, said.stderr.as_str()),
        (0, "borrowed from simulated\nwrote described/model.json\n")
    );
    assert!(said.stdout.starts_with("made-up, 0 points: "), "{}", said.stdout);

    let answer = |machine| -> Value {
        serde_json::from_str(&product(&folder, machine, "json").stdout).unwrap()
    };
    let (described, lender) = (answer("described"), answer("lender"));
    assert_eq!(described["basis"], "borrowed");
    assert_eq!(described["machine"], "made-up");
    assert_ne!(lender["basis"], "borrowed");
    // Scaled to twice the figures, not the lender's own time.
    let time = |answer: &Value| answer["time_us"].as_f64().unwrap();
    let ratio = time(&described) / time(&lender);
    assert!((0.4..0.6).contains(&ratio), "{ratio}");

    let said = product(&folder, "described", "table");
    assert!(said.stdout.ends_with("measured on other machines, scaled to made-up\n"), "{said:?}");
    assert_eq!(
        said.stderr,
        "warning: made-up was fitted to synthetic data; its times mean nothing\n\
         note: made-up borrows from simulated\n"
    );
}

#[test]
fn what_cannot_lend_is_refused_with_a_hint() {
    let folder = measured("borrow_refused", "copy,gemm");
    let copies = calibrate(&folder, "--device simulated --quick --ops copy --out copies");
    assert_eq!(copies.code, 0, "{}", copies.stderr);
    let refused = |line: &str, why: &str, hint: &str| {
        let said = calibrate(&folder, line);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{line}: {}", said.stderr);
        let lines: Vec<&str> = said.stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{line}: {}", said.stderr);
        assert_eq!(lines[0], format!("error: {why}"), "{line}");
        assert!(lines[1].starts_with(&format!("hint: {hint}")), "{line}: {}", said.stderr);
        assert!(!folder.join("described/model.json").exists(), "{line}");
    };
    let (nothing, state) =
        ("nothing can be borrowed for made-up", "state units, memory_gb_s, cache_bytes and peak");

    describe(&folder, FIGURES);
    refused(
        "fit described --borrow lender --borrow copies",
        "`--borrow` names simulated twice",
        "name each machine once",
    );
    refused(
        "fit lender --borrow lender",
        "lender is the data set itself",
        "borrow from other machines",
    );
    refused(
        "evaluate lender --among lender",
        "lender is the data set itself",
        "borrow from other machines",
    );
    // Copies depend on the host: no machine lends them.
    refused("fit described --borrow copies", nothing, state);
    describe(&folder, "");
    refused("fit described --borrow lender", nothing, state);
}
