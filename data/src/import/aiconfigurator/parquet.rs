//! The Parquet form, through the row reader of the `parquet` crate: no arrow.
//!
//! That crate panics on some damaged files (version 60: negative column offsets, pages that
//! claim more than they hold), so every call into it is [`guarded`].

use std::cell::Cell as Flag;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::row::Cell;

/// More rows than any table of this kind has: a damaged footer may claim anything.
const MOST_ROWS: i64 = 20_000_000;

/// An opened file.
pub(super) struct Table {
    file: SerializedFileReader<Bytes>,
}

impl Table {
    /// Reads the footer.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn open(bytes: &[u8]) -> Result<Table, String> {
        let file =
            guarded(|| SerializedFileReader::new(Bytes::copy_from_slice(bytes)).map_err(problem))?;
        let rows = file.metadata().file_metadata().num_rows();
        if !(0..=MOST_ROWS).contains(&rows) {
            return Err(format!("a Parquet file that claims {rows} rows"));
        }
        Ok(Table { file })
    }

    /// The column names in file order.
    pub fn columns(&self) -> Vec<String> {
        let schema = self.file.metadata().file_metadata().schema_descr();
        schema.columns().iter().map(|column| column.name().to_owned()).collect()
    }

    /// Calls `each` with the number (from 1) and the cells of every row.
    ///
    /// # Errors
    /// The first of `each`, or of the file as `damaged` words it.
    pub fn each_row<E>(
        &self,
        damaged: impl Fn(String) -> E,
        mut each: impl FnMut(usize, &[Cell<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rows =
            guarded(|| self.file.get_row_iter(None).map_err(problem)).map_err(&damaged)?;
        let mut number = 0;
        while let Some(row) =
            guarded(|| rows.next().transpose().map_err(problem)).map_err(&damaged)?
        {
            number += 1;
            let fields = row.get_column_iter();
            let cells: Vec<Cell<'_>> = fields.map(|(_, field)| cell(field)).collect();
            each(number, &cells)?;
        }
        Ok(())
    }
}

thread_local! {
    /// Whether a panic of this thread is caught by [`guarded`] and needs no report.
    static GUARDED: Flag<bool> = const { Flag::new(false) };
}

/// Runs `call`; a panic inside becomes an error, and nothing is printed about it.
fn guarded<T>(call: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                report(panic);
            }
        }));
    });
    GUARDED.set(true);
    // What `call` borrows is dropped unread after an error.
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    GUARDED.set(false);
    result.unwrap_or_else(|_| {
        Err("not readable as Parquet: its parts do not fit together".to_owned())
    })
}

fn problem(error: ParquetError) -> String {
    format!("not readable as Parquet: {error}")
}

fn cell(field: &Field) -> Cell<'_> {
    match field {
        Field::Str(text) => Cell::Text(text.trim()),
        Field::Byte(value) => Cell::Whole(i64::from(*value)),
        Field::Short(value) => Cell::Whole(i64::from(*value)),
        Field::Int(value) => Cell::Whole(i64::from(*value)),
        Field::Long(value) => Cell::Whole(*value),
        Field::UByte(value) => Cell::Whole(i64::from(*value)),
        Field::UShort(value) => Cell::Whole(i64::from(*value)),
        Field::UInt(value) => Cell::Whole(i64::from(*value)),
        Field::ULong(value) => i64::try_from(*value).map_or(Cell::Missing, Cell::Whole),
        Field::Float(value) => Cell::Real(f64::from(*value)),
        Field::Double(value) => Cell::Real(*value),
        _ => Cell::Missing,
    }
}
