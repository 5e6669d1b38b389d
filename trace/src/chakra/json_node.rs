//! Fields of a node in JSON, whichever of its forms: `durationMicros` and `duration_micros` of
//! protobuf's printer, `Id`, `ctrlDeps` and `runtime` of the older feeder.

use serde_json::{Map, Value};

use super::list::{
    BoolList, BytesList, DoubleList, Fixed32List, Fixed64List, FloatList, Int32List, Int64List,
    Sfixed32List, Sfixed64List, Sint32List, Sint64List, StringList, Uint32List, Uint64List,
};
use super::message::{ChakraNode, NodeType, NodeValues};
use super::value::{Attribute, AttributeValue};

/// Names of node types as protobuf prints them.
const TYPES: [(&str, NodeType); 11] = [
    ("INVALID_NODE", NodeType::Invalid),
    ("METADATA_NODE", NodeType::Metadata),
    ("MEM_LOAD_NODE", NodeType::MemoryLoad),
    ("MEM_STORE_NODE", NodeType::MemoryStore),
    ("COMP_NODE", NodeType::Compute),
    ("COMM_SEND_NODE", NodeType::Send),
    ("COMM_RECV_NODE", NodeType::Receive),
    ("COMM_COLL_NODE", NodeType::Collective),
    ("STORAGE_NODE", NodeType::Storage),
    ("BATCH_NODE", NodeType::Batch),
    ("CHECKPOINT_NODE", NodeType::Checkpoint),
];

/// A node that is being read.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) node: ChakraNode,
    /// Whether any field says that this is a node.
    pub(super) is_node: bool,
    pub(super) unknown_fields: u64,
}

/// Whether a field belongs to nodes alone.
pub(super) fn is_field_of_node(key: &str) -> bool {
    matches!(
        plain_key(key).as_str(),
        "id" | "name"
            | "type"
            | "nodetype"
            | "ctrldeps"
            | "datadeps"
            | "starttimemicros"
            | "durationmicros"
            | "runtime"
            | "inputs"
            | "outputs"
            | "iscpuop"
    )
}

impl Draft {
    /// Takes a field, or says why it cannot.
    pub(super) fn field(&mut self, key: &str, value: Value) -> Result<(), String> {
        let refuse = |problem: String| format!("field {key}: {problem}");
        match plain_key(key).as_str() {
            "id" => {
                self.is_node = true;
                self.node.id = number(&value).map_err(refuse)?;
            }
            "name" => self.node.name = text(value).map_err(refuse)?,
            "type" | "nodetype" => self.node.kind = kind(&value).map_err(refuse)?,
            "ctrldeps" => self.node.control_dependencies = numbers(&value).map_err(refuse)?,
            "datadeps" => self.node.data_dependencies = numbers(&value).map_err(refuse)?,
            "starttimemicros" => self.node.start_time_micros = number(&value).map_err(refuse)?,
            "durationmicros" | "runtime" => {
                self.node.duration_micros = number(&value).map_err(refuse)?;
            }
            "inputs" => self.node.inputs = Some(values(value)),
            "outputs" => self.node.outputs = Some(values(value)),
            "attr" | "attrs" => self.node.attributes.extend(attributes(value)?),
            _ => match plain(key, &value) {
                Some(attribute) => self.node.attributes.push(attribute),
                None => self.unknown_fields += 1,
            },
        }
        // Protobuf leaves out what is 0, an id included.
        self.is_node |= is_field_of_node(key);
        Ok(())
    }
}

/// A field beside the others as an attribute, of the type Chakra's own tools write; none for
/// values that have no such type.
pub(super) fn plain(key: &str, value: &Value) -> Option<Attribute> {
    let integer = || value.as_i64().or_else(|| value.as_str()?.trim().parse().ok());
    Some(match key {
        "comm_src" | "comm_dst" | "comm_tag" | "comm_priority" => {
            Attribute::int32(key, i32::try_from(integer()?).ok()?)
        }
        "comm_type" | "comm_size" | "num_ops" => Attribute::int64(key, integer()?),
        "tensor_size" => Attribute::uint64(key, u64::try_from(integer()?).ok()?),
        _ => match value {
            Value::Bool(value) => Attribute::bool(key, *value),
            Value::String(text) => Attribute::string(key, text.as_str()),
            Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(value), ..) => Attribute::int64(key, value),
                (_, Some(value), _) => Attribute::uint64(key, value),
                (.., value) => Attribute::new(key, AttributeValue::Double(value?)),
            },
            Value::Array(values) => {
                let values: Option<Vec<bool>> = values.iter().map(Value::as_bool).collect();
                Attribute::bools(key, values?)
            }
            Value::Null | Value::Object(_) => return None,
        },
    })
}

/// Attributes as protobuf prints them: `{"name": "stream", "int64Val": "7"}`.
pub(super) fn attributes(value: Value) -> Result<Vec<Attribute>, String> {
    let Value::Array(list) = value else { return Err("field attr: it is no list".to_owned()) };
    list.into_iter()
        .map(|value| match value {
            Value::Object(fields) => attribute(fields),
            other => Err(format!("field attr: {} is no attribute", shortened(&other))),
        })
        .collect()
}

fn attribute(fields: Map<String, Value>) -> Result<Attribute, String> {
    let name = fields.get("name").and_then(Value::as_str).unwrap_or_default();
    let mut read = Attribute { name: name.to_owned(), ..Attribute::default() };
    for (key, value) in fields {
        match plain_key(&key).as_str() {
            "name" => {}
            "docstring" => read.description = text(value)?,
            kind => {
                let typed = typed(kind, &value);
                read.value = Some(typed.ok_or_else(|| {
                    format!("attribute {}: {key} cannot be {}", read.name, shortened(&value))
                })?);
            }
        }
    }
    Ok(read)
}

fn typed(kind: &str, value: &Value) -> Option<AttributeValue> {
    use AttributeValue as Of;
    let list =
        || value.get("values").map_or(Some(&[][..]), |values| values.as_array().map(Vec::as_slice));
    macro_rules! numbers {
        ($($one:literal $many:literal $variant:ident $list:ident $variants:ident $read:expr;)+) => {
            match kind {
                $(
                    $one => Of::$variant($read(value)?),
                    $many => Of::$variants($list { values: list()?.iter().map($read).collect::<Option<_>>()? }),
                )+
                _ => return None,
            }
        };
    }
    Some(numbers! {
        "doubleval" "doublelist" Double DoubleList DoubleList float;
        "floatval" "floatlist" Float FloatList FloatList short_float;
        "int32val" "int32list" Int32 Int32List Int32List parsed;
        "int64val" "int64list" Int64 Int64List Int64List parsed;
        "uint32val" "uint32list" Uint32 Uint32List Uint32List parsed;
        "uint64val" "uint64list" Uint64 Uint64List Uint64List parsed;
        "sint32val" "sint32list" Sint32 Sint32List Sint32List parsed;
        "sint64val" "sint64list" Sint64 Sint64List Sint64List parsed;
        "fixed32val" "fixed32list" Fixed32 Fixed32List Fixed32List parsed;
        "fixed64val" "fixed64list" Fixed64 Fixed64List Fixed64List parsed;
        "sfixed32val" "sfixed32list" Sfixed32 Sfixed32List Sfixed32List parsed;
        "sfixed64val" "sfixed64list" Sfixed64 Sfixed64List Sfixed64List parsed;
        "boolval" "boollist" Bool BoolList BoolList Value::as_bool;
        "stringval" "stringlist" String StringList StringList owned;
        "bytesval" "byteslist" Bytes BytesList BytesList base64;
    })
}

/// A whole number, printed as a number or, with 64 bits, as a text.
fn parsed<T: std::str::FromStr>(value: &Value) -> Option<T> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

/// A number, or `NaN`, `Infinity`, `-Infinity` as texts.
fn float(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

fn short_float(value: &Value) -> Option<f32> {
    float(value).map(|value| value as f32)
}

fn owned(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Bytes as protobuf prints them, in either alphabet.
fn base64(value: &Value) -> Option<Vec<u8>> {
    let text = value.as_str()?;
    let mut bytes = Vec::new();
    let (mut held, mut bits) = (0u32, 0u32);
    for letter in text.bytes().filter(|&letter| letter != b'=') {
        let digit = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = (held << 6 | u32::from(digit)) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xff) as u8);
        }
    }
    Some(bytes)
}

/// `ctrlDeps`, `ctrl_deps` and `CtrlDeps` are one.
fn plain_key(key: &str) -> String {
    key.chars().filter(|&letter| letter != '_').map(|letter| letter.to_ascii_lowercase()).collect()
}

fn number(value: &Value) -> Result<u64, String> {
    parsed(value).ok_or_else(|| format!("{} is no whole number without sign", shortened(value)))
}

fn numbers(value: &Value) -> Result<Vec<u64>, String> {
    match value {
        Value::Array(values) => values.iter().map(number).collect(),
        Value::Null => Ok(Vec::new()),
        other => number(other).map(|number| vec![number]),
    }
}

fn text(value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(format!("{} is no text", shortened(&other))),
    }
}

fn kind(value: &Value) -> Result<i32, String> {
    let named = value.as_str().and_then(|name| TYPES.iter().find(|(known, _)| *known == name));
    match named {
        Some(&(_, kind)) => Ok(kind as i32),
        None => parsed(value).ok_or_else(|| format!("{} is no node type", shortened(value))),
    }
}

/// Texts as they are, anything else as JSON.
fn values(value: Value) -> NodeValues {
    let part = |part: &str| match value.get(part) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    NodeValues { values: part("values"), shapes: part("shapes"), types: part("types") }
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
