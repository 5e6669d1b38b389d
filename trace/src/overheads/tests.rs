//! The five overheads of a timeline worked out by hand.

use kernelgauge_data::Nanos;

use super::{Distribution, Overheads, overheads};
use crate::graph::Graph;
use crate::options::ReadOptions;

/// In microseconds: `aten::mm` 0 to 100 with an op in it and launches at 20 to 28 and 50 to 56;
/// after 10, `aten::relu` 110 to 150 with a launch at 115 to 122; after 5, `aten::view` 155 to
/// 165, which launches nothing; after 300, too long for an overhead, `aten::view` again, 465 to
/// 477. Another thread has one op without neighbours.
const TIMELINE: &str = r#"[
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 0, "dur": 100},
{"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 7, "tid": 7, "ts": 5, "dur": 4},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 20, "dur": 8, "args": {"correlation": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaEventQuery", "pid": 7, "tid": 7, "ts": 35, "dur": 3, "args": {"correlation": 9}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 50, "dur": 6, "args": {"correlation": 2}},
{"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 7, "tid": 7, "ts": 110, "dur": 40},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaMemsetAsync", "pid": 7, "tid": 7, "ts": 115, "dur": 7, "args": {"correlation": 3}},
{"ph": "X", "cat": "cpu_op", "name": "aten::view", "pid": 7, "tid": 7, "ts": 155, "dur": 10},
{"ph": "X", "cat": "cpu_op", "name": "aten::view", "pid": 7, "tid": 7, "ts": 465, "dur": 12},
{"ph": "X", "cat": "cpu_op", "name": "aten::view", "pid": 7, "tid": 8, "ts": 200, "dur": 14},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 3, "ts": 40, "dur": 30, "args": {"correlation": 1, "device": 0, "stream": 3}},
{"ph": "X", "cat": "kernel", "name": "splitK", "pid": 0, "tid": 3, "ts": 71, "dur": 5, "args": {"correlation": 2, "device": 0, "stream": 3}},
{"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 3, "ts": 130, "dur": 1, "args": {"correlation": 3, "device": 0, "stream": 3, "bytes": 64}}
]"#;

fn graph() -> Graph {
    let text = format!(r#"{{"traceEvents": {TIMELINE}}}"#);
    let recording = crate::kineto::read("t.json", text.as_bytes(), &ReadOptions::default());
    crate::build::graph(vec![recording.unwrap()], Vec::new())
}

/// How many there are, and their mean in microseconds.
fn shown(times: &Distribution) -> (u64, f64) {
    (times.count, times.mean.us())
}

fn of<'a>(found: &'a Overheads, name: &str) -> &'a super::OpOverheads {
    found.ops.iter().find(|op| op.name == name).unwrap()
}

#[test]
fn each_overhead_is_what_was_worked_out_by_hand() {
    let found = overheads(&graph(), Nanos::new(0), false);
    // T1: 10 and 5; 300 is too long.
    assert_eq!(shown(&found.between_ops), (2, 7.5));
    let product = of(&found, "aten::mm");
    assert_eq!((product.calls, product.launches), (1, 2));
    // T2: to the first launch; T5: between the two; T3: from the end of the last.
    assert_eq!(shown(&product.before), (1, 20.0));
    assert_eq!(shown(&product.between), (1, 22.0));
    assert_eq!(shown(&product.after), (1, 44.0));
    let relu = of(&found, "aten::relu");
    assert_eq!((shown(&relu.before), shown(&relu.after)), ((1, 5.0), (1, 28.0)));
    assert_eq!(relu.between.count, 0);
    // All of an op that launches nothing is T5.
    let view = of(&found, "aten::view");
    assert_eq!((view.calls, view.launches), (3, 0));
    assert_eq!(shown(&view.between), (3, 12.0));
    // Nested ops are part of the op around them.
    assert!(found.ops.iter().all(|op| op.name != "aten::empty"));
    // T4: what launched; the query did not.
    let calls: Vec<(&str, (u64, f64))> =
        found.calls.iter().map(|(name, times)| (name.as_str(), shown(times))).collect();
    assert_eq!(calls, [("cudaLaunchKernel", (2, 7.0)), ("cudaMemsetAsync", (1, 7.0))]);
}

#[test]
fn the_profilers_own_cost_is_taken_off_for_every_event() {
    let found = overheads(&graph(), Nanos::new(2_000), false);
    assert_eq!(shown(&found.between_ops), (2, 5.5));
    let product = of(&found, "aten::mm");
    // One event lies before the first launch (the nested op), one between both, none after.
    assert_eq!(shown(&product.before), (1, 18.0));
    assert_eq!(shown(&product.between), (1, 20.0));
    assert_eq!(shown(&product.after), (1, 44.0));
    assert_eq!(shown(&of(&found, "aten::view").between), (3, 12.0));
    assert_eq!(found.calls[0].1.mean.us(), 5.0);
    // A gap that is shorter than an event costs says nothing.
    let found = overheads(&graph(), Nanos::new(6_000), false);
    assert_eq!(shown(&found.between_ops), (1, 4.0));
}
