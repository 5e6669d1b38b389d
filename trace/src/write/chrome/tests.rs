use serde_json::Value;

use super::{Written, rank};
use crate::graph::Graph;
use crate::write::sample;

fn written(graph: &Graph) -> (Value, Written) {
    let mut out = Vec::new();
    let written = rank(graph, 0, &mut out).unwrap();
    (serde_json::from_slice(&out).unwrap(), written)
}

fn event<'a>(document: &'a Value, category: &str) -> &'a Value {
    let events = document["traceEvents"].as_array().unwrap();
    events.iter().find(|event| event["cat"] == category).unwrap()
}

#[test]
fn the_head_says_rank_devices_and_groups() {
    let (document, _) = written(&sample::graph());
    assert_eq!(document["distributedInfo"]["rank"], 3);
    assert_eq!(document["distributedInfo"]["world_size"], 4);
    assert_eq!(document["distributedInfo"]["pg_config"][0]["ranks"][3], 3);
    assert_eq!(document["deviceProperties"][0]["name"], "A \"GPU\"");
    assert_eq!(document["deviceProperties"][0]["numSms"], 132);
    assert_eq!(document["deviceProperties"][0].get("totalGlobalMem"), None);
    assert_eq!(document["baseTimeNanoseconds"], 1_000_000_000);
}

#[test]
fn work_carries_the_number_of_its_launch() {
    let (document, counts) = written(&sample::graph());
    let launch = event(&document, "cuda_runtime");
    let kernel = event(&document, "kernel");
    assert_eq!(launch["name"], "cudaLaunchKernel");
    assert_eq!(kernel["args"]["correlation"], launch["args"]["correlation"]);
    assert_eq!((&kernel["pid"], &kernel["tid"]), (&Value::from(0), &Value::from(7)));
    assert_eq!((&kernel["ts"], &kernel["dur"]), (&Value::from(12.001), &Value::from(7.999)));
    assert_eq!(kernel["name"], "gemm<\"a\">");
    let arrow = event(&document, "ac2g");
    assert_eq!((&arrow["ph"], &arrow["id"]), (&Value::from("s"), &launch["args"]["correlation"]));
    assert_eq!(counts, Written { events: 4, arrows: 2, untimed: 0 });
}

#[test]
fn ops_keep_shapes_and_drop_what_is_no_json() {
    let (document, _) = written(&sample::graph());
    let op = event(&document, "cpu_op");
    assert_eq!(op["args"]["Input Dims"], serde_json::json!([[2, 3], [3, 4]]));
    assert_eq!(op["args"].get("Concrete Inputs"), None);
    assert_eq!((&op["pid"], &op["tid"]), (&Value::from(4711), &Value::from(12)));
    assert_eq!(op["args"]["Sequence number"], 9);
}

#[test]
fn collectives_are_named_as_readers_expect() {
    let (document, _) = written(&sample::graph());
    let events = document["traceEvents"].as_array().unwrap();
    let collective =
        events.iter().find(|event| event["args"]["Collective name"].is_string()).unwrap();
    assert_eq!(collective["name"], "ncclDevKernel_all_reduce");
    assert_eq!(collective["args"]["Collective name"], "allreduce");
    assert_eq!(collective["args"]["In msg nelems"], 16);
    assert_eq!(collective["args"]["Group size"], 4);
    assert_eq!(collective["args"]["Process Group Ranks"], "[0, 1, 2, 3]");
    assert_eq!(collective["args"]["Seq"], 5);
}

#[test]
fn every_event_that_counts_has_category_and_duration() {
    let (document, _) = written(&sample::graph());
    for event in document["traceEvents"].as_array().unwrap() {
        if event["ph"] == "X" {
            assert!(event["cat"].is_string() && event["dur"].is_number(), "{event}");
        }
    }
}

#[test]
fn what_has_no_time_is_left_out_and_counted() {
    let mut graph = sample::graph();
    graph.tasks[2].timing = None;
    graph.calls[0].timing = None;
    let (_, counts) = written(&graph);
    assert_eq!(counts, Written { events: 2, arrows: 1, untimed: 2 });
}

#[test]
fn threads_without_calls_show_their_pieces() {
    let mut graph = sample::graph();
    graph.processors[0].calls = 0..0;
    let (document, counts) = written(&graph);
    assert_eq!(counts.events, 4);
    assert_eq!(event(&document, "cuda_runtime")["args"]["correlation"], 2);
}
