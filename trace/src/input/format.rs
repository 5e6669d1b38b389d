//! What kind of trace a file is, by how it begins.

use super::strange::{self, Strange};

/// Kinds of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Kineto's Chrome trace.
    Kineto,
    /// PyTorch's execution trace.
    ExecutionTrace,
    /// Chakra's length-delimited protobuf messages.
    ChakraProtobuf,
    /// Chakra as JSON.
    ChakraJson,
}

/// What is JSON and no trace.
const OTHER_JSON: Strange = Strange {
    problem: "is JSON, but no trace",
    hint: "a Kineto trace has a list `traceEvents`, an execution trace a list `nodes`",
};

/// What is nothing known.
const UNKNOWN: Strange = Strange {
    problem: "is no trace",
    hint: "traces are Kineto's JSON, PyTorch's execution traces and Chakra's `.et`",
};

/// The kind of a file of this name that begins like this.
///
/// # Errors
/// It is no trace.
pub(super) fn of(source_name: &str, beginning: &[u8]) -> Result<Format, Strange> {
    let text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
    let text = text.trim_ascii_start();
    match text.first() {
        Some(b'{') => of_object(text),
        Some(b'[') => of_list(text),
        _ if is_chakra(source_name, beginning) => Ok(Format::ChakraProtobuf),
        _ => Err(strange::recognise(beginning).unwrap_or(UNKNOWN)),
    }
}

/// The kind of a JSON object, by the first of its keys that tells.
fn of_object(text: &[u8]) -> Result<Format, Strange> {
    let mut keys = Keys::new(text);
    for key in keys.by_ref() {
        return Ok(match key {
            b"traceEvents"
            | b"deviceProperties"
            | b"distributedInfo"
            | b"displayTimeUnit"
            | b"schemaVersion"
            | b"traceName"
            | b"baseTimeNanoseconds" => Format::Kineto,
            b"schema" | b"nodes" => Format::ExecutionTrace,
            b"workload_graph" | b"ctrlDeps" | b"ctrl_deps" | b"dataDeps" | b"durationMicros" => {
                Format::ChakraJson
            }
            _ => continue,
        });
    }
    // The list of events may come behind what does not fit into the beginning.
    if keys.closed { Err(OTHER_JSON) } else { Ok(Format::Kineto) }
}

/// The kind of a JSON list: events, if its elements are objects.
fn of_list(text: &[u8]) -> Result<Format, Strange> {
    let first = text.iter().skip(1).find(|byte| !byte.is_ascii_whitespace());
    match first {
        Some(b'{') | None => Ok(Format::Kineto),
        Some(_) => Err(OTHER_JSON),
    }
}

/// Whether a file of this name that begins like this is a sequence of Chakra's messages: a
/// length, then the key of the first field of its metadata (version or attributes).
fn is_chakra(source_name: &str, beginning: &[u8]) -> bool {
    let plain = source_name.strip_suffix(".gz").unwrap_or(source_name);
    let length_bytes = beginning.iter().take(4).take_while(|byte| **byte >= 0x80).count() + 1;
    let message = beginning.get(length_bytes..).unwrap_or_default();
    let length_is_some = beginning.first().is_some_and(|byte| *byte > 0);
    let begins = matches!(message, [0x0a | 0x12, ..]) && length_is_some;
    begins && (plain.ends_with(".et") || beginning.contains(&0))
        || plain.ends_with(".et")
            && !beginning.is_empty()
            && strange::recognise(beginning).is_none()
}

/// The keys of the outermost object of a text that may end anywhere.
struct Keys<'text> {
    text: &'text [u8],
    place: usize,
    depth: u32,
    closed: bool,
}

impl<'text> Keys<'text> {
    fn new(text: &'text [u8]) -> Self {
        Keys { text, place: 0, depth: 0, closed: false }
    }

    /// The text in quotation marks behind the place, without them; moves behind it.
    fn quoted(&mut self) -> Option<&'text [u8]> {
        let start = self.place;
        let rest = self.text.get(start..)?;
        let mut escaped = false;
        let end = rest.iter().position(|byte| {
            let ends = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            ends
        })?;
        self.place = start + end + 1;
        rest.get(..end)
    }
}

impl<'text> Iterator for Keys<'text> {
    type Item = &'text [u8];

    fn next(&mut self) -> Option<&'text [u8]> {
        while let Some(&byte) = self.text.get(self.place) {
            self.place += 1;
            match byte {
                b'"' => {
                    let text = self.quoted()?;
                    let behind = self.text.get(self.place..).unwrap_or_default();
                    if self.depth == 1 && behind.trim_ascii_start().first() == Some(&b':') {
                        return Some(text);
                    }
                }
                b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.closed = true;
                        return None;
                    }
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_how_they_begin() {
        for (name, beginning, expected) in [
            ("a.json", "{\"schemaVersion\": 1, \"traceEvents\": [", Some(Format::Kineto)),
            (
                "a.json",
                "\u{feff} {\"x\": {\"nodes\": [\"]\"]}, \"traceEvents\"",
                Some(Format::Kineto),
            ),
            ("a.json", "{\"x\": {\"nodes\": [1]}, \"a\\\"nodes\": 1}", None),
            ("a.json", "{\"metadata\": [1, 2", Some(Format::Kineto)),
            ("a.json", "[ {\"ph\"", Some(Format::Kineto)),
            ("a.json", "[[1, 2], ", None),
            ("a.json", "{\"schema\": \"1.0.1\", \"pid\": 1", Some(Format::ExecutionTrace)),
            ("a.json", "{\"workload_graph\": [", Some(Format::ChakraJson)),
            ("a.json", "{}", None),
            ("a.json", "version https://git-lfs.github.com/spec/v1", None),
            ("a.0.et", "\u{5e}\u{12}\u{10}\n\u{6}schema", Some(Format::ChakraProtobuf)),
            ("a", "\u{9}\n\u{5}1.0.0\u{0}", Some(Format::ChakraProtobuf)),
            ("a.0.et", "<html>", None),
            ("a.0.et", "", None),
            ("a.txt", "hello", None),
        ] {
            assert_eq!(of(name, beginning.as_bytes()).ok(), expected, "{name} {beginning:?}");
        }
    }
}
