//! What both commands make of recorded training steps.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::calibrate::calibrate;
use crate::command::{Said, predict, predict_reading};

/// A fresh folder for the test called `name`.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("traces").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn has(text: &str, part: &str) {
    assert!(text.contains(part), "`{part}` is not in:\n{text}");
}

/// An event of a host thread, in microseconds.
fn host(category: &str, name: &str, start: u32, duration: u32, arguments: &str) -> String {
    format!(
        r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 7, "tid": 7, "ts": {start},
        "dur": {duration}, "args": {{{arguments}}}}}"#
    )
}

/// A launch, and the work of a stream that it launches.
fn launched(
    number: u32,
    name: &str,
    at: u32,
    start: u32,
    duration: u32,
    more: &str,
) -> [String; 2] {
    let launch = format!(r#""correlation": {number}"#);
    let stream = if name.starts_with("nccl") { 9 } else { 3 };
    let work = format!(
        r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": {stream}, "ts": {start},
        "dur": {duration}, "args": {{"correlation": {number}, "device": 0, "stream": {stream}{more}}}}}"#
    );
    [host("cuda_runtime", "cudaLaunchKernel", at, 5, &launch), work]
}

/// A product `[m, 64] x [64, 128]` of bfloat16 or another type.
fn product(dtype: &str, m: u32, start: u32) -> String {
    let inputs =
        format!(r#""Input Dims": [[{m}, 64], [64, 128]], "Input type": ["{dtype}", "{dtype}"]"#);
    host("cpu_op", "aten::mm", start, 40, &inputs)
}

fn document(head: &str, events: &[String]) -> String {
    format!("{{{head}\"traceEvents\": [\n{}\n]}}\n", events.join(",\n"))
}

/// A rank of two: a product of 50 us, then an all-reduce that this rank enters at `arrives` and
/// that ends at 400.
fn rank(number: u32, arrives: u32) -> String {
    let mut events = vec![
        host("user_annotation", "ProfilerStep#3", 0, 450, ""),
        product("c10::BFloat16", 256, 100),
        host("cpu_op", "c10d::allreduce_", 150, 30, ""),
    ];
    events.extend(launched(1, "gemm", 110, 120, 50, ""));
    let facts = r#", "Collective name": "allreduce", "In msg nelems": 1024,
        "Out msg nelems": 1024, "Group size": 2, "dtype": "Float", "Process Group Name": "0",
        "Process Group Ranks": "[0, 1]""#;
    let kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
    events.extend(launched(2, kernel, 160, arrives, 400 - arrives, facts));
    let head =
        format!(r#""distributedInfo": {{"backend": "nccl", "rank": {number}, "world_size": 2}}, "#);
    document(&head, &events)
}

/// Writes `text` and answers the path.
fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn json(said: &Said) -> Value {
    assert_eq!(said.code, 0, "{}", said.stderr);
    serde_json::from_str(&said.stdout).unwrap()
}

#[test]
fn one_rank_is_shown_with_its_step_and_its_ops() {
    let folder = folder("one");
    let trace = written(&folder, "rank0.json", &rank(0, 300));
    let said = predict(&["inspect", &trace]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    for part in ["aten::mm", "all_reduce", "kernels linked to a launch 100 %"] {
        has(&said.stdout, part);
    }
    // The other rank is not here, so nobody knows how long it was waited for.
    has(&said.stderr, "1 of 1 collectives lack ranks");
    let found = json(&predict(&["inspect", &trace, "--format", "json"]));
    let step = &found["ranks"][0]["steps"][0];
    assert_eq!((&step["step"], &step["span_us"]), (&Value::from(3), &Value::from(450.0)));
    assert_eq!(step["compute_us"], 50.0);
    assert_eq!(step["communication_us"], 100.0);
    assert_eq!(step["transfer_us"], Value::Null);
    assert_eq!(found["coverage"]["described_collectives"], 1);
}

#[test]
fn two_ranks_meet_and_the_last_one_is_named() {
    let folder = folder("two");
    written(&folder, "rank0.json", &rank(0, 300));
    written(&folder, "rank1.json", &rank(1, 360));
    let both = folder.display().to_string();
    let found = json(&predict(&["inspect", &both, "--format", "json"]));
    let collective = &found["collectives"][0];
    assert_eq!(collective["collective"], "all_reduce");
    assert_eq!(collective["bytes_in"], 4096);
    // Rank 1 comes 60 us later: the transfer is its 40 us, and rank 0 waits for the others.
    assert_eq!(collective["transfer_us"], 40.0);
    assert_eq!(collective["waiting_us"], 60.0);
    assert_eq!(found["ranks"][0]["steps"][0]["waiting_us"], 60.0);
    assert_eq!(found["ranks"][1]["steps"][0]["waiting_us"], 0.0);
    assert_eq!(found["skew"]["comes_last"]["rank"], 1);
    assert_eq!(found["coverage"]["whole_collectives"], 1);
    let table = predict(&["inspect", &both]);
    has(&table.stdout, "rank 1 comes last to 1 of 1 collectives");
    let rows = predict(&["inspect", &both, "--format", "csv"]);
    let cells: Vec<Vec<&str>> = rows.stdout.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(cells.len(), 3);
    assert!(cells.iter().all(|row| row.len() == cells[0].len()), "{}", rows.stdout);
    let waiting = cells[0].iter().position(|name| *name == "waiting_us").unwrap();
    assert_eq!([cells[1][waiting], cells[2][waiting]], ["60", "0"]);
}

#[test]
fn a_trace_that_was_cut_is_read_on_request_alone() {
    let folder = folder("cut");
    let whole = rank(0, 300);
    let trace = written(&folder, "rank0.json", &whole[..whole.len() * 3 / 4]);
    for command in ["inspect", "ops", "overheads"] {
        let said = predict(&[command, &trace]);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{}", said.stderr);
        has(&said.stderr, "rank0.json");
        has(&said.stderr, "--allow-truncated");
    }
    let said = predict(&["inspect", &trace, "--allow-truncated"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    has(&said.stdout, "aten::mm");
    has(&said.stderr, "the trace ends in the middle");
}

#[test]
fn what_was_not_recorded_is_said_with_its_remedy() {
    let folder = folder("lacking");
    let bare = written(&folder, "host.json", &document("", &[product("float", 8, 0)]));
    let said = predict(&["inspect", &bare]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    has(&said.stderr, "no kernels in the trace");
    has(&said.stderr, "ProfilerActivity.CUDA");
    has(&said.stderr, "no steps are marked: the whole trace is taken as one");
    has(&said.stderr, "profiler.step()");

    let mut events = vec![product("float", 8, 100)];
    // It begins 2 us before the call that launches it.
    events.extend(launched(1, "gemm", 110, 108, 50, ""));
    let early = written(&folder, "early.json", &document("", &events));
    let said = predict(&["inspect", &early]);
    has(&said.stderr, "1 kernels begin before their launch (clock skew)");
    let found = json(&predict(&["inspect", &early, "--format", "json"]));
    assert_eq!(found["ranks"][0]["steps"][0]["compute_us"], 50.0);
}

#[test]
fn an_execution_trace_of_another_run_is_refused() {
    let folder = folder("other");
    let trace = written(&folder, "trace.json", &rank(0, 300));
    let node = |id: u32, name: &str, parent: u32| {
        format!(
            r#"{{"id": {id}, "name": "{name}", "rf_id": {id}, "ctrl_deps": {parent},
            "inputs": {{"values": [], "shapes": [["s0", 64], [64, 16]],
            "types": ["Tensor(float)", "Tensor(float)"]}},
            "outputs": {{"values": [], "shapes": [], "types": []}},
            "attrs": [{{"name": "rf_id", "type": "uint64", "value": {id}}},
            {{"name": "tid", "type": "uint64", "value": 1}},
            {{"name": "op_schema", "type": "string", "value": "{name}()"}}]}}"#
        )
    };
    let nodes = [
        node(1, "[pytorch|profiler|execution_trace|process]", 1),
        node(2, "[pytorch|profiler|execution_trace|thread]", 1),
        node(3, "aten::mm", 2),
        node(4, "aten::never", 2),
    ];
    let text = format!(r#"{{"schema": "1.1.1-chakra.0.0.4", "nodes": [{}]}}"#, nodes.join(","));
    let execution = written(&folder, "execution.json", &text);
    let said = predict(&["inspect", &trace, &execution]);
    assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{}", said.stderr);
    has(&said.stderr, "operators of the execution trace are in the profiler's trace");
    has(&said.stderr, "PyTorch 2.1");
    // Alone it gives ops; one has a size that was a symbol when it was traced.
    let said = predict(&["ops", &execution]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    has(&said.stdout, "needs a value for s0");
    has(&said.stdout, "no family covers it");
}

#[test]
fn ops_are_points_that_batch_answers() {
    let folder = folder("ops");
    let trace = written(&folder, "rank0.json", &rank(0, 300));
    let table = predict(&["ops", &trace]);
    assert_eq!(table.code, 0, "{}", table.stderr);
    has(&table.stdout, "covered      100.0 % of calls, 100.0 % of the time on the device");
    let found = json(&predict(&["ops", &trace, "--format", "json"]));
    assert_eq!((&found["calls"], &found["covered_calls"]), (&2.into(), &2.into()));
    assert_eq!(found["device_us"], 150.0);
    let product = &found["ops"][1];
    assert_eq!(product["name"], "aten::mm");
    assert_eq!(
        [&product["m"], &product["n"], &product["k"]],
        [256, 128, 64].map(Value::from).each_ref()
    );
    assert_eq!(product["device_us"], 50.0);

    let rows = predict(&["ops", &trace, "--format", "csv"]);
    let heading = rows.stdout.lines().next().unwrap();
    let row = rows.stdout.lines().find(|line| line.starts_with("gemm,")).unwrap();
    let answered =
        predict_reading(&["batch", "-", "--machine", "h200-sxm"], &format!("{heading}\n{row}\n"));
    assert_eq!(answered.code, 0, "{}\n{}", answered.stdout, answered.stderr);
    let time: f64 =
        answered.stdout.lines().nth(1).unwrap().rsplit(',').nth(7).unwrap().parse().unwrap();
    assert!(time > 0.5 && time < 50.0, "{}", answered.stdout);

    let beside = predict(&["ops", &trace, "--machine", "h200-sxm"]);
    has(&beside.stdout, "model        answers ");
    has(&beside.stdout, "against 50 µs recorded");
}

#[test]
fn overheads_are_listed_by_kind() {
    let folder = folder("overheads");
    let trace = written(&folder, "rank0.json", &rank(0, 300));
    let table = predict(&["overheads", &trace]);
    assert_eq!(table.code, 0, "{}", table.stderr);
    has(&table.stdout, "T4 cudaLaunchKernel");
    let found = json(&predict(&["overheads", &trace, "--event-cost", "0", "--format", "json"]));
    // 100 to 140 and 150 to 180; launches at 110 to 115 and 160 to 165.
    assert_eq!(found["t1"]["mean_us"], 10.0);
    assert_eq!(found["runtime_calls"][0]["t4"]["mean_us"], 5.0);
    let ops = found["ops"].as_array().unwrap();
    let product = ops.iter().find(|op| op["op"] == "aten::mm").unwrap();
    assert_eq!(
        (&product["t2"]["mean_us"], &product["t3"]["mean_us"]),
        (&10.0.into(), &25.0.into())
    );
    let rows = predict(&["overheads", &trace, "--format", "csv"]);
    assert!(rows.stdout.lines().nth(1).unwrap().starts_with("T1,"), "{}", rows.stdout);
    let said = predict(&["overheads", &trace, "--event-cost", "-1"]);
    assert_eq!(said.code, 2, "{}", said.stderr);
}

/// Products of six sizes in `dtype`, a rectifier, and an op of no family.
fn workload(dtype: &str) -> String {
    let mut events = Vec::new();
    for (place, m) in (0..).zip([32, 64, 128, 256, 512, 1024]) {
        let start = 1_000 * place;
        events.push(product(dtype, m, start));
        events.extend(launched(place + 1, "gemm", start + 10, start + 60, 100, ""));
    }
    for (number, name) in [(11, "aten::relu"), (12, "aten::sort")] {
        let start = 1_000 * number;
        let inputs = format!(r#""Input Dims": [[64, 64]], "Input type": ["{dtype}"]"#);
        events.push(host("cpu_op", name, start, 40, &inputs));
        events.extend(launched(number, "kernel", start + 10, start + 60, 100, ""));
    }
    document("", &events)
}

#[test]
fn a_plan_may_be_what_a_trace_contains() {
    let folder = folder("plan");
    written(&folder, "x.json", &workload("float"));
    written(&folder, "half.json", &workload("c10::Half"));
    let said = calibrate(&folder, "--device cpu --from-trace x.json --plan");
    assert_eq!(said.code, 0, "{}", said.stderr);
    has(&said.stderr, "left out: 1 call, 100 µs on the device: no family covers it");
    let suite = |name: &str| said.stdout.lines().find(|line| line.starts_with(name)).unwrap();
    let points = |name| suite(name).split_whitespace().nth(1).unwrap();
    assert_eq!([points("gemm"), points("memory"), points("total")], ["6", "1", "7"]);
    has(suite("gemm"), "of the workload: 75.0 % of calls, 75.0 % of time");
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 100), "{}", said.stdout);
    has(&said.stdout, "workload  87.5 % of its 8 calls, 87.5 % of its 800 µs on the device");
    let one =
        calibrate(&folder, "--device cpu --ops gemm --plan --format json --from-trace x.json");
    let found = json(&one);
    assert_eq!(found["workload"]["planned_calls"], 6);
    assert_eq!(found["workload"]["planned_device_us"], 600.0);

    let nothing = calibrate(&folder, "--device cpu --from-trace half.json --plan");
    assert_eq!((nothing.code, nothing.stdout.as_str()), (2, ""), "{}", nothing.stderr);
    has(&nothing.stderr, "error: nothing of the workload can be measured on ");
    has(&nothing.stderr, "f16 on the processor");
    has(&nothing.stderr, "hint: `predict ops`");
    let other = calibrate(&folder, "--device cpu --ops copy --from-trace x.json --plan");
    assert_eq!(other.code, 2, "{}", other.stderr);
    has(&other.stderr, "nothing of the workload is of family copy");
    has(&other.stderr, "gemm, memory");
    let lost = calibrate(&folder, "--device cpu --from-trace lost.json --plan");
    assert_eq!(lost.code, 2, "{}", lost.stderr);
    has(&lost.stderr, "lost.json");
    let alone = calibrate(&folder, "--device cpu --allow-truncated --plan");
    assert_eq!(alone.code, 2, "{}", alone.stderr);
}

#[test]
fn the_processor_measures_a_workload_and_answers_for_it() {
    let folder = folder("run");
    written(&folder, "x.json", &workload("float"));
    let line = "--device cpu --threads 1 --samples 5 --out out --from-trace x.json";
    let said = calibrate(&folder, line);
    assert!(said.code == 0, "{}\n{}", said.code, said.stderr);
    has(&said.stdout, "7 points: 7 measured");
    has(&said.stderr, "of the workload, measured 87.5 % of its 8 calls");
    // One rectifier is no variant; that is said, and the products have their model.
    has(&said.stderr, "too little data for a model");
    let model = folder.join("out/model.json").display().to_string();
    let words = "gemm -m 256 -n 128 -k 64 --dtype f32 --machine";
    let words: Vec<&str> = words.split(' ').chain([model.as_str()]).collect();
    let answer = predict(&words);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    // The same command finds everything done.
    let again = calibrate(&folder, line);
    has(&again.stderr, "7 of 7 points are done");
    has(&again.stderr, "of the workload, measured 87.5 %");
}

#[test]
fn a_workload_too_small_for_any_model_is_measured_all_the_same() {
    let folder = folder("small");
    let mut events = vec![product("float", 256, 0)];
    events.extend(launched(1, "gemm", 10, 60, 100, ""));
    written(&folder, "x.json", &document("", &events));
    let said = calibrate(&folder, "--device simulated --out out --from-trace x.json");
    assert_eq!(said.code, 1, "{}", said.stderr);
    has(&said.stderr, "warning: no model: insufficient data");
    has(&said.stderr, "of the workload, measured 100.0 % of its 1 calls");
    assert!(folder.join("out/report.md").exists());
    assert!(!folder.join("out/model.json").exists());
}
