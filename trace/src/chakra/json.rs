//! Reads the JSON forms of Chakra traces: what protobuf prints message after message, and the
//! older `workload_graph` of the feeder. Nodes are read one at a time.
//!
//! Left to others: what a single field of a node means (`json_node`).

use std::fmt;
use std::io::{BufReader, Read};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::ChakraTrace;
use super::json_node::{self, Draft};
use super::message::GlobalMetadata;
use crate::error::TraceError;

/// Lists of nodes by their names.
const LISTS: [&str; 2] = ["workload_graph", "nodes"];

/// Reads a Chakra trace in JSON: objects of metadata and nodes behind each other, or one object
/// with a list `workload_graph` or `nodes`. `runtime` of older files becomes the duration in
/// microseconds.
///
/// # Errors
///
/// [`TraceError`] with line and column of what is no JSON, and with the node and field of what
/// is not what it should be.
pub fn read_json(source_name: &str, reader: impl Read) -> Result<ChakraTrace, TraceError> {
    let mut gathered = Gathered::new(source_name);
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(reader));
    while json.end().is_err() {
        if let Err(error) = Object(&mut gathered).deserialize(&mut json) {
            return Err(gathered.refuse(error));
        }
    }
    if gathered.trace.nodes.is_empty() && gathered.trace.metadata.is_none() {
        let hint = "a Chakra trace in JSON is nodes, or an object with `workload_graph`";
        return Err(TraceError::unusable(source_name, "there are no nodes", hint));
    }
    Ok(gathered.trace)
}

struct Gathered {
    trace: ChakraTrace,
    refusal: Option<String>,
}

impl Gathered {
    fn new(source_name: &str) -> Self {
        let trace = ChakraTrace { source: source_name.to_owned(), ..ChakraTrace::default() };
        Gathered { trace, refusal: None }
    }

    fn refuse(&mut self, error: serde_json::Error) -> TraceError {
        let source_name = self.trace.source.clone();
        if error.is_io() {
            return TraceError::Read { source_name, error: error.into() };
        }
        let node = format!("node {} of the list", self.trace.nodes.len() + 1);
        let text = error.to_string();
        let said = text.rsplit_once(" at line ").map_or(text.as_str(), |(said, _)| said);
        let (place, problem) = match self.refusal.take() {
            Some(problem) => (node, problem),
            None => {
                let place = format!("line {}, column {}", error.line(), error.column());
                (place, said.to_owned())
            }
        };
        TraceError::Content { source_name, place, problem, hint: None }
    }

    /// Takes an object that was read to its end.
    fn take(&mut self, draft: Draft) {
        if draft.is_node {
            self.trace.unknown_fields += draft.unknown_fields;
            self.trace.nodes.push(draft.node);
        }
    }

    /// Takes a field beside a list of nodes, or one of the metadata.
    fn state(&mut self, key: &str, value: Value) -> Result<(), String> {
        let metadata = self.trace.metadata.get_or_insert_with(GlobalMetadata::default);
        match (key, &value) {
            ("version", Value::String(version)) => version.clone_into(&mut metadata.version),
            ("attr" | "attrs", _) => metadata.attributes.extend(json_node::attributes(value)?),
            _ => metadata.attributes.extend(json_node::plain(key, &value)),
        }
        Ok(())
    }

    fn failed<E: Error>(&mut self, problem: String) -> E {
        self.refusal = Some(problem);
        E::custom("refused")
    }
}

/// A node, metadata, or what holds a list of nodes.
struct Object<'a>(&'a mut Gathered);

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of a Chakra trace")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut draft = Draft::default();
        let mut stated: Vec<(String, Value)> = Vec::new();
        let mut is_metadata = false;
        while let Some(key) = map.next_key::<String>()? {
            if LISTS.contains(&key.as_str()) {
                map.next_value_seed(List(self.0))?;
                is_metadata = true;
                continue;
            }
            let value = map.next_value::<Value>()?;
            if json_node::is_field_of_node(&key) {
                let field = draft.field(&key, value);
                field.map_err(|problem| self.0.failed::<A::Error>(problem))?;
            } else {
                stated.push((key, value));
            }
        }
        is_metadata |= !draft.is_node;
        for (key, value) in stated {
            let taken =
                if is_metadata { self.0.state(&key, value) } else { draft.field(&key, value) };
            taken.map_err(|problem| self.0.failed::<A::Error>(problem))?;
        }
        self.0.take(draft);
        Ok(())
    }
}

/// A list of nodes.
struct List<'a>(&'a mut Gathered);

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of nodes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Object(self.0))?.is_some() {}
        Ok(())
    }
}
