//! Single questions to `predict`.

use serde_json::Value;

use crate::command::{Said, masked, predict};
use crate::made_up_machine::{NAME, folder, model_file};

const SYNTHETIC: &str =
    "warning: synthetic-8x was fitted to synthetic data; its times mean nothing\n";

fn ask(question: &str, machine: &str) -> Said {
    let words = question.split_whitespace().chain(["--machine", machine]);
    predict(&words.collect::<Vec<_>>())
}

#[test]
fn an_answer_looks_as_documented_in_every_format() {
    let model = model_file("formats").display().to_string();

    let said = ask("gemm -m 256 -n 4096 -k 4096 --dtype bf16", &model);
    assert_eq!((said.code, said.stderr.as_str()), (0, SYNTHETIC));
    assert_eq!(
        masked(&said.stdout),
        "~ µs   (~ %: ~ .. ~ µs)   ~ TFLOP/s\nmeasured point of synthetic-8x (madeup ~)\n"
    );

    // 3 µs + 2 * 256 * 4096 * 4096 / 100 TFLOP/s.
    let said = ask("gemm -m 256 -n 4096 -k 4096 --dtype bf16 --format json", &model);
    let json: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["time_us"], 88.899);
    assert!(json["low_us"].as_f64() < json["time_us"].as_f64());
    assert!(json["high_us"].as_f64() > json["time_us"].as_f64());
    for (name, value) in [
        ("family", "gemm"),
        ("dtype", "bf16"),
        ("domain", "inside"),
        ("basis", "measured"),
        ("machine", NAME),
    ] {
        assert_eq!(json[name], value);
    }
    assert_eq!((&json["m"], &json["batch"]), (&256.into(), &1.into()));

    let said = ask("all-reduce --bytes 1MiB --ranks 8 --format csv", &model);
    assert_eq!(
        masked(&said.stdout),
        "family,collective,dtype,ranks,nodes,links,bytes,time_us,low_us,high_us,domain,basis,\
         machine,answered_by,algbw_gb_s,busbw_gb_s\n\
         collective,all_reduce,f16,~,~,nvswitch,~,~,~,~,inside,measured,synthetic-8x,,~,~\n"
    );
}

#[test]
fn names_and_dtypes_are_understood_generously() {
    let model = model_file("names").display().to_string();
    let long = ask("memory softmax --rows 64 --columns 1024 --dtype float32", &model);
    let short = ask("softmax --rows 64 --columns 1024", &model);
    assert_eq!(long, short);
    assert_eq!(masked(&short.stdout).lines().next(), Some("~ µs   (~ %: ~ .. ~ µs)   ~ GB/s"));

    let half = ask("all-reduce --bytes 1MiB --ranks 8", &model);
    let brain = ask("all_reduce --bytes 1048576 --ranks 8 --dtype bf16", &model);
    let first = |said: &Said| said.stdout.split("   ").next().unwrap_or_default().to_owned();
    assert_eq!(first(&half), first(&brain));
    // The answer itself says so, and its interval covers the difference.
    assert!(brain.stdout.ends_with(" (madeup 1.0), f16 answering for bf16\n"), "{brain:?}");
    let ends = |dtype: &str| {
        let line = format!("all-reduce --bytes 1MiB --ranks 8 --format json --dtype {dtype}");
        let json: Value = serde_json::from_str(&ask(&line, &model).stdout).unwrap();
        let number = |name: &str| json[name].as_f64().unwrap();
        (number("time_us"), number("high_us") / number("low_us"), json["answered_by"].clone())
    };
    let (f16, f64) = (ends("f16"), ends("f64"));
    assert_eq!((f16.0, &f16.2, &f64.2), (f64.0, &Value::Null, &"f16".into()));
    assert!(f64.1 > 1.3 * f16.1, "{f16:?} {f64:?}");
    assert_eq!(
        brain.stderr,
        "note: all-reduce was not measured in bf16; f16 answers for it at the same bytes\n"
            .to_owned()
            + SYNTHETIC
    );

    let folder = model.trim_end_matches("model.json");
    assert_eq!(ask("all-reduce --bytes 1MiB --ranks 8", folder), half);

    let explained = ask("gemm -m 300 -n 4096 -k 4096 --dtype bf16 --explain", &model);
    assert!(explained.stdout.lines().all(|line| line.chars().count() <= 100));
    for label in ["basis     ", "terms     ", "domain    ", "nearest   "] {
        assert!(explained.stdout.contains(&format!("\n{label}")), "{}", explained.stdout);
    }
}

#[test]
fn a_question_that_cannot_be_answered_says_why_and_what_to_do() {
    let model = model_file("refusals").display().to_string();
    for (question, expected) in [
        (
            "gemm -m 8 -n 8 -k 8 --dtype bf61",
            "error: unknown dtype `bf61` for gemm\n\
             hint: did you mean `bf16`? synthetic-8x has f32, bf16\n",
        ),
        (
            "gemm -m 8 -n 1024 -k 1024 --dtype bf16 --layout nnn",
            "error: unknown layout `nnn`\nhint: did you mean `nn`? known: nn, nt, tn\n",
        ),
        (
            "gemm -m 8 -n 1024 -k 1024 --dtype bf16 --layout nt",
            "error: synthetic-8x has no gemm measurements of `bf16/nt`\n\
             hint: did you mean `bf16`? synthetic-8x has bf16, f32\n",
        ),
        (
            "gemm -m 8 -n 1024 -k 1024 --dtype fp8",
            "error: synthetic-8x has no gemm in fp8\nhint: synthetic-8x has f32, bf16\n",
        ),
        (
            "gemm -m 8 -n 1024 -k 1024",
            "error: which dtype? synthetic-8x has gemm in f32, bf16\nhint: add --dtype f32\n",
        ),
        ("gemm -m 0 -n 8 -k 8 --dtype f32", "error: `m` is 0; it must be at least 1\n"),
        (
            "gemm -m 18446744073709551615 -n 18446744073709551615 -k 9 --dtype f32",
            "error: batch * m * k in bytes exceeds 2^63\n",
        ),
        (
            "all-reduce --bytes 4GiB --ranks 8",
            "error: 4 GiB is 128 times the largest all-reduce synthetic-8x was measured at (32 MiB)\n\
             hint: --extrapolate answers from the analytical term, with its wider interval\n",
        ),
        (
            "all-reduce --bytes 64GiB --ranks 8 --extrapolate",
            "error: 64 GiB is 2048 times the largest all-reduce synthetic-8x was measured at (32 MiB)\n\
             hint: nothing is extrapolated this far: all parameters together may lie a factor of \
             1024 beyond what was measured, ranks a factor of 8\n",
        ),
        (
            "all-reduce --bytes 1KiB --ranks 4294967295 --extrapolate",
            "error: ranks = 4294967295 is more than synthetic-8x has devices for all-reduce: 8 on 1 \
             node\n\
             hint: 4294967295 ranks need 536870912 nodes, and synthetic-8x was measured on 1: \
             nothing is known of the network between more, so --extrapolate has no answer either\n",
        ),
        (
            "all-reduce --bytes 1KiB --ranks 8 --nodes 8 --extrapolate",
            "error: nodes = 8: synthetic-8x was measured only at nodes = 1 for all-reduce\n\
             hint: nothing of a network between nodes was measured on synthetic-8x, so \
             --extrapolate has no answer either: import measurements over several nodes\n",
        ),
        (
            "all-reduce --bytes 1KiB --ranks 64 --basis sigmoid --extrapolate",
            "error: ranks = 64 is more than synthetic-8x has devices for all-reduce: 8 on 1 node\n\
             hint: 64 ranks need 8 nodes, and synthetic-8x was measured on 1: nothing is known of \
             the network between more, so --extrapolate has no answer either\n",
        ),
        (
            "all-reduce --bytes 0.3 --ranks 8",
            "error: --bytes: `0.3` is not a whole number of bytes\n\
             hint: sizes look like 65536, 64K or 64KiB (1024 each) or 64KB (1000 each)\n",
        ),
        (
            "all-reduce --bytes 16EiB --ranks 8",
            "error: --bytes: `16EiB` is larger than 2^64 - 1 bytes, the largest size there is\n\
             hint: sizes look like 65536, 64K or 64KiB (1024 each) or 64KB (1000 each)\n",
        ),
        (
            "all-reduce --bytes -4 --ranks 8",
            "error: --bytes: `-4` is not a size in bytes\n\
             hint: sizes look like 65536, 64K or 64KiB (1024 each) or 64KB (1000 each)\n",
        ),
        (
            "all-reduce --bytes 1KiB --ranks 1",
            "error: a collective needs at least 2 ranks, not 1\n",
        ),
        (
            "all-reduce --bytes 1KiB --ranks 8 --dtype int8",
            "error: synthetic-8x has no all-reduce in int8\nhint: synthetic-8x has f16\n",
        ),
        (
            "broadcast --bytes 1KiB --ranks 8",
            "error: synthetic-8x has no broadcast\nhint: it has all_reduce\n",
        ),
        (
            "memory softmacs --elements 8",
            "error: unknown memory op `softmacs`\nhint: did you mean `softmax`? known: add, scale, \
             relu, sigmoid, gelu, sum, softmax, layer_norm, transpose, concat, fill, dropout, \
             cast, triangle, layer_norm_backward\n",
        ),
        (
            "triangle --elements 730 --dtype f32",
            "error: synthetic-8x has no triangle\nhint: it has softmax\n",
        ),
        (
            "custom my_kernel --set batch",
            "error: --set is `batch`, not a name, `=` and a whole number\n\
             hint: like this: --set batch=64\n",
        ),
        (
            "copy --direction h2d --bytes 1MiB",
            "error: synthetic-8x has no copy measurements\nhint: it has gemm, memory, collective, custom\n",
        ),
    ] {
        let said = ask(question, &model);
        let refused = Said { code: 2, stdout: String::new(), stderr: expected.to_owned() };
        assert_eq!(said, refused, "{question}");
    }
    let extrapolated = ask("all-reduce --bytes 4GiB --ranks 8 --extrapolate", &model);
    assert_eq!(extrapolated.code, 0);
    assert!(extrapolated.stdout.contains("outside the measured domain"));
}

#[test]
fn the_shipped_machines_are_listed_in_every_format() {
    let table = predict(&["machines"]);
    assert_eq!((table.code, table.stderr.as_str()), (0, ""));
    assert!(table.stdout.contains("h200-sxm   8 x NVIDIA H200, nvswitch   "), "{}", table.stdout);
    assert!(table.stdout.contains("\n  gemm        bf16 fp8 fp8_block\n"), "{}", table.stdout);
    let json = predict(&["machines", "--format", "json"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let machines = json["machines"].as_array().unwrap();
    let h200 = machines.iter().find(|machine| machine["name"] == "h200-sxm").unwrap();
    assert_eq!((&h200["count"], &h200["origin"]), (&8.into(), &"imported".into()));
    assert_eq!(h200["families"]["gemm"][0], "bf16");
    let csv = predict(&["machines", "--format", "csv"]).stdout;
    assert!(csv.starts_with("name,device,count,links,origin,rows,families,variants,software\n"));
    assert_eq!(csv.lines().count(), 1 + machines.len());
}

#[test]
fn a_direction_is_understood_as_other_tools_spell_it() {
    let ask = |direction: &str| {
        let machine = ["--machine", "host-x86-64"];
        predict(&[&["copy", "--direction", direction, "--bytes", "1MiB"][..], &machine].concat())
    };
    let said = ask("h2h");
    assert_eq!(said.code, 0, "{}", said.stderr);
    for spelling in ["H2H", "HtoH", "host_to_host", "host-to-host"] {
        assert_eq!(ask(spelling), said, "{spelling}");
    }
}

/// Every shipped GPU lacks embedding data; its figures say a time when asked to.
#[test]
fn published_figures_answer_where_nothing_was_measured() {
    let bag = "embedding --tables 8 --rows 1000000 --dim 64 --batch 2048 --pooling 100";
    let said = ask(bag, "h100-sxm");
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("--basis described --extrapolate"), "{}", said.stderr);
    let without = ask(&format!("{bag} --basis described"), "h100-sxm");
    assert_eq!(without.code, 2);
    assert!(without.stderr.contains("--basis described --extrapolate"), "{}", without.stderr);

    let described = "--basis described --extrapolate";
    let said = ask(&format!("{bag} {described} --explain --direction backward"), "h100-sxm");
    assert_eq!(said.code, 0, "{}", said.stderr);
    for part in ["basis     described", "sorting", "updates", "cache", "published figures"] {
        assert!(said.stdout.contains(part), "{part}: {}", said.stdout);
    }
    let gelu = ask(&format!("gelu --elements 16777216 {described} --explain"), "h100-sxm");
    assert!(gelu.stdout.contains("memory region"), "{}", gelu.stdout);
    let gemm = ask(&format!("gemm -m 8 -n 8 -k 8 --dtype bf16 {described}"), "h100-sxm");
    assert!(gemm.stderr.contains("embedding bags and memory-bound ops only"), "{}", gemm.stderr);
}

/// Equal tables from a file are the op on equal tables; tables that differ lie between.
#[test]
fn tables_that_differ_are_one_op() {
    let files = folder("tables-that-differ");
    let write = |name: &str, text: &str| {
        let path = files.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let time = |line: &str| -> f64 {
        let line =
            format!("embedding --batch 2048 {line} --basis described --extrapolate --format json");
        let said = ask(&line, "h100-sxm");
        let json: Value = serde_json::from_str(&said.stdout).unwrap_or_default();
        json["time_us"].as_f64().unwrap_or_else(|| panic!("{line}: {}", said.stderr))
    };
    let equal = write("equal.csv", "rows,tables,dim,pooling\n50000,4,64,20\n50000,2,64,20\n");
    let mixed = write("mixed.csv", "rows,tables,dim,pooling\n50000,3,64,20\n1000000,3,128,20\n");
    let of =
        |rows: u64, dim: u64| time(&format!("--tables 6 --rows {rows} --dim {dim} --pooling 20"));
    let (small, large) = (of(50_000, 64), of(1_000_000, 128));
    assert!((time(&format!("--tables-file {equal}")) - small).abs() < 0.01);
    let mean = (small + large) / 2.0;
    assert!((time(&format!("--tables-file {mixed}")) / mean - 1.0).abs() < 1e-3);

    let bad = write("bad.csv", "rows,dim,pooling\n50000,64,0\n");
    let said = ask(&format!("embedding --batch 8 --tables-file {bad} --dtype f32"), "host-x86-64");
    assert_eq!(said.code, 2);
    assert!(
        said.stderr.starts_with("error: line 2 of the tables: pooling is `0`"),
        "{}",
        said.stderr
    );
    let far = write("far.csv", "rows,dim,pooling\n20000,64,8\n7,64,8\n");
    let said =
        ask(&format!("embedding --batch 256 --tables-file {far} --dtype f32"), "host-x86-64");
    assert!(said.stderr.starts_with("error: line 3 of the tables: rows = 7"), "{}", said.stderr);
}
