//! Files of Chakra messages, written and read again.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use super::*;

/// A trace with every type of attribute.
fn everything() -> ChakraTrace {
    use AttributeValue as Value;
    let values = vec![
        Value::Double(-0.5),
        Value::DoubleList(DoubleList { values: vec![1.5, f64::MAX] }),
        Value::Float(0.25),
        Value::FloatList(FloatList { values: vec![1.0, -2.0] }),
        Value::Int32(-7),
        Value::Int32List(Int32List { values: vec![-1, i32::MAX] }),
        Value::Int64(i64::MIN),
        Value::Int64List(Int64List { values: vec![0, -1] }),
        Value::Uint32(u32::MAX),
        Value::Uint32List(Uint32List { values: vec![3] }),
        Value::Uint64(u64::MAX),
        Value::Uint64List(Uint64List { values: vec![] }),
        Value::Sint32(-3),
        Value::Sint32List(Sint32List { values: vec![-3, 3] }),
        Value::Sint64(-4),
        Value::Sint64List(Sint64List { values: vec![i64::MIN] }),
        Value::Fixed32(5),
        Value::Fixed32List(Fixed32List { values: vec![5, 6] }),
        Value::Fixed64(7),
        Value::Fixed64List(Fixed64List { values: vec![7] }),
        Value::Sfixed32(-8),
        Value::Sfixed32List(Sfixed32List { values: vec![-8] }),
        Value::Sfixed64(-9),
        Value::Sfixed64List(Sfixed64List { values: vec![-9] }),
        Value::Bool(true),
        Value::BoolList(BoolList { values: vec![true, false] }),
        Value::String("'cuda:0'".to_owned()),
        Value::StringList(StringList { values: vec![String::new(), "a".to_owned()] }),
        Value::Bytes(vec![0, 255]),
        Value::BytesList(BytesList { values: vec![vec![], vec![1]] }),
    ];
    let attributes = values.into_iter().map(|value| Attribute::new("any", value)).collect();
    let node = ChakraNode {
        id: 4,
        name: "aten::mm".to_owned(),
        kind: NodeType::Compute as i32,
        control_dependencies: vec![1],
        data_dependencies: vec![2, 300],
        start_time_micros: 5,
        duration_micros: 6,
        inputs: Some(NodeValues { values: "['<None>']".to_owned(), ..NodeValues::default() }),
        outputs: Some(NodeValues::default()),
        attributes,
        storage: Some(vec![8, 1]),
    };
    ChakraTrace {
        source: "rank.0.et".to_owned(),
        metadata: Some(GlobalMetadata {
            version: "0.0.4".to_owned(),
            attributes: vec![Attribute::string("schema", "1.0.1")],
        }),
        nodes: vec![node, ChakraNode { id: 5, kind: 77, ..ChakraNode::default() }],
        unknown_fields: 0,
    }
}

fn bytes(trace: &ChakraTrace) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(trace, &mut bytes).unwrap();
    bytes
}

#[test]
fn what_is_written_is_read_again() {
    let trace = everything();
    let plain = bytes(&trace);
    assert_eq!(read("rank.0.et", plain.as_slice()).unwrap(), trace);
    assert_eq!(bytes(&read("rank.0.et", plain.as_slice()).unwrap()), plain);
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&plain).unwrap();
    assert_eq!(read("rank.0.et", packed.finish().unwrap().as_slice()).unwrap(), trace);
}

#[test]
fn dependencies_are_read_packed_and_one_by_one() {
    let one_by_one = [0u8, 8, 0x08, 9, 0x28, 1, 0x28, 2, 0x20, 3];
    let packed = [0u8, 9, 0x08, 9, 0x2a, 2, 1, 2, 0x22, 1, 3];
    for bytes in [&one_by_one[..], &packed[..]] {
        let trace = read("a.et", bytes).unwrap();
        assert_eq!(trace.nodes[0].data_dependencies, [1, 2]);
        assert_eq!(trace.nodes[0].control_dependencies, [3]);
    }
}

#[test]
fn a_file_that_was_cut_names_the_byte() {
    let whole = bytes(&everything());
    let second = everything().metadata.unwrap().encoded_len() + 1;
    let error = read("a.et", &whole[..second + 20]).unwrap_err().to_string();
    assert!(error.starts_with(&format!("a.et: byte {second}: a message of ")), "{error}");
    assert!(error.ends_with("the file ends after 18 of them"), "{error}");
    for length in 0..whole.len() {
        // The ends of messages are ends of files.
        let _ = read("a.et", &whole[..length]);
    }
}

#[test]
fn a_length_that_lies_does_not_allocate() {
    let error = read("a.et", &[0xff, 0xff, 0xff, 0xff, 0x0f, 1][..]).unwrap_err().to_string();
    assert!(error.contains("a message of 4294967295 bytes begins here"), "{error}");
    let error = read("a.et", &[0xff; 12][..]).unwrap_err().to_string();
    assert!(error.contains("more than 32 bits"), "{error}");
}

#[test]
fn other_files_are_refused() {
    for bytes in
        [&b""[..], b"{\"nodes\":[]}", b"\x1f\x8bnonsense", b"\x02\x08\x01", b"\x00\x02\x0b\x01"]
    {
        assert!(read("a.et", bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn fields_of_later_schemas_are_counted() {
    // Field 12 of a node.
    let trace = read("a.et", &[0u8, 4, 0x08, 9, 0x60, 1][..]).unwrap();
    assert_eq!((trace.nodes[0].id, trace.unknown_fields), (9, 1));
}

#[test]
fn broken_bytes_end_in_an_error_or_a_trace() {
    let whole = bytes(&everything());
    let mut read_all_the_same = 0;
    for place in 0..whole.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut broken = whole.clone();
            broken[place] = value;
            if let Ok(trace) = read("a.et", broken.as_slice()) {
                read_all_the_same += 1;
                rules::check(&trace);
                let _ = graph(vec![(None, trace)]);
            }
        }
    }
    assert!(read_all_the_same > 0);
}
