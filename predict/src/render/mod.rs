//! How an answer looks: for people, as JSON, as CSV.
//!
//! Left to others: where the answer comes from (`predictor`) and batches, whose rows keep the
//! format they came in (`batch`).

mod document;
mod explain;
mod set;
mod table;

pub use document::SCHEMA_VERSION;
pub use set::TableSet;

use std::io::{self, Write};

use kernelgauge_data::{Dtype, Machine, Point, Rate};
use kernelgauge_model::{Explanation, Prediction};
use serde_json::Value;

use crate::args::Format;

/// A question with its answer.
#[derive(Debug)]
pub struct Answer<'a> {
    /// What was asked.
    pub point: &'a Point,
    /// What the model says.
    pub prediction: Prediction,
    /// Whom it speaks for.
    pub machine: &'a Machine,
    /// The dtype asked for, and the one that answered in its place.
    pub answered_by: Option<(Dtype, Dtype)>,
    /// Why it says so, if that was asked.
    pub explanation: Option<Explanation>,
}

impl Answer<'_> {
    /// The rate the predicted time means.
    pub fn rate(&self) -> Option<Rate> {
        Rate::of(self.point, self.prediction.time, self.machine)
    }

    /// Writes the answer.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => table::write(self, out),
            Format::Json => document::write_json(self, out),
            Format::Csv => document::write_csv(self, out),
        }
    }
}

/// The field's text as the number or truth value it is.
pub fn typed(text: String) -> Value {
    if let Ok(number) = text.parse::<u64>() {
        return Value::from(number);
    }
    match text.as_str() {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => Value::String(text),
    }
}
