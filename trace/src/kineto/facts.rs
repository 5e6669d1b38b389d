//! What events state beyond name and time, as rows of the tables of a recording.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::wire::{WireArguments, WireCollective};
use crate::names::Symbol;
use crate::recording::{
    Category, CollectiveFacts, DeviceFacts, FactsId, NONE, OpFacts, Recording, SyncFacts,
};

/// The row of what an event of this category states, if it states anything.
pub(super) fn row(
    recording: &mut Recording,
    category: Category,
    arguments: &WireArguments<'_>,
) -> Option<FactsId> {
    match category {
        Category::Op | Category::Annotation => op(recording, arguments),
        Category::Kernel | Category::Copy | Category::Fill => device(recording, arguments),
        Category::Sync => sync(recording, arguments),
        Category::Runtime | Category::DeviceAnnotation | Category::Python | Category::Overhead => {
            None
        }
    }
}

fn op(recording: &mut Recording, arguments: &WireArguments<'_>) -> Option<FactsId> {
    let forward_thread = arguments.forward_thread.0;
    let facts = OpFacts {
        dims: text_as_written(recording, arguments.dims),
        types: text_as_written(recording, arguments.types),
        values: text_as_written(recording, arguments.values),
        strides: text_as_written(recording, arguments.strides),
        forward_thread: if forward_thread == NONE { 0 } else { forward_thread },
        backend: recording.names.symbol(&arguments.backend.0),
        collective: collective(recording, arguments.collective.as_deref()),
    };
    let nothing = [facts.dims, facts.types, facts.values, facts.strides, facts.backend]
        .iter()
        .all(|symbol| symbol.is_empty())
        && facts.forward_thread == 0
        && facts.collective.is_none();
    if nothing { None } else { recording.ops.row(facts) }
}

fn device(recording: &mut Recording, arguments: &WireArguments<'_>) -> Option<FactsId> {
    let bytes = if arguments.bytes.0 == NONE { arguments.size } else { arguments.bytes };
    let small = |number: i64| u32::try_from(number).unwrap_or(0);
    let facts = DeviceFacts {
        device: arguments.device.0,
        stream: arguments.stream.0,
        bytes: bytes.0,
        grid: arguments.grid.0,
        block: arguments.block.0,
        registers: small(arguments.registers.0),
        shared_bytes: small(arguments.shared.0),
        collective: collective(recording, arguments.collective.as_deref()),
    };
    recording.device_facts.row(facts)
}

fn sync(recording: &mut Recording, arguments: &WireArguments<'_>) -> Option<FactsId> {
    recording.syncs.row(SyncFacts {
        stream: arguments.stream.0,
        awaited_stream: arguments.awaited_stream.0,
        record_correlation: arguments.record_correlation.0,
        event: arguments.event.0,
        device: arguments.device.0,
    })
}

fn collective(recording: &mut Recording, stated: Option<&WireCollective<'_>>) -> Option<FactsId> {
    let stated = stated?;
    // `dtype` and `Seq` alone are stated of other things, too.
    if stated.name.0.is_empty() && stated.group.0.is_empty() && stated.elements_in.0 == NONE {
        return None;
    }
    let facts = CollectiveFacts {
        name: recording.names.symbol(&stated.name.0),
        dtype: recording.names.symbol(&stated.dtype.0),
        elements_in: stated.elements_in.0,
        elements_out: stated.elements_out.0,
        group_size: stated.group_size.0,
        group: recording.names.symbol(&stated.group.0),
        description: recording.names.symbol(&stated.description.0),
        ranks: list_as_text(recording, stated.ranks),
        split_in: list_as_text(recording, stated.split_in),
        split_out: list_as_text(recording, stated.split_out),
        sequence: stated.sequence.0,
        communicator: recording.names.symbol(&stated.communicator.0),
        source: stated.source.0,
        destination: stated.destination.0,
    };
    recording.collectives.row(facts)
}

/// JSON as written, on one line.
fn text_as_written(recording: &mut Recording, value: Option<&RawValue>) -> Symbol {
    match value.map(RawValue::get) {
        None | Some("null") => Symbol::EMPTY,
        Some(text) => recording.names.symbol(&on_one_line(text)),
    }
}

/// A list that most writers put into a text: `"[0, 1]"`.
fn list_as_text(recording: &mut Recording, value: Option<&RawValue>) -> Symbol {
    match value.map(RawValue::get) {
        None | Some("null") => Symbol::EMPTY,
        Some(text) if text.starts_with('"') => {
            let inner: Cow<'_, str> = serde_json::from_str(text).unwrap_or_default();
            recording.names.symbol(&inner)
        }
        Some(text) => recording.names.symbol(&on_one_line(text)),
    }
}

/// JSON spread over lines, as the profiler itself writes it: `[[2, 3], []]`. The same shapes of
/// a file that somebody made readable are the same text then.
fn on_one_line(text: &str) -> Cow<'_, str> {
    if !text.contains('\n') {
        return text.into();
    }
    let mut line = String::with_capacity(text.len());
    let mut in_text = false;
    let mut escaped = false;
    for character in text.chars() {
        if in_text {
            line.push(character);
            in_text = escaped || character != '"';
            escaped = character == '\\' && !escaped;
        } else if !character.is_ascii_whitespace() {
            line.push(character);
            in_text = character == '"';
            if matches!(character, ',' | ':') {
                line.push(' ');
            }
        }
    }
    line.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_over_lines_read_as_on_one() {
        assert_eq!(on_one_line("[[2, 3],[]]"), "[[2, 3],[]]");
        assert_eq!(on_one_line("[\n  [\n    2,\n    3\n  ],\n  []\n]"), "[[2, 3], []]");
        assert_eq!(on_one_line("[\n\"a, \\\" b\",\n\"c\"]"), "[\"a, \\\" b\", \"c\"]");
    }
}
