//! `predict convert` as a person runs it: files that others read, and inputs left alone.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::command::{Said, predict};

/// A recording of one op that launches a kernel and an all-reduce, then waits for the device.
const RECORDING: &str = r#"{"schemaVersion": 1,
"distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2},
"deviceProperties": [{"id": 0, "name": "Made-up GPU", "numSms": 8}],
"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#5", "pid": 10, "tid": 11,
 "ts": 1000, "dur": 200, "args": {"External id": 1}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 10, "tid": 11, "ts": 1010, "dur": 40,
 "args": {"External id": 2, "Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": 11, "ts": 1020,
 "dur": 8, "args": {"correlation": 70}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "pid": 10, "tid": 11,
 "ts": 1060, "dur": 6, "args": {"correlation": 71}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 10, "tid": 11,
 "ts": 1080, "dur": 70, "args": {"correlation": 72}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1030.25, "dur": 30.5,
 "args": {"device": 0, "stream": 7, "correlation": 70}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "pid": 0,
 "tid": 20, "ts": 1070, "dur": 75, "args": {"device": 0, "stream": 20, "correlation": 71,
 "Collective name": "allreduce", "In msg nelems": 256, "Out msg nelems": 256, "Group size": 2,
 "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}}
]}"#;

/// A folder of this test alone, with the recording in it.
fn recorded(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("convert").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("in")).unwrap();
    fs::write(folder.join("in/recording.json"), RECORDING).unwrap();
    folder
}

fn convert(folder: &Path, to: &str, out: &str) -> Said {
    let [input, out] = [folder.join("in"), folder.join(out)].map(|path| path.display().to_string());
    predict(&["convert", &input, "--to", to, "--out", &out])
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_chrome_trace_holds_every_event_and_its_links() {
    let folder = recorded("chrome");
    let said = convert(&folder, "chrome", "out");
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let path = folder.join("out/rank1.json.gz");
    assert_eq!(said.stdout, format!("wrote {}   7 events\n", path.display()));
    assert_eq!(files(&folder.join("out")), ["rank1.json.gz"]);

    let mut text = String::new();
    let file = fs::File::open(&path).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["distributedInfo"]["rank"], 1);
    assert_eq!(document["distributedInfo"]["world_size"], 2);
    let events = document["traceEvents"].as_array().unwrap();
    let named = |name: &str| events.iter().find(|event| event["name"] == name).unwrap();
    let (launch, kernel) = (named("cudaLaunchKernel"), named("gemm"));
    assert_eq!(launch["args"]["correlation"], kernel["args"]["correlation"]);
    assert_eq!((kernel["ts"].as_f64(), kernel["dur"].as_f64()), (Some(30.25), Some(30.5)));
    assert_eq!(named("aten::mm")["args"]["Input Dims"], serde_json::json!([[2, 3], [3, 4]]));
}

#[test]
fn a_table_has_a_row_for_every_task() {
    let folder = recorded("csv");
    let said = convert(&folder, "csv", "out");
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let text = fs::read_to_string(folder.join("out/tasks.csv")).unwrap();
    let rows = text.lines().count() - 1;
    let wrote = format!("wrote {}   {rows} tasks\n", folder.join("out/tasks.csv").display());
    assert_eq!(said.stdout, wrote);
    let kernel = text.lines().find(|row| row.contains(",gemm,")).unwrap();
    assert!(kernel.contains(",1,5,device 0 stream 7,kernel,gemm,30.250,30.500,measured,aten::mm,"));
    assert!(kernel.ends_with(":launch"), "{kernel}");
}

#[test]
fn a_chakra_trace_comes_with_its_groups() {
    let folder = recorded("chakra");
    let said = convert(&folder, "chakra", "out");
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    assert_eq!(files(&folder.join("out")), ["chakra.1.et", "comm_group.json"]);
    assert!(said.stdout.contains("nodes, 1 communicate\n"), "{}", said.stdout);
    assert_eq!(fs::read_to_string(folder.join("out/comm_group.json")).unwrap(), "{}\n");
}

#[test]
fn inputs_are_never_overwritten() {
    let folder = recorded("overwrite");
    assert_eq!(convert(&folder, "chrome", "in").code, 0);
    // Now a file of that name lies in the folder that is read.
    let written = fs::read(folder.join("in/rank1.json.gz")).unwrap();
    let only = folder.join("in/rank1.json.gz").display().to_string();
    let out = folder.join("in").display().to_string();
    let said = predict(&["convert", &only, "--to", "chrome", "--out", &out]);
    assert_eq!(said.code, 2);
    assert_eq!(
        said.stderr,
        format!(
            "error: {only} is one of the files to convert\nhint: name another folder with --out\n"
        )
    );
    assert_eq!(fs::read(folder.join("in/rank1.json.gz")).unwrap(), written);
    assert_eq!(files(&folder.join("in")), ["rank1.json.gz", "recording.json"]);
}

#[test]
fn mistakes_leave_nothing_behind() {
    let folder = recorded("mistakes");
    fs::write(folder.join("in/recording.json"), "{\"traceEvents\": [").unwrap();
    let said = convert(&folder, "csv", "out");
    assert_eq!((said.code, said.stdout.as_str()), (2, ""));
    assert!(said.stderr.contains("recording.json"), "{}", said.stderr);
    assert!(!folder.join("out").exists());

    let folder = recorded("no folder");
    fs::write(folder.join("file"), "").unwrap();
    let said = convert(&folder, "csv", "file");
    assert_eq!((said.code, said.stdout.as_str()), (3, ""));
    assert!(said.stderr.starts_with("error: cannot write "), "{}", said.stderr);
    assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), "");

    let said = predict(&["convert", "x.json", "--to", "pdf", "--out", "y"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("pdf"), "{}", said.stderr);
}
