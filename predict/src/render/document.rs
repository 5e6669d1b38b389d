//! An answer as a JSON document or a CSV row: the same fields in the same order.
//!
//! The point's own fields are those of the data-set files, so an answer can be put into a batch
//! as a question again.

use std::borrow::Cow;
use std::io::{self, Write};

use kernelgauge_data::{EVEN, Nanos, Point, fields};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::{Answer, typed};

/// Raised when a field changes its meaning or goes away; new fields do not raise it.
pub const SCHEMA_VERSION: u32 = 1;

/// Fields in order; `serde_json` maps would sort them.
struct Document(Vec<(Cow<'static, str>, Value)>);

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

pub fn write_json(answer: &Answer<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut fields = vec![(Cow::Borrowed("schema_version"), Value::from(SCHEMA_VERSION))];
    fields.extend(answer_fields(answer));
    if let Some(explanation) = &answer.explanation {
        fields.push((Cow::Borrowed("explanation"), super::explain::json(explanation)));
    }
    serde_json::to_writer_pretty(&mut *out, &Document(fields))?;
    writeln!(out)
}

pub fn write_csv(answer: &Answer<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (names, values): (Vec<Cow<'static, str>>, Vec<Value>) =
        answer_fields(answer).into_iter().unzip();
    let values = values.iter().map(|value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    });
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(names.iter().map(|name| name.as_bytes()))?;
    writer.write_record(values)?;
    writer.flush()
}

/// The fields of a point, without an imbalance that there is none of.
pub(super) fn stated(point: &Point) -> impl Iterator<Item = (Cow<'static, str>, String)> {
    let even = EVEN.to_string();
    let says_nothing =
        move |(name, value): &(Cow<'_, str>, String)| name == "imbalance" && *value == even;
    fields::write_point(point).into_iter().filter(move |field| !says_nothing(field))
}

fn answer_fields(answer: &Answer<'_>) -> Vec<(Cow<'static, str>, Value)> {
    let mut all = vec![(Cow::Borrowed("family"), Value::from(answer.point.family().name()))];
    all.extend(stated(answer.point).map(|(name, text)| (name, typed(text))));
    let prediction = &answer.prediction;
    let named = [
        ("time_us", microseconds(prediction.time)),
        ("low_us", microseconds(prediction.low)),
        ("high_us", microseconds(prediction.high)),
        ("domain", Value::from(prediction.domain.name())),
        ("basis", Value::from(prediction.basis.name())),
        ("machine", Value::from(answer.machine.name.as_str())),
        ("answered_by", answer.answered_by.map_or(Value::Null, |(_, used)| used.name().into())),
    ];
    all.extend(named.map(|(name, value)| (Cow::Borrowed(name), value)));
    let rates = answer.rate().map(|rate| rate.fields()).unwrap_or_default();
    all.extend(rates.into_iter().map(|(name, value)| (Cow::Borrowed(name), digits(value))));
    all
}

fn microseconds(time: Nanos) -> Value {
    Value::from(time.us())
}

/// A rate with six significant digits, which is more than any time is known to.
fn digits(value: f64) -> Value {
    let short: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    Value::from(short)
}
