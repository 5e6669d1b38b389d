//! Reading a model file and checking every number of it.

use std::sync::OnceLock;

use super::text::{Document, Probe, VariantText};
use super::{FORMAT, FORMAT_VERSION, MOST_BYTES, StoreError};
use crate::model::{Header, Model, Section};
use crate::variant::VariantModel;

/// Reads the header and leaves the variants as text.
pub(super) fn open(text: &str) -> Result<Model, StoreError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > MOST_BYTES {
        return Err(StoreError::TooLarge { bytes: text.len() });
    }
    let document: Document<'_> =
        serde_json::from_str(text).map_err(|error| what_it_is(text, &error))?;
    check_format(Some(&document.format), Some(document.format_version))?;
    let sections: Vec<Section> = document
        .variants
        .iter()
        .map(|entry| Section {
            family: entry.family,
            name: entry.variant.clone(),
            cache: entry.cache,
            text: Some(entry.model.to_owned()),
            model: OnceLock::new(),
        })
        .collect();
    let key = |section: &Section| (section.family, section.name.clone(), section.cache);
    if sections.windows(2).any(|pair| key(&pair[0]) >= key(&pair[1])) {
        return Err(StoreError::damaged("variants", "not in order, or one is there twice"));
    }
    let header = Header {
        tool_version: document.tool_version,
        machine: document.machine,
        origin: document.origin,
        data_sha256: document.data_sha256,
        seed: document.seed,
        detail: document
            .detail
            .parse()
            .map_err(|_| StoreError::damaged("detail", "no level of detail"))?,
        insufficient: document.insufficient,
        lenders: document.lenders,
    };
    Ok(Model { header, sections })
}

/// The most useful error for a text that is no model file of this version.
fn what_it_is(text: &str, error: &serde_json::Error) -> StoreError {
    let probed = serde_json::from_str::<Probe>(text).ok();
    let checked =
        probed.map_or(Ok(()), |probe| check_format(probe.format.as_deref(), probe.format_version));
    checked.err().unwrap_or_else(|| StoreError::syntax(error))
}

fn check_format(format: Option<&str>, version: Option<u64>) -> Result<(), StoreError> {
    match (format, version) {
        (Some(FORMAT), Some(FORMAT_VERSION)) => Ok(()),
        (Some(FORMAT), Some(found)) if found < FORMAT_VERSION => Err(StoreError::Older { found }),
        (Some(FORMAT), Some(found)) if found > FORMAT_VERSION => Err(StoreError::Newer { found }),
        (Some(FORMAT), None) => Ok(()),
        _ => Err(StoreError::Foreign {
            found: format.unwrap_or("unknown").to_owned(),
            version: version.map_or("unknown".to_owned(), |version| version.to_string()),
        }),
    }
}

/// Reads and checks one variant.
pub(crate) fn read_section(section: &Section, text: &str) -> Result<VariantModel, StoreError> {
    let label = section.label();
    let read: VariantText = serde_json::from_str(text).map_err(|error| {
        let what = format!("column {}: {error}", error.column());
        StoreError::damaged(&label, what.split(" at line ").next().unwrap_or(&what))
    })?;
    let damaged = |what: &str| StoreError::damaged(&label, what);
    let sound = |sound: bool, what: &str| if sound { Ok(()) } else { Err(damaged(what)) };
    sound(read.domain.is_sound(), "a domain that cannot be")?;
    sound(read.term.is_sound(section.family), "an analytical constant that cannot be")?;
    sound(read.intervals.is_sound(), "an interval that cannot be")?;
    sound(read.held_out.is_sound(), "an error that cannot be")?;
    sound((0.0..=1.0).contains(&read.blend), "a blend beyond 0..1")?;
    sound(
        read.learned.as_ref().is_none_or(|learned| learned.is_sound()),
        "a learned coefficient that cannot be",
    )?;
    let correction = read.correction.read().map_err(damaged)?;
    let borrowed = read.borrowed.map(|text| text.read(read.domain.width())).transpose();
    let borrowed = borrowed.map_err(damaged)?;
    let lines = read.lines.lines(read.domain.width()).map_err(damaged)?;
    let mut term = read.term;
    term.prepare();
    Ok(VariantModel {
        family: section.family,
        name: section.name.clone(),
        cache: section.cache,
        domain: read.domain,
        term,
        correction,
        learned: read.learned,
        blend: read.blend,
        confined: read.confined,
        lines,
        intervals: read.intervals,
        held_out: read.held_out,
        borrowed,
    })
}
