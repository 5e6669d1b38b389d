//! Which columns of a table say how long a point took and under which conditions; the rest are
//! left for its parameters.

use std::path::Path;

use crate::family::Family;
use crate::import::ImportError;
use crate::import::own_csv::aliases;
use crate::import::own_csv::names::{self, Rate, Statistic};
use crate::point::Collective;
use crate::table::Table;

/// The columns of a table by normalised name, and which of them are spoken for.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    names: Vec<String>,
    taken: Vec<bool>,
}

impl Columns {
    pub fn of(table: &Table<'_>) -> Self {
        let names: Vec<String> = table.header().iter().map(|name| names::normalise(name)).collect();
        let taken = vec![false; names.len()];
        Columns { names, taken }
    }

    /// The first free column with one of these names.
    pub fn find(&self, aliases: &[&str]) -> Option<usize> {
        let position = |alias: &&str| {
            (0..self.names.len()).find(|index| !self.taken[*index] && self.names[*index] == *alias)
        };
        aliases.iter().find_map(position)
    }

    /// As [`Columns::find`]; the column is no longer free.
    pub fn take(&mut self, aliases: &[&str]) -> Option<usize> {
        let found = self.find(aliases);
        if let Some(index) = found {
            self.taken[index] = true;
        }
        found
    }

    /// Takes a column that was found otherwise.
    pub fn mark_taken(&mut self, index: usize) {
        self.taken[index] = true;
    }

    /// The free columns.
    pub fn free(&self) -> impl Iterator<Item = (usize, &str)> {
        let names = self.names.iter().map(String::as_str).enumerate();
        names.filter(|(index, _)| !self.taken[*index])
    }
}

/// A column of durations.
#[derive(Debug, Clone)]
pub(super) struct TimeColumn {
    pub index: usize,
    /// Nanoseconds in its unit.
    pub nanos: f64,
    /// Whether the unit is assumed rather than stated.
    pub assumed: bool,
}

/// A column that follows from the point and its time, and is checked against them.
#[derive(Debug, Clone)]
pub(super) struct RateColumn {
    pub index: usize,
    pub rate: Rate,
}

/// The columns about the measurement rather than the point.
#[derive(Debug, Clone)]
pub(super) struct Roles {
    pub time: TimeColumn,
    pub rates: Vec<RateColumn>,
    pub samples: Option<usize>,
    pub skipped: Option<usize>,
    pub status: Option<usize>,
    pub reason: Option<usize>,
    pub input: Option<usize>,
    pub kernel: Option<usize>,
    /// Whether one buffer served for sending and receiving, as rccl-tests states it.
    pub in_place: Option<usize>,
    /// Wrong results found by the source's own check.
    pub wrong: Option<usize>,
}

impl Roles {
    /// Every column that has a role.
    pub fn columns(&self) -> Vec<usize> {
        let Roles { time, rates, samples, skipped, status, reason, input, kernel, .. } = self;
        let optional = [*samples, *skipped, *status, *reason, *input, *kernel];
        let rates = rates.iter().map(|rate| rate.index);
        let others = [self.in_place, self.wrong];
        let found = optional.into_iter().chain(others).flatten();
        std::iter::once(time.index).chain(rates).chain(found).collect()
    }

    /// Finds the roles and takes their columns. Statistics of the samples that are not the
    /// time of the point stay free.
    pub fn find(
        columns: &mut Columns,
        table: &Table<'_>,
        path: &Path,
    ) -> Result<Roles, ImportError> {
        let time = time_column(columns, table, path)?;
        columns.taken[time.index] = true;
        let mut rates = Vec::new();
        for (index, name) in table.header().iter().enumerate() {
            if let Some(rate) = names::rate(name).filter(|_| !columns.taken[index]) {
                columns.taken[index] = true;
                rates.push(RateColumn { index, rate });
            }
        }
        Ok(Roles {
            time,
            rates,
            samples: columns.take(&["samples", "num_samples", "sample_count", "nsamples"]),
            skipped: columns.take(&["skipped", "skip", "skip_reason"]),
            status: columns.take(&["status", "state", "outcome"]),
            reason: columns.take(&["reason", "error", "message", "error_message"]),
            input: columns.take(&[
                "input",
                "init",
                "input_init",
                "input_content",
                "init_method",
                "initialization",
                "initialisation",
                "fill",
                "data",
                "data_init",
                "contents",
            ]),
            kernel: columns.take(&["kernel", "kernel_source", "backend", "algorithm", "algo"]),
            in_place: columns.take(&["inplace", "in_place"]),
            wrong: columns.take(&["#wrong", "wrong"]),
        })
    }
}

/// How well a duration represents a point: its statistic, then whether the host's clock took
/// it, which includes the launch. The lowest wins.
type Rank = (Statistic, bool);

/// The one column that holds the time of a point: our own `time_us`, else the plainest
/// duration with a unit.
fn time_column(
    columns: &Columns,
    table: &Table<'_>,
    path: &Path,
) -> Result<TimeColumn, ImportError> {
    let header = table.header();
    let refuse = |reason: String, hint: String| {
        Err(ImportError::refused(path, table.header_line(), reason, hint))
    };
    if let Some(index) = columns.find(&["time_us"]) {
        return Ok(TimeColumn { index, nanos: 1e3, assumed: false });
    }
    let mut found: Vec<(Rank, usize, f64)> = Vec::new();
    let mut without_unit = None;
    for (index, name) in columns.free() {
        match names::time_unit(name) {
            Some((stem, nanos)) if names::is_duration(stem) => {
                found.push(((names::statistic(stem), names::is_host(stem)), index, nanos));
            }
            // `us` or `ms` alone; a lone `s` could be anything.
            Some(("", nanos)) if nanos < 1e9 => {
                found.push(((Statistic::Plain, false), index, nanos));
            }
            _ if names::is_duration(name) && name != "t" => without_unit = Some(index),
            _ => {}
        }
    }
    found.retain(|((statistic, _), ..)| *statistic != Statistic::Other);
    found.sort_by_key(|(rank, index, _)| (*rank, *index));
    match (found.as_slice(), without_unit) {
        ([first, second, ..], _) if first.0 == second.0 => {
            let [a, b] = [&header[first.1], &header[second.1]];
            refuse(
                format!("`{a}` and `{b}` could both be the time"),
                format!("remove one of them, or name the one to use `time_us`, say `{a}`"),
            )
        }
        ([(_, index, nanos), ..], _) => {
            Ok(TimeColumn { index: *index, nanos: *nanos, assumed: false })
        }
        ([], Some(index)) if is_collective_table(columns, table) => {
            Ok(TimeColumn { index, nanos: 1e3, assumed: true })
        }
        ([], Some(index)) => {
            let name = &header[index];
            refuse(
                format!("column `{name}` does not say its unit"),
                format!("rename it to `{name}_us`, `{name}_ms`, `{name}_s` or `{name}_ns`"),
            )
        }
        ([], None) => refuse(
            "no column holds a time".to_owned(),
            "name it with its unit: `time_us`, `latency_ms`, `gpu_time_s`".to_owned(),
        ),
    }
}

/// Whether a table has the columns of rccl-tests' CSV output, whose `time` is in microseconds.
fn is_collective_table(columns: &Columns, table: &Table<'_>) -> bool {
    let find = |field| {
        let names = aliases::of(Family::Collective).iter().find(|(name, _)| *name == field)?;
        columns.find(names.1)
    };
    let first = table.rows().flatten().next();
    match (find("collective"), find("bytes"), first) {
        (Some(column), Some(_), Some(row)) => row.cells[column].parse::<Collective>().is_ok(),
        // No row can be read; the first one will say why.
        (Some(_), Some(_), None) => true,
        _ => false,
    }
}
