//! Benchmark tables in CSV whose columns say what they hold: our own, and anybody's.
//!
//! The columns decide the family (`m`, `n`, `k` make a GEMM), the unit in a name decides the
//! time (`latency_ms`, `gpu_time_s`), and what no family describes becomes a custom op with its
//! columns of whole numbers as parameters. A row becomes a record or is dropped with its line
//! and the reason; a point without a time keeps its reason and gets no time.
//!
//! Left to others: reading cells (`table`), the fields of a point (`fields`), repeats of a point
//! and chains of failures (`repeats`, `cascade`).

mod aliases;
mod custom;
mod inputs;
mod layout;
mod marks;
mod names;
mod op_name;
mod outcome;
mod rate_names;
mod rates;
mod roles;
mod strays;
#[cfg(test)]
mod tests;
mod times;

use std::path::Path;

use crate::diagnostic::Diagnostic;
use crate::family::Family;
use crate::fields::{FieldError, microseconds, read_about, read_point};
use crate::import::nccl_tests::IN_PLACE;
use crate::import::selection::Selection;
use crate::import::{ImportError, ImportOptions, ImportSummary, Imported, cascade, repeats};
use crate::measurement::{Flag, Record};
use crate::point::Point;
use crate::table::{Row, Table, TableError};
use crate::units::Nanos;
use custom::whole_number;
use inputs::Inputs;
use layout::Layout;
use marks::Verdict;
use outcome::{Cells, Judged};
use strays::Strays;

/// Reads a benchmark table.
///
/// # Errors
/// What makes the whole table untrustworthy or unreadable; in strict mode any row that would
/// be dropped.
pub(crate) fn read(
    text: &str,
    path: &Path,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    let broken = |problem| ImportError::Table { path: path.to_owned(), problem };
    let mut table = Table::open(text).map_err(broken)?;
    let mut summary = ImportSummary::default();
    select(&mut table, path, options, &mut summary)?;
    let layout = Layout::find(&table, path, options, &mut summary)?;
    table.refuse_repeated(layout.columns()).map_err(broken)?;
    let inputs = Inputs::of(&table, path, &layout, options, &mut summary)?;
    let reader = Reader { table: &table, path, layout: &layout, inputs: &inputs };
    let mut strays = Strays::of(&table, &layout.unused);
    let mut records = reader.records(&mut summary, &mut strays)?;
    strays.refuse(path, &records)?;
    for name in times::repeats(&layout.roles.witnesses, &table) {
        let kept = &table.header()[layout.roles.time.index];
        summary.note(format!("`{name}` repeats `{kept}`, which is kept"));
    }
    if let Some(unfinished) = table.unfinished() {
        summary.drop_line("the last line has no line end: it was cut", unfinished.line);
    }
    if options.strict {
        refuse_dropped(path, &summary)?;
    }
    if records.is_empty() {
        return Err(nothing_left(path, &summary));
    }
    if let Some(custom) = &layout.custom {
        custom.note_names(&table, &mut summary);
    }
    cascade::fold(&mut records, &mut summary);
    let records = repeats::fold_identical(records, &mut summary);
    summary.count(&records);
    Ok(Imported { records, summary, ..Imported::default() })
}

/// Leaves out the rows that the caller does not want, and says how many.
fn select(
    table: &mut Table<'_>,
    path: &Path,
    options: &ImportOptions,
    summary: &mut ImportSummary,
) -> Result<(), ImportError> {
    let line = table.header_line();
    let mut selection = Selection::of(&options.conditions, table.header(), path, Some(line))?;
    if selection.is_empty() {
        return Ok(());
    }
    table.retain(|row| selection.keeps(|column| row.cells[column].as_ref()));
    if table.rows().flatten().next().is_none() {
        selection.refuse_nothing_left(path)?;
    }
    selection.notes().for_each(|note| summary.note(note));
    Ok(())
}

fn refuse_dropped(path: &Path, summary: &ImportSummary) -> Result<(), ImportError> {
    match summary.dropped.first() {
        Some(dropped) => {
            let hint = "without --strict the line is dropped and counted";
            let line = dropped.lines.first().copied();
            Err(ImportError::refused(path, line, dropped.reason.clone(), hint))
        }
        None => Ok(()),
    }
}

fn nothing_left(path: &Path, summary: &ImportSummary) -> ImportError {
    match summary.dropped.first() {
        Some(dropped) => {
            let reason = format!("no row could be read; the first: {}", dropped.reason);
            let hint = match dropped.reason.contains("cells, but the header has") {
                true => "decimal commas? use '.' as decimal sign and ',' as separator",
                false => "",
            };
            ImportError::refused(path, dropped.lines.first().copied(), reason, hint)
        }
        None => ImportError::refused(path, None, "the table has no rows", ""),
    }
}

/// Turns rows into records.
struct Reader<'a> {
    table: &'a Table<'a>,
    path: &'a Path,
    layout: &'a Layout,
    inputs: &'a Inputs,
}

/// Why a row is no record.
enum Rejected {
    /// The row alone is dropped.
    Row(String),
    /// The whole table is refused.
    Table(ImportError),
}

impl<'a> Reader<'a> {
    fn records(
        &self,
        summary: &mut ImportSummary,
        strays: &mut Strays<'a>,
    ) -> Result<Vec<Record>, ImportError> {
        let mut records = Vec::new();
        for row in self.table.rows() {
            match row {
                Ok(row) => match self.record(&row, summary) {
                    Ok(record) => {
                        strays.see(&row);
                        records.push(record);
                    }
                    Err(Rejected::Row(reason)) => summary.drop_line(reason, row.line),
                    Err(Rejected::Table(error)) => return Err(error),
                },
                Err(problem @ (TableError::SecondHeader { .. } | TableError::Separator { .. })) => {
                    return Err(ImportError::Table { path: self.path.to_owned(), problem });
                }
                Err(problem) => {
                    summary.drop_line(problem.to_string(), problem.line().unwrap_or_default());
                }
            }
        }
        Ok(records)
    }

    fn record(&self, row: &Row<'_>, summary: &mut ImportSummary) -> Result<Record, Rejected> {
        if let Some(reason) = self.inputs.leaves_out(row) {
            return Err(Rejected::Row(reason));
        }
        let reject = |error| self.reject(row, error);
        let point = self.point(row).map_err(reject)?;
        let cells = self.cells(row);
        let is_fine = outcome::is_fine(cells.status);
        let verdict = marks::verdict(&self.layout.roles.marks, self.table, row, is_fine);
        let judged = outcome::judge(&cells, verdict.as_ref()).map_err(reject)?;
        if let Judged::Time(time) = judged {
            self.see_rounding(row, time, summary);
            self.check_durations(row)?;
            self.check_rates(row, &point, time, summary)?;
        }
        let mut record = self.about(row, point, &judged).map_err(reject)?;
        if verdict == Some(Verdict::Wrong) {
            record.flags.insert(Flag::FailedCheck);
        }
        Ok(record)
    }

    fn cell<'row>(&self, row: &'row Row<'_>, column: Option<usize>) -> &'row str {
        column.map(|column| row.cells[column].as_ref()).unwrap_or_default()
    }

    /// The value of a field of the point: its cell, else what is stated for the whole table.
    fn field<'row>(&'row self, row: &'row Row<'_>, name: &str) -> Option<&'row str> {
        let cell = |name| whole_number(self.cell(row, self.layout.column(name)));
        let stated = self.layout.stated.iter().find(|(field, _)| *field == name);
        let stated = stated.map(|(_, value)| value.as_str());
        let value = Some(cell(name)).filter(|value| !value.is_empty()).or(stated);
        if value.is_some() || self.layout.family != Family::Attention {
            return value;
        }
        match name {
            "kv_heads" => Some(cell("heads")),
            "kv_len" => Some(cell("query_len")),
            _ => None,
        }
    }

    fn point(&self, row: &Row<'_>) -> Result<Point, FieldError> {
        if let Some(custom) = &self.layout.custom {
            return custom.point(row);
        }
        // A table of generation steps with one length gives the keys; the query is one token.
        let one_query = self.layout.family == Family::Attention
            && self.layout.column("kv_len").is_none()
            && matches!(self.field(row, "phase"), Some("generation" | "decode"));
        read_point(self.layout.family, &|name| match name {
            "query_len" if one_query => Some("1"),
            _ => self.field(row, name),
        })
    }

    fn cells<'row>(&'row self, row: &'row Row<'_>) -> Cells<'row> {
        let roles = &self.layout.roles;
        Cells {
            time: self.cell(row, Some(roles.time.index)),
            nanos: roles.time.nanos,
            time_column: &self.table.header()[roles.time.index],
            samples: roles.samples.map(|column| row.cells[column].as_ref()),
            skipped: self.cell(row, roles.skipped),
            status: self.cell(row, roles.status),
            reason: self.cell(row, roles.reason),
        }
    }

    fn see_rounding(&self, row: &Row<'_>, time: Nanos, summary: &mut ImportSummary) {
        let column = &self.layout.roles.time;
        if let Ok(stated) = row.cells[column.index].parse::<f64>() {
            summary.see_rounding(stated * column.nanos, time);
        }
    }

    fn check_durations(&self, row: &Row<'_>) -> Result<(), Rejected> {
        let roles = &self.layout.roles;
        times::compare(self.table, row, &roles.time, &roles.witnesses).map_err(|(reason, hint)| {
            Rejected::Table(ImportError::refused(self.path, row.line, reason, hint))
        })
    }

    fn check_rates(
        &self,
        row: &Row<'_>,
        point: &Point,
        time: Nanos,
        summary: &mut ImportSummary,
    ) -> Result<(), Rejected> {
        let sizes = self.sizes(row);
        for column in &self.layout.roles.rates {
            let name = &self.table.header()[column.index];
            let stated = &row.cells[column.index];
            let found = rates::check(name, column.rate, stated, point, &sizes, time);
            let Some(found) = found else { continue };
            if found.certain {
                let refused = ImportError::refused(self.path, row.line, found.reason, found.hint);
                return Err(Rejected::Table(refused));
            }
            let already = format!("`{name}` does not follow from size and time");
            if !summary.notes.iter().any(|note| note.starts_with(&already)) {
                let (line, reason) = (row.line, found.reason);
                summary.note(format!("{already}: {reason} (line {line})"));
            }
        }
        Ok(())
    }

    /// The bytes a row states, in each reading of their unit.
    fn sizes(&self, row: &Row<'_>) -> Vec<f64> {
        let Some((column, units)) = self.layout.size else { return Vec::new() };
        match row.cells[column].parse::<f64>() {
            Ok(size) if size > 0.0 => units.iter().map(|unit| size * unit).collect(),
            _ => Vec::new(),
        }
    }

    /// The record of a judged row. Spread, flags and the like are read where the table has
    /// our own columns for them.
    fn about(&self, row: &Row<'_>, point: Point, judged: &Judged) -> Result<Record, FieldError> {
        let (status, reason) = judged.status_and_reason();
        let time = match judged {
            Judged::Time(time) => microseconds(*time),
            _ => String::new(),
        };
        let roles = &self.layout.roles;
        let samples = whole_number(self.cell(row, roles.samples));
        let in_place = matches!(self.cell(row, roles.in_place), "1" | "true");
        let kernel = match self.cell(row, roles.kernel) {
            "" if in_place => IN_PLACE,
            kernel => kernel,
        };
        let mut record = read_about(point, &|name| match name {
            "time_us" => Some(time.as_str()),
            "status" => Some(status),
            "reason" => Some(&reason),
            "samples" => Some(samples),
            "input" => Some(self.cell(row, roles.input)),
            "kernel" => Some(kernel),
            _ if name.starts_with("time_") && !self.layout.has_spread => None,
            _ => {
                let column = self.table.column(name).filter(|column| !roles.is_mark(*column));
                column.map(|column| row.cells[column].as_ref())
            }
        })?;
        if self.cell(row, roles.wrong).parse::<f64>().is_ok_and(|wrong| wrong > 0.0) {
            record.flags.insert(Flag::FailedCheck);
        }
        Ok(record)
    }

    /// A decimal comma concerns the whole table; anything else its row.
    fn reject(&self, row: &Row<'_>, error: FieldError) -> Rejected {
        match &error {
            FieldError::NotAnInteger { value, .. } | FieldError::NotANumber { value, .. }
                if value.contains(',') =>
            {
                let hint = error.hint().unwrap_or_default();
                Rejected::Table(ImportError::refused(self.path, row.line, error.to_string(), hint))
            }
            _ => Rejected::Row(error.to_string()),
        }
    }
}
