//! Chakra traces in JSON, made up, in every form.

use super::*;

fn read_text(text: &str) -> ChakraTrace {
    read_json("a.json", text.as_bytes()).unwrap()
}

#[test]
fn the_workload_graph_is_read() {
    let trace = read_text(
        r#"{"workload_graph":[
            {"Id":216,"Name":"aten::mm(0)","NodeType":4,"ctrlDeps":[3],"data_deps":[],"runtime":318,"is_cpu_op":true},
            {"Id":435,"Name":"ncclKernel","NodeType":7,"ctrlDeps":[434],"data_deps":[432,216],"is_cpu_op":false,
             "comm_type":5,"comm_size":212480,"involved_dim":[true,false],"other":null}],
            "workload_name":"step","ngpus":8}"#,
    );
    assert_eq!(trace.nodes.len(), 2);
    let [first, second] = &trace.nodes[..] else { panic!() };
    assert_eq!((first.id, first.duration_micros, first.is_cpu_op()), (216, 318, Some(true)));
    assert_eq!((first.name.as_str(), first.kind), ("aten::mm(0)", NodeType::Compute as i32));
    assert_eq!((second.data_dependencies.as_slice(), second.duration_micros), (&[432, 216][..], 0));
    assert_eq!(second.integer(attribute::COMMUNICATION_SIZE), Some(212_480));
    let dimensions = AttributeValue::BoolList(BoolList { values: vec![true, false] });
    assert_eq!(second.attribute("involved_dim"), Some(&dimensions));
    assert_eq!(trace.unknown_fields, 1);
    let metadata = trace.metadata.unwrap();
    assert_eq!(metadata.attributes[1], Attribute::int64("ngpus", 8));
}

#[test]
fn what_protobuf_prints_is_read() {
    let trace = read_text(
        r#"{"version":"0.0.4","attr":[{"name":"schema","stringVal":"1.0.1"}]}
           {"name":"a","type":"COMP_NODE","durationMicros":"7","attr":[{"name":"is_cpu_op","boolVal":false}]}
           {"id":"18446744073709551615","name":"b","type":"COMM_COLL_NODE","data_deps":["0"],
            "inputs":{"values":"['cuda:0']"},"attr":[{"name":"x","int64Val":"-9"},
            {"name":"l","uint32List":{"values":[1,2]}},{"name":"y","bytesVal":"AP8="},{"name":"e","boolList":{}}]}"#,
    );
    assert_eq!(trace.metadata.as_ref().unwrap().version, "0.0.4");
    let [first, second] = &trace.nodes[..] else { panic!() };
    assert_eq!((first.id, first.duration_micros, first.is_cpu_op()), (0, 7, Some(false)));
    assert_eq!((second.id, second.data_dependencies.as_slice()), (u64::MAX, &[0][..]));
    assert_eq!(second.integer("x"), Some(-9));
    assert_eq!(second.attribute("y"), Some(&AttributeValue::Bytes(vec![0, 255])));
    assert_eq!(second.attribute("e"), Some(&AttributeValue::BoolList(BoolList::default())));
    assert_eq!(second.inputs.as_ref().unwrap().values, "['cuda:0']");
}

#[test]
fn mistakes_are_named() {
    let error = |text: &str| read_json("a.json", text.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        error(r#"{"workload_graph":[{"Id":1},{"Id":-1}]}"#),
        "a.json: node 2 of the list: field Id: -1 is no whole number without sign"
    );
    assert_eq!(
        error(r#"{"id":1,"attr":[{"name":"x","int32Val":"y"}]}"#),
        r#"a.json: node 1 of the list: attribute x: int32Val cannot be "y""#
    );
    assert!(error(r#"{"workload_graph":["#).contains("line 1, column 19: EOF"));
    assert!(error("").contains("there are no nodes"));
    assert!(error("[1]").contains("expected an object of a Chakra trace"));
    assert!(error(&"[".repeat(200_000)).contains("line 1"));
}
