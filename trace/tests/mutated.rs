//! Traces with bytes changed, left out or repeated: readers answer or refuse, and never panic.

use std::time::Duration;

use kernelgauge_trace::{ReadOptions, execution, kineto};
use proptest::prelude::*;

/// A trace with something of everything that the reader looks at.
const KINETO: &str = r#"{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "G", "computeMajor": 9}],
"distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]},
"baseTimeNanoseconds": 1711964646000000000, "traceEvents": [
{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "python"}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm\u00e9", "pid": 1, "tid": -1, "ts": 1010.125, "dur": 40, "args":
{"External id": 7, "Record function id": 7, "Sequence number": 3, "Fwd thread id": 0, "Input Dims": [[2, 3], []], "Input type": ["float", ""]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": "1", "ts": 1.015e3, "dur": 6.0, "args": {"correlation": 71}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel\\x", "pid": 0, "tid": 7, "ts": 1030.0, "dur": 22.5, "args":
{"correlation": 71, "device": 0, "stream": 7, "grid": [1, 2, 3], "Collective name": "allreduce", "In msg nelems": 4, "Process Group Ranks": "[0, 1]"}},
{"ph": "s", "id": 3, "pid": 1, "tid": 1, "ts": 1015, "cat": "fwdbwd", "name": "fwdbwd"},
{"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 7, "ts": 1060, "dur": NaN, "args": {"stream": 7}}
], "traceName": "a.json"}"#;

/// An execution trace with a process, a thread, an op and a collective.
const EXECUTION: &str = r#"{"schema": "1.1.0-chakra.0.0.4", "pid": 1, "time": "2024", "start_ts": 1, "nodes": [
{"id": 2, "name": "[pytorch|profiler|execution_trace|thread]", "ctrl_deps": 1, "inputs": {"values": [], "shapes": [], "types": []}, "outputs": {"values": [], "shapes": [], "types": []}, "attrs": []},
{"id": 3, "name": "aten::mm", "ctrl_deps": 2, "inputs": {"values": [[5, 6, 0, 6, 4, "cuda:0"]], "shapes": [[2, 3]], "types": ["Tensor(float)"]}, "outputs": {"values": [], "shapes": [], "types": []},
"attrs": [{"name": "rf_id", "type": "uint64", "value": 3}, {"name": "op_schema", "type": "string", "value": "aten::mm(Tensor a)"}]},
{"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 1, "inputs": {"values": [], "shapes": [], "types": []}, "outputs": {"values": [], "shapes": [], "types": []}, "attrs": []}
], "finish_ts": 2}"#;

/// One change to a text.
#[derive(Debug, Clone)]
enum Change {
    Set(usize, u8),
    LeaveOut(usize, usize),
    Repeat(usize, usize),
    End(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let place = 0usize..4096;
    // What means something to a reader is put in more often than other bytes.
    let byte = prop_oneof![
        any::<u8>(),
        prop::sample::select(b"{}[],:\"\\0123456789-+.eEntu\n\0".to_vec())
    ];
    prop_oneof![
        6 => (place.clone(), byte).prop_map(|(at, byte)| Change::Set(at, byte)),
        2 => (place.clone(), 1usize..64).prop_map(|(at, length)| Change::LeaveOut(at, length)),
        2 => (place.clone(), 1usize..64).prop_map(|(at, length)| Change::Repeat(at, length)),
        1 => place.prop_map(Change::End),
    ]
}

fn changed(text: &str, changes: &[Change]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for change in changes {
        let length = bytes.len();
        if length == 0 {
            break;
        }
        match *change {
            Change::Set(at, byte) => bytes[at % length] = byte,
            Change::LeaveOut(at, count) => {
                let at = at % length;
                bytes.drain(at..length.min(at + count));
            }
            Change::Repeat(at, count) => {
                let at = at % length;
                let piece = bytes[at..length.min(at + count)].to_vec();
                bytes.splice(at..at, piece);
            }
            Change::End(at) => bytes.truncate(at % length),
        }
    }
    bytes
}

/// All that options allow.
fn lenient() -> ReadOptions {
    ReadOptions { allow_truncated: true, allow_unknown_schema: true, keep_python: true }
}

#[test]
fn unchanged_both_are_read() {
    let recording = kineto::read("t", KINETO.replace("NaN", "1").as_bytes(), &lenient()).unwrap();
    assert_eq!((recording.events.len(), recording.flows.len()), (4, 1));
    let trace = execution::read("t", EXECUTION.as_bytes(), &lenient()).unwrap();
    assert_eq!(trace.nodes.len(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn changed_traces_never_panic(changes in prop::collection::vec(change(), 1..6)) {
        let begin = std::time::Instant::now();
        let bytes = changed(KINETO, &changes);
        if let Ok(recording) = kineto::read("t", bytes.as_slice(), &lenient()) {
            // Whatever was changed, an event takes no longer than 1e6 seconds.
            let longest = recording.events.iter().map(|event| event.duration.get()).max();
            prop_assert!(longest <= Some(1_000_000_000_000_000));
            prop_assert_eq!(recording.oddities.read as usize, recording.events.len());
        }
        let _ = kineto::read("t", bytes.as_slice(), &ReadOptions::default());
        let bytes = changed(EXECUTION, &changes);
        if let Ok(trace) = execution::read("t", bytes.as_slice(), &lenient()) {
            prop_assert!(trace.nodes.iter().all(|node| node.parent < trace.nodes.len()));
        }
        prop_assert!(begin.elapsed() < Duration::from_secs(10));
    }
}
