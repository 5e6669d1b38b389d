//! CSV text as records, strictly: a data set has no columns and no rows that are not understood.

use std::borrow::Cow;

use crate::dataset::error::{LISTED_PROBLEMS, Problem};
use crate::diagnostic::Diagnostic;
use crate::family::Family;
use crate::fields::{FieldError, RECORD_COLUMNS, base_columns, columns, read_about, read_record};
use crate::measurement::Record;
use crate::nearest;
use crate::point::{CustomPoint, Point};
use crate::table::{Row, Table, TableError, text_of};

/// Problems of a whole folder: the first ones in full, the rest as a number.
#[derive(Debug, Default)]
pub(super) struct Problems {
    pub listed: Vec<Problem>,
    pub total: usize,
}

impl Problems {
    pub fn add(&mut self, file: &str, line: Option<usize>, what: String, hint: Option<String>) {
        self.total += 1;
        if self.listed.len() < LISTED_PROBLEMS {
            self.listed.push(Problem { file: file.to_owned(), line, what, hint });
        }
    }

    fn add_table(&mut self, file: &str, error: &TableError) {
        self.add(file, error.line(), error.to_string(), error.hint());
    }
}

/// The records of one file; whatever is wrong with it is added to `problems`.
pub(super) fn read_csv(
    file: &str,
    family: Family,
    bytes: &[u8],
    problems: &mut Problems,
) -> Vec<Record> {
    let table = match text_of(bytes).and_then(Table::open) {
        Ok(table) => table,
        Err(error) => {
            problems.add_table(file, &error);
            return Vec::new();
        }
    };
    if let Some(unfinished) = table.unfinished() {
        let what = format!("`{}` has no line end: the file was cut", unfinished.text);
        let hint = "restore the file, or remove its last line if it is not needed".to_owned();
        problems.add(file, Some(unfinished.line), what, Some(hint));
    }
    if !check_header(file, family, &table, problems) {
        return Vec::new();
    }
    read_rows(file, family, &table, problems)
}

fn read_rows(
    file: &str,
    family: Family,
    table: &Table<'_>,
    problems: &mut Problems,
) -> Vec<Record> {
    let mut records = Vec::new();
    for row in table.rows() {
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                problems.add_table(file, &error);
                if matches!(error, TableError::SecondHeader { .. }) {
                    break;
                }
                continue;
            }
        };
        match read_row(family, table, &row) {
            Ok(record) => records.push(record),
            Err(error) => {
                problems.add(file, Some(row.line), error.to_string(), error.hint());
            }
        }
    }
    records
}

fn read_row(family: Family, table: &Table<'_>, row: &Row<'_>) -> Result<Record, FieldError> {
    let get = |name: &str| table.column(name).map(|column| row.cells[column].as_ref());
    if family != Family::Custom {
        return read_record(family, &get);
    }
    let parameters = table
        .header()
        .iter()
        .zip(&row.cells)
        .filter(|(name, _)| !is_reserved(name))
        .map(|(name, cell)| match cell.parse() {
            Ok(value) => Ok((name.clone().into_owned(), value)),
            Err(_) => Err(FieldError::NotAnInteger {
                column: Cow::Owned(name.clone().into_owned()),
                value: cell.clone().into_owned(),
            }),
        })
        .collect::<Result<Vec<(String, u64)>, FieldError>>()?;
    let op = get("op").unwrap_or_default().to_owned();
    let point = Point::Custom(CustomPoint { op, parameters });
    point.check()?;
    read_about(point, &get)
}

/// Whether a column of a custom op's file is not one of its parameters.
fn is_reserved(column: &str) -> bool {
    column == "op" || RECORD_COLUMNS.contains(&column)
}

/// Every column known, every base column there.
fn check_header(file: &str, family: Family, table: &Table<'_>, problems: &mut Problems) -> bool {
    let line = Some(table.header_line());
    let before = problems.total;
    if let Err(error) = table.refuse_repeated(0..table.header().len()) {
        problems.add_table(file, &error);
    }
    // Without a time column every row must say why it has none.
    let required: &[&str] = if family == Family::Custom { &["op"] } else { base_columns(family) };
    for column in required.iter().chain(&["time_us"]) {
        if table.column(column).is_none() {
            problems.add(file, line, format!("column `{column}` is missing"), None);
        }
    }
    if family == Family::Custom {
        return problems.total == before;
    }
    let known: Vec<&str> = columns(family).iter().chain(&RECORD_COLUMNS).copied().collect();
    for column in table.header() {
        if !known.contains(&column.as_ref()) {
            let unknown = nearest::unknown("column", column, &known);
            problems.add(file, line, unknown.to_string(), Some(unknown.hint()));
        }
    }
    problems.total == before
}
