//! Tables of ops that no family describes: every column of whole numbers is a parameter.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::fields::{FieldError, RECORD_COLUMNS};
use crate::import::own_csv::names::{self, word};
use crate::import::own_csv::op_name::op_name;
use crate::import::own_csv::roles::Columns;
use crate::import::{ImportError, ImportOptions, ImportSummary};
use crate::point::{CustomPoint, MAX_PARAMETERS, Point};
use crate::table::{Row, Table, shorten};

/// Whole numbers that count or name measurements rather than describe a point.
pub(super) const NOT_PARAMETERS: [&str; 20] = [
    "seed",
    "run",
    "run_id",
    "trial",
    "repeat",
    "repetition",
    "rep",
    "index",
    "idx",
    "id",
    "row",
    "device",
    "device_id",
    "gpu",
    "gpu_id",
    "iterations",
    "iters",
    "warmup",
    "timestamp",
    "cycle",
];

/// Words more varied than this are measurements or identifiers, not variants.
pub(super) const MOST_WORDS: usize = 64;

/// Where the name and the parameters of a custom point come from.
#[derive(Debug)]
pub(super) struct Source {
    /// The name of the op where no column states it.
    op: String,
    op_column: Option<usize>,
    /// Columns of words that tell variants apart; they follow the op, joined by `/`.
    words: Vec<usize>,
    /// Parameters and their columns, the most varied last: that one is the axis.
    parameters: Vec<(String, usize)>,
}

impl Source {
    /// Finds the parameters among the free columns and takes them.
    ///
    /// # Errors
    /// No parameters at all, or too many.
    pub fn find(
        table: &Table<'_>,
        path: &Path,
        options: &ImportOptions,
        columns: &mut Columns,
        fields: &[(&'static str, usize)],
    ) -> Result<Source, ImportError> {
        let field = |name| fields.iter().find(|(field, _)| *field == name).map(|(_, at)| *at);
        let mut parameters = integer_columns(table, columns);
        if parameters.is_empty() {
            return Err(ImportError::refused(
                path,
                table.header_line(),
                "no column holds whole numbers, so there is nothing to predict from",
                "a table needs columns such as `m`, `n`, `k`, `bytes`, `batch` beside its time",
            ));
        }
        if parameters.len() > MAX_PARAMETERS {
            parameters.retain(|parameter| parameter.values > 1);
        }
        if parameters.len() > MAX_PARAMETERS {
            let names: Vec<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
            return Err(ImportError::refused(
                path,
                table.header_line(),
                format!(
                    "{} columns of whole numbers ({}); at most {MAX_PARAMETERS} can be parameters",
                    names.len(),
                    names.join(", ")
                ),
                "remove the columns that are not parameters, or state --family",
            ));
        }
        parameters.sort_by_key(|parameter| parameter.values);
        let mut words = text_columns(table, columns);
        words.extend(field("dtype"));
        let mut op_column = field("op");
        if options.op.is_some()
            && let Some(column) = op_column.take()
            && values_if(table, column, |_| true, usize::MAX).is_some_and(|values| values > 1)
        {
            // One name for all of them; what told them apart still does.
            words.insert(0, column);
        }
        for column in words.iter().copied().chain(parameters.iter().map(|p| p.column)) {
            columns.mark_taken(column);
        }
        let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
        let op = options.op.as_deref().unwrap_or(&stem);
        Ok(Source {
            op: op.to_owned(),
            op_column,
            words,
            parameters: parameters.into_iter().map(|p| (p.name, p.column)).collect(),
        })
    }

    /// Every column that is used.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        self.words.iter().copied().chain(self.parameters.iter().map(|(_, column)| *column))
    }

    /// What tells the op of a row apart: its name, then its words.
    fn texts<'row>(&'row self, row: &'row Row<'_>) -> Vec<&'row str> {
        let stated = self.op_column.map(|column| row.cells[column].as_ref());
        let op = stated.filter(|stated| !stated.is_empty()).unwrap_or(&self.op);
        let words = self.words.iter().map(|column| row.cells[*column].as_ref());
        std::iter::once(op).chain(words).collect()
    }

    /// Notes which ops could not keep their names.
    pub fn note_names(&self, table: &Table<'_>, summary: &mut ImportSummary) {
        /// Beyond this many they are only counted.
        const LISTED: usize = 8;
        let mut changed: BTreeMap<String, String> = BTreeMap::new();
        for row in table.rows().flatten() {
            let texts = self.texts(&row);
            let name = op_name(&texts);
            let stated = texts.join("/");
            if !name.eq_ignore_ascii_case(stated.trim_end_matches('/')) {
                changed.insert(stated, name);
            }
        }
        for (stated, name) in changed.iter().take(LISTED) {
            summary.note(format!("op `{}` is kept as `{name}`", shorten(stated)));
        }
        if let Some(more) = changed.len().checked_sub(LISTED).filter(|more| *more > 0) {
            summary.note(format!("so are {more} other ops under names that fit"));
        }
    }

    /// The point of a row.
    ///
    /// # Errors
    /// [`FieldError::NotAnInteger`] with the column.
    pub fn point(&self, row: &Row<'_>) -> Result<Point, FieldError> {
        let op = op_name(&self.texts(row));
        let parameters = self
            .parameters
            .iter()
            .map(|(name, column)| {
                let cell = whole_number(&row.cells[*column]);
                let value = cell.parse().map_err(|_| FieldError::NotAnInteger {
                    column: Cow::Owned(name.clone()),
                    value: cell.to_owned(),
                })?;
                Ok((name.clone(), value))
            })
            .collect::<Result<_, FieldError>>()?;
        let point = Point::Custom(CustomPoint { op, parameters });
        point.check()?;
        Ok(point)
    }
}

/// `4096` for `4096.0`, as spreadsheets and data frames write whole numbers.
pub(super) fn whole_number(cell: &str) -> &str {
    match cell.split_once('.') {
        Some((whole, zeros)) if !whole.is_empty() && zeros.bytes().all(|byte| byte == b'0') => {
            whole
        }
        _ => cell,
    }
}

/// A column of whole numbers.
pub(super) struct IntegerColumn {
    pub name: String,
    pub column: usize,
    /// How many different values it has.
    pub values: usize,
}

/// The free columns in which every cell is a whole number.
pub(super) fn integer_columns(table: &Table<'_>, columns: &Columns) -> Vec<IntegerColumn> {
    let is_integer = |cell: &str| whole_number(cell).parse::<u64>().is_ok();
    candidates(columns)
        .filter_map(|(column, name)| {
            let values = values_if(table, column, is_integer, usize::MAX)?;
            let name = word(&name);
            (!name.is_empty()).then_some(IntegerColumn { name, column, values })
        })
        .collect()
}

/// The free columns of words in which at least two words occur, and not too many.
fn text_columns(table: &Table<'_>, columns: &Columns) -> Vec<usize> {
    let is_word = |cell: &str| cell.parse::<f64>().is_err();
    candidates(columns)
        .filter(|(column, _)| {
            values_if(table, *column, is_word, MOST_WORDS).is_some_and(|values| values > 1)
        })
        .map(|(column, _)| column)
        .collect()
}

/// `setup_time_ms` is measured, whether its values are whole or not.
fn is_other_duration(name: &str) -> bool {
    names::time_unit(name).is_some_and(|(stem, _)| names::is_duration(stem))
}

fn candidates(columns: &Columns) -> impl Iterator<Item = (usize, String)> {
    columns
        .free()
        .filter(|(_, name)| !RECORD_COLUMNS.contains(name) && !NOT_PARAMETERS.contains(name))
        .filter(|(_, name)| !is_other_duration(name))
        .map(|(column, name)| (column, name.to_owned()))
}

/// The number of different values of a column if there are any, all of them satisfy `fits`,
/// and there are at most `most`.
fn values_if(
    table: &Table<'_>,
    column: usize,
    fits: impl Fn(&str) -> bool,
    most: usize,
) -> Option<usize> {
    let mut values = BTreeSet::new();
    for row in table.rows().flatten() {
        let cell = row.cells.into_iter().nth(column)?;
        if !fits(&cell) {
            return None;
        }
        values.insert(cell);
        if values.len() > most {
            return None;
        }
    }
    (!values.is_empty()).then_some(values.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_of_data_frames_are_whole() {
        for (cell, whole) in
            [("4096.0", "4096"), ("4096.", "4096"), ("12", "12"), ("1.5", "1.5"), (".0", ".0")]
        {
            assert_eq!(whole_number(cell), whole);
        }
    }
}
