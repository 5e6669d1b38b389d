//! Tables of the aiconfigurator performance database: GEMM, NCCL and attention.
//!
//! Parquet since 2026, comma-separated text before; the columns are the same, and older files
//! have fewer. `latency` is in milliseconds; `message_size` of the NCCL tables counts elements.
//! The kernel that ran becomes [`Conditions::kernel`]: one shape measured with several kernels
//! gives several records.
//!
//! Left to others: tables of further ops, which are refused by name.

mod attention;
mod gemm;
mod nccl;
#[cfg(feature = "parquet")]
mod parquet;
mod row;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use super::selection::Selection;
use super::{ImportError, ImportOptions, ImportSummary, Imported};
use crate::conditions::Conditions;
use crate::measurement::{Failure, Flags, Measurement, Outcome, Record};
use crate::point::Point;
use crate::table::Table;
use crate::units::{Nanos, UnitError};
use row::{Cell, Row};

/// Whether `text` is such a table in its older, comma-separated form.
pub(crate) fn recognises(text: &str) -> bool {
    Table::open(text).is_ok_and(|table| {
        let names: Vec<&str> = table.header().iter().map(AsRef::as_ref).collect();
        is_header(&names)
    })
}

fn is_header(names: &[&str]) -> bool {
    let has = |name: &str| names.contains(&name);
    let described = has("op_name") && (has("kernel_source") || has("framework"));
    has("latency") && (described || has("gemm_dtype") || has("nccl_dtype") || has("kv_cache_dtype"))
}

/// Reads the comma-separated form.
///
/// # Errors
/// Refuses what is no table, tables of other ops, and tables of several devices.
pub(crate) fn read_text(
    text: &str,
    path: &Path,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    let of_table = |problem| ImportError::Table { path: path.to_owned(), problem };
    let table = Table::open(text).map_err(of_table)?;
    let names: Vec<String> = table.header().iter().map(ToString::to_string).collect();
    let mut reader = Reader::new(names, path, options)?;
    for row in table.rows() {
        match row {
            Ok(row) => {
                let cells: Vec<Cell<'_>> = row.cells.iter().map(|cell| Cell::Text(cell)).collect();
                reader.row(row.line, &cells)?;
            }
            Err(problem @ crate::table::TableError::SecondHeader { .. }) => {
                return Err(of_table(problem));
            }
            Err(problem) => {
                let line = problem.line().unwrap_or_default();
                reader.imported.summary.drop_line(problem.to_string(), line);
            }
        }
    }
    if let Some(unfinished) = table.unfinished() {
        let reason = "last line has no end: it may be cut";
        reader.imported.summary.drop_line(reason, unfinished.line);
    }
    reader.finish()
}

/// Reads the Parquet form.
///
/// # Errors
/// As [`read_text`]; refuses every file when built without the feature `parquet`.
#[cfg(feature = "parquet")]
pub(crate) fn read_parquet(
    bytes: &[u8],
    path: &Path,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    let damaged = |problem: String| {
        ImportError::refused(path, None, problem, "the file may be cut or damaged")
    };
    let table = parquet::Table::open(bytes).map_err(damaged)?;
    let names = table.columns();
    let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
    if !is_header(&borrowed) {
        let found = format!("Parquet with columns {}", borrowed.join(", "));
        return Err(ImportError::UnknownFormat { path: path.to_owned(), found });
    }
    let mut reader = Reader::new(names, path, options)?;
    table.each_row(damaged, |number, cells| reader.row(number, cells))?;
    reader.finish()
}

/// Reads the Parquet form.
///
/// # Errors
/// Always: this build cannot.
#[cfg(not(feature = "parquet"))]
pub(crate) fn read_parquet(
    _bytes: &[u8],
    path: &Path,
    _options: &ImportOptions,
) -> Result<Imported, ImportError> {
    let reason = "a Parquet file, which this build does not read";
    Err(ImportError::refused(path, None, reason, "build with the feature `parquet`"))
}

/// The tables that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Gemm,
    Nccl,
    Attention,
}

impl Kind {
    fn of(names: &[String]) -> Option<Kind> {
        let has = |wanted: &[&str]| wanted.iter().all(|name| names.iter().any(|n| n == name));
        if has(&["gemm_dtype", "m", "n", "k"]) && !has(&["num_experts"]) {
            return Some(Kind::Gemm);
        }
        if has(&["nccl_dtype", "num_gpus", "message_size"]) {
            return Some(Kind::Nccl);
        }
        let attention = ["batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim"];
        has(&attention).then_some(Kind::Attention)
    }
}

/// Rows of one file becoming records.
struct Reader<'a> {
    kind: Kind,
    names: Rc<[String]>,
    path: &'a Path,
    options: &'a ImportOptions,
    imported: Imported,
    versions: BTreeMap<String, BTreeSet<String>>,
    selection: Selection,
}

impl<'a> Reader<'a> {
    fn new(
        names: Vec<String>,
        path: &'a Path,
        options: &'a ImportOptions,
    ) -> Result<Self, ImportError> {
        let Some(kind) = Kind::of(&names) else {
            let reason = format!("an aiconfigurator table of another op ({})", names.join(", "));
            let hint = "read are the tables gemm_perf, nccl_perf, context_attention_perf and \
                        generation_attention_perf";
            return Err(ImportError::refused(path, None, reason, hint));
        };
        let selection = Selection::of(&options.conditions, &names, path, None)?;
        let (imported, versions) = (Imported::default(), BTreeMap::new());
        Ok(Reader { kind, names: names.into(), path, options, imported, versions, selection })
    }

    fn row(&mut self, number: usize, cells: &[Cell<'_>]) -> Result<(), ImportError> {
        let names = Rc::clone(&self.names);
        let row = Row::new(&names, cells);
        if !self.selection.is_empty() && !self.selection.keeps(|column| row.shown(column)) {
            return Ok(());
        }
        self.facts(number, &row)?;
        let point = match self.kind {
            Kind::Gemm => gemm::point(&row),
            Kind::Nccl => nccl::point(&row, self.options),
            Kind::Attention => attention::point(&row, self.path, self.options),
        };
        let point = point.and_then(|point| match point.check() {
            Ok(()) => Ok(point),
            Err(error) => Err(error.to_string()),
        });
        match point {
            Ok(point) => {
                let record = self.record(point, &row);
                if let (Some(latency), Some(time)) = (row.real("latency"), record.time()) {
                    self.imported.summary.see_rounding(latency * 1e6, time);
                }
                self.imported.records.push(record);
            }
            Err(reason) => self.imported.summary.drop_line(reason, number),
        }
        Ok(())
    }

    /// Device and versions; a second device in one file is an error.
    fn facts(&mut self, number: usize, row: &Row<'_>) -> Result<(), ImportError> {
        if let Some(device) = row.text("device") {
            let known = self.imported.machine.device.get_or_insert_with(|| device.to_owned());
            if known != device {
                let reason = format!("measured on `{device}`, the rows before on `{known}`");
                let hint = "import one device per data set";
                return Err(ImportError::refused(self.path, number, reason, hint));
            }
        }
        let software = match self.kind {
            // Its version column is NCCL's, whatever framework ran the test.
            Kind::Nccl => Some("nccl".to_owned()),
            _ => row.text("framework").map(str::to_lowercase),
        };
        if let (Some(software), Some(version)) = (software, row.text("version"))
            && !self.versions.get(&software).is_some_and(|known| known.contains(version))
        {
            self.versions.entry(software).or_default().insert(version.to_owned());
        }
        Ok(())
    }

    fn record(&self, point: Point, row: &Row<'_>) -> Record {
        let kernel = match self.kind {
            Kind::Nccl => "",
            _ => row.text("kernel_source").unwrap_or_default(),
        };
        Record {
            point,
            conditions: Conditions { kernel: kernel.to_owned(), ..Conditions::default() },
            outcome: outcome(row.real("latency")),
            flags: Flags::NONE,
        }
    }

    fn finish(mut self) -> Result<Imported, ImportError> {
        if self.imported.records.is_empty() {
            self.selection.refuse_nothing_left(self.path)?;
            let dropped = self.imported.summary.dropped.first();
            let line = dropped.and_then(|dropped| dropped.lines.first().copied());
            let reason = match dropped {
                Some(dropped) => format!("no usable rows; the first: {}", dropped.reason),
                None => "the table has no rows".to_owned(),
            };
            return Err(ImportError::refused(self.path, line, reason, ""));
        }
        let summary: &mut ImportSummary = &mut self.imported.summary;
        self.selection.notes().for_each(|note| summary.note(note));
        for (software, versions) in self.versions {
            let all: Vec<String> = versions.into_iter().collect();
            if all.len() > 1 {
                summary.note(format!("rows of several {software} versions: {}", all.join(", ")));
            }
            self.imported.machine.software.insert(software, all.join(" and "));
        }
        if self.kind == Kind::Nccl && self.options.nodes.is_none() {
            summary.note("the table names no hosts: taken as one node (`--nodes` states another)");
        }
        summary.count(&self.imported.records);
        Ok(self.imported)
    }
}

/// The outcome of a latency in milliseconds.
fn outcome(latency_ms: Option<f64>) -> Outcome {
    let Some(latency) = latency_ms else {
        return Outcome::Failed(Failure::NoValidSamples("no latency".to_owned()));
    };
    match Nanos::measured(latency * 1e6) {
        Ok(time) => Outcome::Measured(Measurement::stated(time)),
        Err(UnitError::NotPositive(_) | UnitError::BelowResolution(_)) => {
            Outcome::Failed(Failure::BelowTimerResolution)
        }
        Err(error) => Outcome::Failed(Failure::NoValidSamples(error.to_string())),
    }
}

#[cfg(test)]
mod tests;
