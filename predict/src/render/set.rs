//! The answer to an embedding op over tables that differ: the time of all, and what each adds.

use std::io::{self, Write};

use kernelgauge_data::units::four_digits;
use kernelgauge_data::{Direction, Machine, Nanos};
use kernelgauge_model::Prediction;
use serde_json::{Value, json};

use super::document::SCHEMA_VERSION;
use super::table::interval;
use crate::args::Format;
use crate::question::Alike;

/// A set of tables with the answer of one op over all of them.
#[derive(Debug)]
pub struct TableSet<'a> {
    /// The tables.
    pub tables: &'a [Alike],
    /// What each kind adds to the time.
    pub shares: &'a [Nanos],
    /// What the model says.
    pub prediction: Prediction,
    /// Whom it speaks for.
    pub machine: &'a Machine,
    /// Whether people want to see every kind.
    pub explain: bool,
}

impl TableSet<'_> {
    /// Writes the answer.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => self.write_table(out),
            Format::Json => {
                serde_json::to_writer_pretty(&mut *out, &self.json())?;
                writeln!(out)
            }
            Format::Csv => self.write_csv(out),
        }
    }

    fn each(&self) -> impl Iterator<Item = (&Alike, Nanos)> {
        self.tables.iter().zip(self.shares.iter().copied())
    }

    fn all(&self) -> u64 {
        self.tables.iter().map(|alike| alike.count).sum()
    }

    fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        let Prediction { time, low, high, domain, basis } = self.prediction;
        writeln!(out, "{time}   (90 %: {})   {} tables", interval(low, high), self.all())?;
        writeln!(out, "{basis}, {domain} what was measured of {}", self.machine.name)?;
        if !self.explain {
            return Ok(());
        }
        for (alike, share) in self.each() {
            let bag = &alike.bag;
            let part = four_digits(share.as_f64() / time.as_f64().max(1.0) * 100.0);
            let name =
                if alike.name.is_empty() { String::new() } else { format!(" {}", alike.name) };
            writeln!(
                out,
                "line {}{name}: {} x rows={} dim={} pooling={} {}: {share} ({part} %)",
                alike.line, alike.count, bag.rows, bag.dim, bag.pooling, bag.distribution
            )?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let tables: Vec<Value> = self
            .each()
            .map(|(alike, share)| {
                json!({
                    "line": alike.line,
                    "name": alike.name,
                    "tables": alike.count,
                    "rows": alike.bag.rows,
                    "dim": alike.bag.dim,
                    "pooling": alike.bag.pooling,
                    "distribution": alike.bag.distribution.to_string(),
                    "time_us": share.us(),
                })
            })
            .collect();
        let mut all = json!({ "schema_version": SCHEMA_VERSION, "family": "embedding" });
        if let Value::Object(fields) = &mut all {
            fields.extend(self.common().map(|(name, value)| (name.to_owned(), value)));
            fields.insert("set".to_owned(), Value::Array(tables));
        }
        all
    }

    fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let fields: Vec<(&str, Value)> = self.common().collect();
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(fields.iter().map(|(name, _)| *name))?;
        writer.write_record(fields.iter().map(|(_, value)| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }))?;
        writer.flush()
    }

    /// What holds for all tables, and the answer.
    fn common(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let bag = self.tables.first().map(|alike| alike.bag);
        let of_op = bag.into_iter().flat_map(|bag| {
            let optimizer = match bag.direction {
                Direction::Forward => "",
                Direction::Backward => bag.optimizer.name(),
            };
            [
                ("direction", Value::from(bag.direction.name())),
                ("optimizer", Value::from(optimizer)),
                ("dtype", Value::from(bag.dtype.name())),
                ("batch", Value::from(bag.batch)),
            ]
        });
        let Prediction { time, low, high, domain, basis } = self.prediction;
        of_op.chain([
            ("tables", Value::from(self.all())),
            ("time_us", Value::from(time.us())),
            ("low_us", Value::from(low.us())),
            ("high_us", Value::from(high.us())),
            ("domain", Value::from(domain.name())),
            ("basis", Value::from(basis.name())),
            ("machine", Value::from(self.machine.name.as_str())),
        ])
    }
}
