//! Writing a model file.

use std::fmt::Write;

use serde::Serialize;

use super::points::LinesText;
use super::text::{BorrowedText, CorrectionText, VariantText};
use super::{FORMAT, FORMAT_VERSION};
use crate::model::{Model, Section};
use crate::variant::VariantModel;

/// One header field per line, then one variant per line.
pub(super) fn write(model: &Model) -> String {
    let header = &model.header;
    let mut text = String::from("{\n");
    field(&mut text, "format", &FORMAT);
    field(&mut text, "format_version", &FORMAT_VERSION);
    field(&mut text, "tool_version", &header.tool_version);
    field(&mut text, "machine", &header.machine);
    field(&mut text, "origin", &header.origin);
    field(&mut text, "data_sha256", &header.data_sha256);
    field(&mut text, "seed", &header.seed);
    field(&mut text, "detail", &header.detail.to_string());
    field(&mut text, "insufficient", &header.insufficient);
    if !header.lenders.is_empty() {
        field(&mut text, "lenders", &header.lenders);
    }
    text.push_str("\"variants\": [");
    for (index, section) in model.sections.iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        write_section(&mut text, section);
    }
    text.push_str("\n]\n}\n");
    text
}

fn json<T: Serialize>(value: &T) -> String {
    // Every value is of our own types, with string keys: serialising them cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}

fn field<T: Serialize>(text: &mut String, name: &str, value: &T) {
    let _ = writeln!(text, "\"{name}\": {},", json(value));
}

fn write_section(text: &mut String, section: &Section) {
    let model = match (section.model.get(), &section.text) {
        (Some(Ok(model)), _) => json(&layout(model)),
        (_, Some(unread)) => unread.get().to_owned(),
        _ => String::from("null"),
    };
    let _ = write!(
        text,
        "{{\"family\": {}, \"variant\": {}, \"cache\": {}, \"model\": {model}}}",
        json(&section.family),
        json(&section.name),
        json(&section.cache)
    );
}

fn layout(model: &VariantModel) -> VariantText {
    VariantText {
        domain: model.domain.clone(),
        term: model.term.clone(),
        held_out: model.held_out,
        intervals: model.intervals.clone(),
        blend: model.blend,
        confined: model.confined,
        correction: CorrectionText::of(&model.correction),
        learned: model.learned.clone(),
        borrowed: model.borrowed.as_ref().map(BorrowedText::of),
        lines: LinesText::of(&model.lines),
    }
}
