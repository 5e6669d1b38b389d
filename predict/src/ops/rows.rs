//! The ops of a workload as CSV and JSON: the points in the columns of the data sets, so that
//! `predict batch` and other tools read them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use kernelgauge_data::fields;
use kernelgauge_trace::ops::{Distinct, totals};
use serde_json::{Map, Value, json};

use super::answers::Answers;
use crate::render::SCHEMA_VERSION;

/// Columns before the point's own.
const OWN: [&str; 9] = [
    "family",
    "name",
    "shapes",
    "calls",
    "work",
    "device_us",
    "model_us",
    "model_error",
    "uncovered",
];

pub fn write_csv(lines: &[Distinct], answers: &Answers, out: &mut dyn Write) -> io::Result<()> {
    let mut columns: Vec<String> = OWN.map(str::to_owned).to_vec();
    for point in lines.iter().filter_map(|line| line.point.as_ref().ok()) {
        for (name, _) in fields::write_point(point) {
            if !columns.iter().any(|known| *known == name) {
                columns.push(name.into_owned());
            }
        }
    }
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(&columns)?;
    for (place, line) in lines.iter().enumerate() {
        let document = document(line, answers, place);
        let cells = columns.iter().map(|column| match document.get(column.as_str()) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        });
        writer.write_record(cells)?;
    }
    writer.flush()
}

pub fn write_json(lines: &[Distinct], answers: &Answers, out: &mut dyn Write) -> io::Result<()> {
    let documents: Vec<BTreeMap<String, Value>> =
        lines.iter().enumerate().map(|(place, line)| document(line, answers, place)).collect();
    let all = totals(lines.iter());
    let document = json!({
        "schema_version": SCHEMA_VERSION,
        "calls": all.calls,
        "covered_calls": all.covered_calls,
        "device_us": all.device.us(),
        "covered_device_us": all.covered_device.us(),
        "ops": documents,
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

fn document(line: &Distinct, answers: &Answers, place: usize) -> BTreeMap<String, Value> {
    let answer = answers.as_ref().and_then(|answers| answers[place].as_ref());
    let refusal = answer.and_then(|answer| answer.as_ref().err()).map(ToString::to_string);
    let answer = answer.and_then(|answer| answer.as_ref().ok());
    let point = line.point.as_ref().ok();
    let mut fields_of: Map<String, Value> = Map::new();
    for (name, value) in point.map(fields::write_point).into_iter().flatten() {
        fields_of.insert(name.into_owned(), crate::render::typed(value));
    }
    let own = [
        ("family", point.map_or(Value::Null, |point| Value::from(point.family().name()))),
        ("name", Value::from(line.name.as_str())),
        ("shapes", Value::from(line.shapes.as_str())),
        ("calls", Value::from(line.calls)),
        ("work", Value::from(line.work)),
        ("device_us", line.device.map_or(Value::Null, |time| Value::from(time.us()))),
        ("model_us", answer.map_or(Value::Null, |answer| Value::from(answer.time.us()))),
        ("model_error", refusal.map_or(Value::Null, Value::from)),
        (
            "uncovered",
            line.point.as_ref().err().map_or(Value::Null, |why| Value::from(why.to_string())),
        ),
    ];
    let own = own.map(|(name, value)| (name.to_owned(), value));
    fields_of.into_iter().chain(own).collect()
}
