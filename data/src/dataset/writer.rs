//! Records as CSV text.

use crate::dataset::files::FileKey;
use crate::family::Family;
use crate::fields::{base_columns, columns, write_record};
use crate::measurement::Record;
use crate::point::Point;
use crate::table::quote;

/// The text of one file. Optional columns in which every row has the neutral value are left
/// out: a table that was given without them stays as small as it was.
pub(super) fn csv_text(key: &FileKey, records: &[&Record]) -> String {
    let names = key.columns();
    let base = if key.family == Family::Custom {
        1 + key.parameters.len()
    } else {
        base_columns(key.family).len()
    };
    let mut wanted = vec![false; names.len()];
    wanted[..=base].fill(true);
    let mut cells = Cells::default();
    for name in &names {
        cells.push(name);
    }
    for record in records {
        for ((wanted, name), value) in wanted.iter_mut().zip(&names).zip(row(key, record)) {
            *wanted = *wanted || !is_neutral(name, &value, record);
            cells.push(&value);
        }
    }
    cells.text_of(&wanted)
}

/// The quoted cells of a table in one text, so that which columns are wanted can be decided
/// after the last row without making the rows twice.
#[derive(Default)]
struct Cells {
    text: String,
    ends: Vec<usize>,
}

impl Cells {
    fn push(&mut self, cell: &str) {
        self.text.push_str(&quote(cell));
        self.ends.push(self.text.len());
    }

    /// The rows with their `wanted` columns only.
    fn text_of(&self, wanted: &[bool]) -> String {
        let mut text = String::with_capacity(self.text.len() + self.ends.len());
        let mut start = 0;
        for row in self.ends.chunks(wanted.len()) {
            let mut separator = "";
            for (end, wanted) in row.iter().zip(wanted) {
                if *wanted {
                    text.push_str(separator);
                    text.push_str(&self.text[start..*end]);
                    separator = ",";
                }
                start = *end;
            }
            text.push('\n');
        }
        text
    }
}

/// The values of a record in the order of [`FileKey::columns`].
fn row(key: &FileKey, record: &Record) -> Vec<String> {
    let mut values: Vec<String> =
        write_record(record).into_iter().map(|(_, value)| value).collect();
    if let Point::Custom(custom) = &record.point {
        // The codec keeps all parameters in one field; the file gives each a column.
        let parameters = custom.parameters.iter().map(|(_, value)| value.to_string());
        values.splice(1..2, parameters);
        return values;
    }
    let (base, all) = (base_columns(key.family).len(), columns(key.family).len());
    // From point columns, time, rest to base columns, time, optional point columns, rest.
    values[base..=all].rotate_right(1);
    values
}

/// Whether leaving out `value` reads back as the same record.
fn is_neutral(column: &str, value: &str, record: &Record) -> bool {
    match (column, &record.point) {
        ("optimizer", _) => value == "sgd",
        ("rows", Point::Memory(_)) => value == "1",
        ("kv_dtype", Point::Attention(point)) => point.kv_dtype == point.dtype,
        ("window", _) => value == "0",
        ("imbalance", _) => value == "100",
        ("status", _) => value == "ok",
        _ => value.is_empty(),
    }
}
