//! Reading a model file and checking every number of it.

use std::sync::OnceLock;

use kernelgauge_data::Nanos;

use super::text::{Document, LinesText, Probe, VariantText};
use super::{FORMAT, FORMAT_VERSION, MOST_BYTES, StoreError};
use crate::lines::Lines;
use crate::model::{Header, Model, Section};
use crate::variant::VariantModel;

/// Longest time a measured point can have: the limit of `Nanos::measured`.
const LONGEST_NS: u64 = 1_000_000_000_000_000;

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
        (Some(FORMAT), Some(1..=FORMAT_VERSION)) => Ok(()),
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
    let lines = read_lines(&read.lines, read.domain.width()).map_err(damaged)?;
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

fn read_lines(text: &LinesText, width: usize) -> Result<Lines, &'static str> {
    let key_width = width.saturating_sub(1);
    let points = text.times_ns.len();
    let total: u64 = text.counts.iter().map(|count| u64::from(*count)).sum();
    if text.axis >= width
        || text.axis_values.len() != points
        || total != points as u64
        || text.keys.len() != text.counts.len() * key_width
        || !(text.ranges_ns.is_empty() || text.ranges_ns.len() == points)
    {
        return Err("measured points whose numbers do not fit each other");
    }
    if text.times_ns.iter().any(|time| !(1..=LONGEST_NS).contains(time)) {
        return Err("a measured time that cannot be");
    }
    let mut lines = Lines::empty(text.axis, key_width);
    let mut point = 0;
    for (line, count) in text.counts.iter().enumerate() {
        let key = &text.keys[line * key_width..(line + 1) * key_width];
        let from = line.saturating_sub(1) * key_width;
        if *count == 0 || (line > 0 && text.keys[from..from + key_width] >= *key) {
            return Err("lines that are empty or not in order");
        }
        let end = point + *count as usize;
        if text.axis_values[point..end].windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err("points of a line that are not in order");
        }
        while point < end {
            let time = text.times_ns[point];
            let range = text.ranges_ns.get(point).filter(|range| **range != (0, 0));
            let range = range.map(|&(below, above)| {
                let high = time.saturating_add(above).min(LONGEST_NS);
                (Nanos::new(time.saturating_sub(below)), Nanos::new(high))
            });
            lines.push(key, text.axis_values[point], Nanos::new(time), range);
            point += 1;
        }
    }
    lines.seal();
    Ok(lines)
}
