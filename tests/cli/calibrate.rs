//! `calibrate` on the simulated device: plan, run, resume, mistakes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use kernelgauge_cuda::nvidia::library::Library;

use crate::command::Said;

/// A fresh folder for the test called `name`; runs in it have their own locks.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("calibrate").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs `calibrate` with the words of `line` in `folder`.
pub fn calibrate(folder: &Path, line: &str) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_calibrate"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("TMPDIR", folder)
        .env_remove("LD_LIBRARY_PATH")
        .output()
        .unwrap();
    Said {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn has(text: &str, part: &str) {
    assert!(text.contains(part), "`{part}` is not in:\n{text}");
}

#[test]
fn the_plan_is_printed_whole_and_nothing_is_written() {
    let folder = folder("plan");
    let said = calibrate(&folder, "--device simulated --plan --quick");
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let heading = "suite       points      memory   estimate   why these";
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(lines[0], "machine   simulated: simulated device, 8 threads, 8 GiB");
    assert_eq!(lines[1], heading);
    let suites: Vec<&str> = lines[2..].iter().filter_map(|l| l.split(' ').next()).collect();
    assert_eq!(suites, ["gemm", "embedding", "memory", "copy", "total"]);
    let points = |line: &str| -> u32 {
        line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap()
    };
    assert_eq!(points(lines[6]), lines[2..6].iter().map(|line| points(line)).sum::<u32>());
    has(lines[6], "to calibrations/simulated");
    assert!(lines.iter().all(|line| line.chars().count() <= 100), "{}", said.stdout);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    // Planned again, it is the same plan.
    assert_eq!(calibrate(&folder, "--device simulated --plan --quick").stdout, said.stdout);
}

#[test]
fn without_a_driver_gpus_are_refused_in_two_lines() {
    // On a machine with a driver there is nothing to refuse.
    if Library::Driver.open().is_ok() {
        return;
    }
    let folder = folder("no-gpu");
    let began = Instant::now();
    let said = calibrate(&folder, "--device 0..7");
    let took = began.elapsed();
    assert_eq!((said.code, said.stdout.as_str()), (3, ""));
    assert!(took < Duration::from_millis(500), "{took:?}");
    assert_eq!(
        said.stderr,
        "error: no NVIDIA driver on this machine (libcuda.so.1 was not found)\n\
         hint: measure the processor with `calibrate --device cpu`, or predict a shipped \
         machine: `predict machines`\n"
    );
}

#[test]
fn mistakes_name_what_is_wrong_and_what_to_do() {
    let folder = folder("mistakes");
    for (line, code, error, hint) in [
        ("--device 7..0", 2, "`7..0` counts down", "write it as `0..7`"),
        ("--device gpu", 2, "`gpu` is not a device list", "use `cpu`, `all`, one index"),
        ("--ops gem", 2, "unknown op family `gem`", "did you mean `gemm`?"),
        ("--ops all_reduce", 2, "unknown op family `all_reduce`", "known: gemm, embedding"),
        ("--budget soon", 2, "`soon` is not a time", "`calibrate --help`"),
        ("--samples 0", 2, "invalid value `0`", "`calibrate --help`"),
        ("--threads 0 --plan --device simulated", 2, "not a whole number from 1", "`calibrate"),
        ("--seed NaN", 2, "`NaN` for `--seed <N>`: not a whole number from 0 to 1844", "--help"),
        ("--threads 100000", 2, "100000 threads", "threads"),
        ("--budgt 60s", 2, "unexpected argument `--budgt`", "a similar argument exists"),
        ("fit nowhere", 2, "nowhere", ""),
        ("fit nowhere --detail fuller", 2, "`fuller` is no level of detail", "TREESxLEAVES"),
        ("evaluate nowhere --fresh 0", 2, "invalid value `0`", ""),
        ("import missing.csv --out set", 2, "missing.csv", ""),
        ("frobnicate", 2, "frobnicate", ""),
    ] {
        let said = calibrate(&folder, line);
        assert_eq!((said.code, said.stdout.as_str()), (code, ""), "{line}: {}", said.stderr);
        assert!(said.stderr.starts_with("error: "), "{line}: {}", said.stderr);
        assert!(said.stderr.contains(error) && said.stderr.contains(hint), "{}", said.stderr);
        assert!(said.stderr.lines().count() <= 2, "{line}: {}", said.stderr);
    }
}

#[test]
fn a_folder_that_cannot_be_written_to_ends_the_run_before_it_begins() {
    let folder = folder("unwritable");
    fs::write(folder.join("file"), b"").unwrap();
    let said = calibrate(&folder, "--device simulated --quick --out file");
    assert_eq!(said.code, 3);
    assert_eq!(
        said.stderr,
        "error: file is a file, not a folder\nhint: `--out DIR` names another folder\n"
    );
    let said = calibrate(&folder, "--device simulated --quick --out file/below");
    assert_eq!(said.code, 3);
    has(&said.stderr, "error: cannot write to file/below: ");
    fs::create_dir(folder.join("a")).unwrap();
    fs::write(folder.join("a/samples"), b"").unwrap();
    let said = calibrate(&folder, "--device simulated --quick --out a");
    assert_eq!(said.code, 3);
    has(&said.stderr, "error: a/samples is a file, not a folder\n");
}

#[test]
fn a_run_ends_with_data_model_and_report_and_another_continues_it() {
    let folder = folder("run");
    let first = calibrate(&folder, "--device simulated --quick --ops copy,gemm --out a");
    assert_eq!(first.code, 0, "{}", first.stderr);
    has(&first.stdout, "simulated (synthetic), ");
    has(&first.stdout, "family");
    has(&first.stderr, "wrote a/model.json, report.md, samples/\n");
    has(&first.stderr, "\ntry: predict gemm -m ");
    for file in ["journal.jsonl", "model.json", "report.md", "samples/dataset.toml"] {
        assert!(folder.join("a").join(file).exists(), "{file} is missing");
    }
    let model = fs::read(folder.join("a/model.json")).unwrap();

    let again = calibrate(&folder, "--device simulated --quick --ops copy,gemm --out a");
    assert_eq!((again.code, &again.stdout), (0, &first.stdout));
    has(&again.stderr, "continuing the run begun ");
    assert_eq!(fs::read(folder.join("a/model.json")).unwrap(), model);

    // Other families join the same run; the same measurements give the same model.
    let more = calibrate(&folder, "--device simulated --quick --ops memory --out a");
    assert_eq!(more.code, 0);
    for family in ["gemm", "memory", "copy"] {
        has(&more.stdout, family);
    }
    calibrate(&folder, "--device simulated --quick --ops gemm,copy --out b");
    assert_eq!(fs::read(folder.join("b/model.json")).unwrap(), model);

    let fitted = calibrate(&folder, "fit a --out c/model.json");
    assert_eq!(fitted.code, 0, "{}", fitted.stderr);
    let evaluated = calibrate(&folder, "evaluate a --fresh 5 --device simulated --format json");
    assert_eq!(evaluated.code, 0, "{}", evaluated.stderr);
    let document: serde_json::Value = serde_json::from_str(&evaluated.stdout).unwrap();
    assert_eq!(document["points"].as_array().unwrap().len(), 15);
    // The simulated device follows a law that the model knows.
    let median = document["families"][0]["median_error"].as_f64().unwrap();
    assert!(median < 0.1, "{median}");
}

#[test]
fn two_runs_are_compared_and_a_difference_beyond_noise_is_a_finding() {
    let folder = folder("compare");
    assert_eq!(calibrate(&folder, "--device simulated --quick --ops copy --out a").code, 0);
    // The same measurements, each a fifth slower.
    let table = fs::read_to_string(folder.join("a/samples/copy.csv")).unwrap();
    let mut slower = String::from("direction,pinned,bytes,time_us,cache\n");
    let mut lines = table.lines();
    let heading: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| heading.iter().position(|column| *column == name).unwrap();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |name: &str| cells[at(name)];
        let time: f64 = cell("time_us").parse().unwrap();
        let (direction, pinned, bytes) = (cell("direction"), cell("pinned"), cell("bytes"));
        slower += &format!("{direction},{pinned},{bytes},{:.3},{}\n", time * 1.2, cell("cache"));
    }
    fs::write(folder.join("slower.csv"), slower).unwrap();
    let imported = calibrate(&folder, "import slower.csv --out b --machine simulated");
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    assert_eq!(calibrate(&folder, "fit b").code, 0);

    let same = calibrate(&folder, "compare a a/model.json --threshold 1%");
    assert_eq!((same.code, same.stderr.as_str()), (0, ""), "{}", same.stdout);
    // Data set or model, it is the same comparison.
    for sides in ["a b", "a/model.json b/model.json", "a/samples b/model.json"] {
        let said = calibrate(&folder, &format!("compare {sides} --threshold 5%"));
        assert_eq!(said.code, 1, "{sides}: {}{}", said.stdout, said.stderr);
        has(
            &said.stdout,
            "variant                  basis      points          A          B   B / A     p10",
        );
        has(&said.stdout, "   1.200   ");
        has(
            &said.stderr,
            "2 variants differ by more than 5 % and beyond noise: copy h2h/pageable hot",
        );
        let allowed = calibrate(&folder, &format!("compare {sides} --threshold 25%"));
        assert_eq!(allowed.code, 0, "{}", allowed.stdout);
    }
    let markdown = calibrate(&folder, "compare a b --format markdown").stdout;
    has(&markdown, "| copy h2h/pageable hot | measured | ");
    let json = calibrate(&folder, "compare a b --format json --threshold 5%").stdout;
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["rows"][1]["changed"], true);
    assert!((document["rows"][0]["median"].as_f64().unwrap() - 1.2).abs() < 0.001);

    for (line, error) in [
        ("compare a nowhere", "error: cannot read nowhere: "),
        ("compare a slower.csv", "slower.csv is not a model file: it seems to be a CSV table"),
        ("compare a .", "error: . holds no dataset.toml and no model.json"),
        ("compare a b --threshold much", "not a percentage from 0% to 1000%, such as 5%"),
        ("compare a b --ops gemm", "there is no gemm here"),
        ("compare a", "<B>"),
    ] {
        let said = calibrate(&folder, line);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{line}: {}", said.stderr);
        has(&said.stderr, error);
        has(&said.stderr, "\nhint: ");
    }
}

#[test]
fn another_seed_is_another_run() {
    let folder = folder("seed");
    let run = |flags: &str| {
        calibrate(&folder, &format!("--device simulated --quick --ops copy --out a {flags}"))
    };
    assert_eq!(run("").code, 0);
    let other = run("--seed 1");
    assert_eq!((other.code, other.stdout.as_str()), (2, ""));
    assert_eq!(
        other.stderr,
        "error: a/journal.jsonl holds a run that this one cannot continue: seed was 0 and is now 1\n\
         hint: `--new-run` starts over and keeps the old journal beside the new one; `--out` \
         writes elsewhere\n"
    );
    let old = fs::read(folder.join("a/journal.jsonl")).unwrap();
    assert_eq!(run("--seed 1 --new-run").code, 0);
    assert_eq!(fs::read(folder.join("a/journal.1.jsonl")).unwrap(), old);
}

#[test]
fn a_budget_is_kept_and_says_what_is_left() {
    let folder = folder("budget");
    let said = calibrate(&folder, "--device simulated --ops copy --budget 1s --out a");
    has(
        &said.stderr,
        " of 138 planned points in the time given; the rest would refine the model: ",
    );
    has(&said.stderr, "calibrate --device simulated --ops copy --out a\n");
    assert!(said.code == 0 || said.code == 4, "{}", said.stderr);
    // Too short for a first pass of the copies: what there is, is kept.
    let said = calibrate(&folder, "--device simulated --ops copy --budget 100ms --out b");
    assert_eq!(said.code, 4, "{}", said.stderr);
    assert!(folder.join("b/samples/dataset.toml").exists());
}

#[test]
fn two_runs_on_one_device_do_not_disturb_each_other() {
    let folder = folder("locked");
    let path = folder.join("kernelgauge-simulated.lock");
    fs::write(&path, "process 4711").unwrap();
    let lock = fs::File::open(&path).unwrap();
    lock.lock().unwrap();
    let said = calibrate(&folder, "--device simulated --quick --ops copy");
    assert_eq!(said.code, 3);
    assert_eq!(
        said.stderr,
        "error: device `simulated` is being measured by another run (process 4711)\n\
         hint: wait until it has finished: two runs at once would disturb each other\n"
    );
    drop(lock);
    assert_eq!(calibrate(&folder, "--device simulated --quick --ops copy").code, 0);
}

#[test]
fn doctor_says_what_is_here_and_fails_only_for_a_reason() {
    let folder = folder("doctor");
    let said = calibrate(&folder, "doctor --json");
    assert_eq!(said.code, 0, "{}", said.stdout);
    let document: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let findings = document["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["check"] == "libnccl"));
    for finding in findings {
        assert_eq!(finding["severity"] == "ok", finding["remedy"].is_null(), "{finding}");
    }
    fs::write(folder.join("file"), b"").unwrap();
    let said = calibrate(&folder, "doctor --out file/below");
    assert_eq!(said.code, 3, "{}", said.stdout);
    has(&said.stdout, "fail   disk");
}

#[test]
fn nothing_that_was_in_the_environment_is_written() {
    let folder = folder("secret");
    let output = Command::new(env!("CARGO_BIN_EXE_calibrate"))
        .args(["--device", "simulated", "--quick", "--ops", "copy", "--out", "a"])
        .current_dir(&folder)
        .env("TMPDIR", &folder)
        .env("API_TOKEN", "tok-3141592653")
        .env("HOSTNAME", "host-2718281828")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let mut written = vec![output.stdout, output.stderr];
    for part in ["a", "a/samples"] {
        for entry in fs::read_dir(folder.join(part)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                written.push(fs::read(path).unwrap());
            }
        }
    }
    assert!(written.len() >= 6);
    for bytes in written {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("3141592653") && !text.contains("2718281828"));
    }
}

#[test]
fn version_man_page_and_completions_are_printed() {
    let folder = folder("generate");
    has(&calibrate(&folder, "--version").stdout, "calibrate 0.1.0 (git ");
    has(&calibrate(&folder, "--generate man").stdout, ".TH calibrate");
    for shell in ["bash", "zsh", "fish"] {
        let said = calibrate(&folder, &format!("--generate complete-{shell}"));
        has(&said.stdout, "retry-failed");
    }
    has(&calibrate(&folder, "--help").stdout, "--new-run");
}

#[test]
fn a_plan_under_a_budget_says_what_fits() {
    let folder = folder("plan_budget");
    let fitting = |budget: &str| {
        let line = format!("--device simulated --budget {budget} --plan --format json");
        let said = calibrate(&folder, &line);
        let plan: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        plan["in_budget"].as_u64().unwrap()
    };
    assert!(0 < fitting("5s") && fitting("5s") < fitting("30s"));
    let said = calibrate(&folder, "--device simulated --budget 5s --plan");
    assert!(said.stdout.contains(" points fit into the budget"), "{}", said.stdout);
}

#[test]
fn data_of_another_machine_and_of_nothing_in_common_are_refused() {
    let folder = folder("other_machine");
    let root = env!("CARGO_MANIFEST_DIR");
    let host = format!("{root}/data/machines/host-x86-64");
    let said = calibrate(&folder, &format!("evaluate {host} --fresh 2 --device simulated"));
    assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{}", said.stderr);
    assert!(
        said.stderr.starts_with("error: host-x86-64 was measured on AMD EPYC, and this is "),
        "{}",
        said.stderr
    );
    let quick = "--device simulated --quick --ops";
    for ops in ["copy", "gemm"] {
        let measured = calibrate(&folder, &format!("{quick} {ops} --out {ops}"));
        assert_eq!(measured.code, 0, "{}", measured.stderr);
    }
    let said = calibrate(&folder, "thin copy --check gemm");
    assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{}", said.stderr);
    assert!(said.stderr.contains("no variant in common"), "{}", said.stderr);
    let said = calibrate(&folder, "evaluate copy --sweep");
    assert_eq!((said.code, said.stdout.as_str()), (1, ""), "{}", said.stderr);
    assert!(said.stderr.contains("no variant has enough points"), "{}", said.stderr);
    let said = calibrate(&folder, "evaluate copy --ops gemm");
    assert_eq!(said.code, 2);
    assert_eq!(said.stderr, "error: there is no gemm here\nhint: there is copy\n");

    // Shipped machines are sides of a comparison by name.
    let said = calibrate(&folder, "compare host-x86-64 host-x86-64 --ops copy --threshold 5%");
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("host-x86-64 (host-x86-64: AMD EPYC)"), "{}", said.stdout);

    // A model that was fitted on other measurements than are beside it.
    let model = folder.join("copy").join("model.json");
    let ask = || {
        let model = model.to_str().unwrap();
        let line = ["copy", "--direction", "h2h", "--bytes", "64KiB", "--machine", model];
        crate::command::predict(&line)
    };
    assert!(!ask().stderr.contains("other measurements"), "{}", ask().stderr);
    let samples = folder.join("copy").join("samples");
    std::fs::copy(folder.join("gemm/samples/dataset.toml"), samples.join("dataset.toml")).unwrap();
    std::fs::copy(folder.join("gemm/samples/gemm.csv"), samples.join("gemm.csv")).unwrap();
    let said = ask();
    assert!(said.code == 0 && said.stderr.contains("calibrate fit "), "{}", said.stderr);
}
