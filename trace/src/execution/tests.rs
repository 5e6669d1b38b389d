use super::{ExecutionTrace, NodeKind, read};
use crate::error::TraceError;
use crate::options::ReadOptions;
use crate::recording::NONE;

fn nested(id: u64, name: &str, parent: &str, values: &str, attributes: &str) -> String {
    format!(
        r#"{{"id": {id}, "name": "{name}", "ctrl_deps": {parent},
        "inputs": {{"values": {values}, "shapes": [], "types": []}},
        "outputs": {{"values": [], "shapes": [], "types": []}},
        "attrs": [{{"name": "tid", "type": "uint64", "value": 1}}{attributes}]}}"#
    )
}

const PROCESS: &str = "[pytorch|profiler|execution_trace|process]";
const THREAD: &str = "[pytorch|profiler|execution_trace|thread]";
const MATRIX_PRODUCT: &str =
    r#", {"name": "op_schema", "type": "string", "value": "aten::mm(Tensor self) -> Tensor"}"#;

fn trace(schema: &str, nodes: &[String]) -> Result<ExecutionTrace, TraceError> {
    let text = format!(r#"{{"schema": "{schema}", "nodes": [{}]}}"#, nodes.join(",\n"));
    read("t.json", text.as_bytes(), &ReadOptions::default())
}

fn process() -> String {
    nested(1, PROCESS, "1", "[]", "")
}

fn names(trace: &ExecutionTrace) -> Vec<&str> {
    trace.nodes.iter().map(|node| trace.names.text(node.name)).collect()
}

#[test]
fn nested_nodes_are_sorted_and_hung() {
    let trace = trace(
        "1.1.1-chakra.0.0.4",
        &[
            nested(2, THREAD, "1", "[]", ""),
            nested(7, "aten::mm", "5", r#"[[1,2,0,4,4,"cuda:0"]]"#, MATRIX_PRODUCT),
            nested(5, "aten::matmul", "2", "[]", MATRIX_PRODUCT),
            process(),
        ],
    )
    .unwrap();
    assert_eq!(names(&trace), [PROCESS, THREAD, "aten::matmul", "aten::mm"]);
    let parents: Vec<usize> = trace.nodes.iter().map(|node| node.parent).collect();
    assert_eq!(parents, [0, 0, 1, 2]);
    let kinds: Vec<NodeKind> = trace.nodes.iter().map(|node| node.kind).collect();
    use NodeKind::{Operator, Process, Thread};
    assert_eq!(kinds, [Process, Thread, Operator, Operator]);
    assert_eq!(trace.names.text(trace.nodes[3].inputs.values), r#"[[1,2,0,4,4,"cuda:0"]]"#);
    assert_eq!(trace.node_oddities, super::NodeOddities::default());
}

#[test]
fn flat_nodes_keep_their_fields() {
    let flat = r#"{"name": "aten::mm", "id": 4, "rf_id": 9, "parent": 1, "fw_parent": 3,
        "seq_id": 12, "scope": 0, "tid": 2, "fw_tid": 1, "op_schema": "aten::mm()",
        "inputs": [1], "input_shapes": [[0, 64], ["s0", 64]], "input_types": ["Int"],
        "outputs": [], "output_shapes": [], "output_types": []}"#;
    let trace = trace("1.0.1", &[flat.to_owned(), process()]).unwrap();
    let node = &trace.nodes[1];
    assert_eq!(node.record_function, Some(9));
    assert_eq!(node.forward_parent, Some(3));
    assert_eq!((node.sequence, node.thread, node.forward_thread), (Some(12), 2, Some(1)));
    assert_eq!(trace.names.text(node.inputs.shapes), r#"[[0, 64], ["s0", 64]]"#);
    assert_eq!(trace.node_oddities.other_form, 1);
}

#[test]
fn orphans_hang_on_the_process_and_are_listed() {
    let trace = trace(
        "1.1.0-chakra.0.0.4",
        &[
            process(),
            nested(5, "a", "777", "[]", ""),
            nested(8, "b", "8", "[]", ""),
            nested(8, "again", "1", "[]", ""),
            r#"{"id": 9, "ctrl_deps": 1}"#.to_owned(),
        ],
    )
    .unwrap();
    let oddities = &trace.node_oddities;
    assert_eq!((oddities.orphans, &oddities.first_orphans[..]), (2, &[5, 8][..]));
    assert_eq!((oddities.repeated, oddities.unnamed), (1, 1));
    assert!(trace.nodes.iter().all(|node| node.parent == 0));
}

#[test]
fn without_a_process_one_is_made_up() {
    let nodes = [nested(0, "a", "3", "[]", ""), nested(2, "b", "0", "[]", "")];
    let trace = trace("1.0.4", &nodes).unwrap();
    assert_eq!(names(&trace), ["", "a", "b"]);
    assert_eq!((trace.nodes[0].id, trace.nodes[0].kind), (1, NodeKind::Process));
    assert_eq!(trace.nodes[2].parent, 1);
    assert!(trace.node_oddities.without_process);
}

#[test]
fn a_cycle_of_parents_is_an_error_that_names_it() {
    let nodes = [
        process(),
        nested(2, "inside", "4", "[]", ""),
        nested(3, "a", "4", "[]", ""),
        nested(4, "b", "5", "[]", ""),
        nested(5, "c", "3", "[]", ""),
    ];
    let error = trace("1.1.0", &nodes).unwrap_err().to_string();
    assert_eq!(error, "t.json: node 4: its parents lead back to it: 4 (b), 5 (c), 3 (a)");
}

#[test]
fn a_long_chain_does_not_exhaust_the_stack() {
    let link = |id: u64| format!(r#"{{"id":{id},"name":"x","parent":{}}}"#, id - 1);
    let nodes: Vec<String> = std::iter::once(process()).chain((2..200_000).map(link)).collect();
    assert_eq!(trace("1.0.1", &nodes).unwrap().nodes.len(), 199_999);
}

#[test]
fn several_parents_are_an_error() {
    let error = trace("1.1.0", &[nested(4, "x", "[3, 2]", "[]", "")]).unwrap_err().to_string();
    assert!(error.ends_with("node 4: ctrl_deps is no single number: [3, 2]"), "{error}");
}

#[test]
fn groups_and_collectives_by_position_and_by_name() {
    let groups = r#"["[{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"ranks\": [],
        \"group_size\": 2}]"]"#
        .replace('\n', "");
    let values = r#"[[[4,5,0,53,8,"cuda:1"]], [34, false], ["0", "default_pg"], 1, "allreduce",
        [], [], 0, 1, 2]"#;
    let named = r#", {"name": "collective_name", "type": "string", "value": "broadcast"},
        {"name": "dtype", "type": "string", "value": "Long"},
        {"name": "in_msg_nelems", "type": "uint64", "value": 54},
        {"name": "in_split_size", "type": "string", "value": "[27, 27]"},
        {"name": "pg_name", "type": "string", "value": "7"},
        {"name": "pg_size", "type": "uint64", "value": 2}"#;
    let trace = trace(
        "1.1.0",
        &[
            process(),
            nested(2, "## process_group:init ##", "1", &groups, ""),
            nested(3, "record_param_comms", "1", values, ""),
            nested(4, "record_param_comms", "1", values, named),
        ],
    )
    .unwrap();
    assert_eq!(trace.groups[0].name, "0");
    assert_eq!((trace.groups[0].size, trace.groups[0].ranks.len()), (Some(2), 0));
    assert_eq!(trace.rank.map(|stated| stated.rank), Some(1));
    let facts = |place: usize| {
        trace.nodes[place].collective.and_then(|row| trace.collectives.get(row)).unwrap()
    };
    let text = |symbol| trace.names.text(symbol);
    let by_position = facts(2);
    assert_eq!(text(by_position.name), "allreduce");
    assert_eq!((by_position.elements_in, by_position.elements_out), (53, NONE));
    assert_eq!((by_position.group_size, by_position.sequence), (2, 34));
    assert_eq!(text(by_position.group), "0");
    assert_eq!(text(by_position.ranks), "[0, 1]");
    assert_eq!((by_position.source, by_position.destination), (NONE, NONE));
    let by_name = facts(3);
    assert_eq!((text(by_name.name), text(by_name.dtype)), ("broadcast", "Long"));
    assert_eq!((by_name.elements_in, text(by_name.split_in)), (54, "[27, 27]"));
    assert_eq!(text(by_name.group), "7");
}

#[test]
fn before_1_0_3_a_number_leads_to_the_group() {
    let groups = r#"["[{\"pg_name\": \"0\", \"backend_id\": 82149104, \"group_size\": 2}]"]"#;
    let gather = r#"[[[14, 15, 0, 1, 4, "cuda:0"]], 12, 82149104, 0, "all_gather", [], [], 2]"#;
    let trace = trace(
        "1.0.2",
        &[
            process(),
            nested(2, "## process_group:init ##", "1", groups, ""),
            nested(3, "record_param_comms", "1", gather, ""),
            nested(4, "record_param_comms", "1", r#"[12, 0, 0, "wait", [], [], 1]"#, ""),
        ],
    )
    .unwrap();
    let facts = |place: usize| {
        trace.nodes[place].collective.and_then(|row| trace.collectives.get(row)).unwrap()
    };
    assert_eq!(trace.names.text(facts(2).group), "0");
    assert_eq!((facts(2).group_size, facts(2).elements_in, facts(2).sequence), (2, 1, 12));
    assert_eq!(trace.names.text(facts(3).name), "wait");
    assert_eq!((facts(3).elements_in, facts(3).group_size), (NONE, 1));
}

#[test]
fn lists_as_long_as_the_recorder_writes_are_counted() {
    let numbers = |count: usize| vec!["1"; count].join(",");
    let node = |id, count| nested(id, "x", "1", &format!("[[{}]]", numbers(count)), "");
    let trace = trace("1.1.0", &[process(), node(2, 4096), node(3, 5000)]);
    assert_eq!(trace.unwrap().node_oddities.cut_lists, 1);
}

#[test]
fn what_is_no_execution_trace_is_refused() {
    let refused = |text: &str| {
        read("t.json", text.as_bytes(), &ReadOptions::default()).unwrap_err().to_string()
    };
    assert_eq!(refused(r#"{"nodes": [{"id": 1, "name": "a"}]}"#), "t.json: it states no schema");
    assert_eq!(refused(r#"{"schema": "1.0.1"}"#), "t.json: it has no nodes");
    let error = refused(r#"{"schema": "1.0.1", "nodes": [{"id": 1, "name": "a"}, 5]}"#);
    let begin = "t.json: element 1 of nodes (byte 54, line 1): this is no node";
    assert!(error.starts_with(begin), "{error}");
}

/// A trace with everything the reader looks into.
fn whole() -> String {
    let groups = r#"["[{\"pg_name\": \"0\", \"backend_id\": 7, \"group_size\": 2}]"]"#;
    let gather = r#"[[[14, 15, 0, 1, 4, "cuda:0"]], [12, false], 7, 0, "all_gather", [], [], 2]"#;
    let flat = r#"{"id": 6, "name": "x", "parent": 3, "inputs": [NaN], "input_shapes": [["s0"]]}"#;
    let nodes = [
        process(),
        nested(2, "## process_group:init ##", "1", groups, ""),
        nested(3, "record_param_comms", "1", gather, MATRIX_PRODUCT),
        flat.to_owned(),
    ];
    format!(r#"{{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [{}]}}"#, nodes.join(",\n"))
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(512))]

    /// Whatever bytes are changed, left out or put in, the reader answers, and what it accepts
    /// is a tree.
    #[test]
    fn a_mangled_trace_gives_a_tree_or_an_error(
        changes in proptest::collection::vec((0_usize..1500, 0_u8..4, proptest::num::u8::ANY), 1..8),
        lenient in proptest::bool::ANY,
    ) {
        let mut bytes = whole().into_bytes();
        for (at, change, byte) in changes {
            let at = at.min(bytes.len().saturating_sub(1));
            match change {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, b"[]{}\",:0"[usize::from(byte) % 8]),
                2 => drop(bytes.remove(at)),
                _ => bytes.truncate(bytes.len() - usize::from(byte) % 16),
            }
        }
        let options = ReadOptions {
            allow_truncated: lenient,
            allow_unknown_schema: lenient,
            ..ReadOptions::default()
        };
        if let Ok(trace) = read("t.json", &bytes[..], &options) {
            for start in 0..trace.nodes.len() {
                let mut at = start;
                for _ in 0..trace.nodes.len() {
                    at = trace.nodes[at].parent;
                }
                proptest::prop_assert_eq!(at, 0);
            }
        }
    }
}

#[test]
fn the_trace_that_is_mangled_is_good_itself() {
    let trace = read("t.json", whole().as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!((trace.nodes.len(), trace.collectives.rows().len()), (4, 1));
    assert_eq!((trace.oddities.no_numbers, trace.node_oddities.other_form), (1, 1));
}
