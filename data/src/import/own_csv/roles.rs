//! Which columns of a table say how long a point took and under which conditions; the rest are
//! left for its parameters.

use std::path::Path;

use crate::import::ImportError;
use crate::import::own_csv::marks::{self, Mark};
use crate::import::own_csv::names;
use crate::import::own_csv::rate_names::{self, Rate};
use crate::import::own_csv::times::{self, TimeColumn, Witness};
use crate::table::Table;

/// Columns that give the reason why there is no time, where no column `reason` does.
const ERROR_TEXTS: [&str; 3] = ["error", "message", "error_message"];

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
    /// Other durations that the time must agree with.
    pub witnesses: Vec<Witness>,
    pub rates: Vec<RateColumn>,
    pub samples: Option<usize>,
    pub skipped: Option<usize>,
    pub status: Option<usize>,
    pub reason: Option<usize>,
    /// Columns that may say that a row is no good.
    pub marks: Vec<Mark>,
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
        let marks = self.marks.iter().map(|mark| mark.index);
        let found = optional.into_iter().chain(others).flatten().chain(marks);
        std::iter::once(time.index).chain(rates).chain(found).collect()
    }

    /// Whether a column may say that its row is no good.
    pub fn is_mark(&self, column: usize) -> bool {
        self.marks.iter().any(|mark| mark.index == column)
    }

    /// Finds the roles and takes their columns. Statistics of the samples that are not the
    /// time of the point stay free.
    pub fn find(
        columns: &mut Columns,
        table: &Table<'_>,
        path: &Path,
    ) -> Result<Roles, ImportError> {
        let time = times::time_column(columns, table, path)?;
        columns.mark_taken(time.index);
        let witnesses = times::witnesses(columns, table, &time);
        let mut rates = Vec::new();
        for (index, name) in table.header().iter().enumerate() {
            if let Some(rate) = rate_names::rate(name).filter(|_| !columns.taken[index]) {
                columns.taken[index] = true;
                rates.push(RateColumn { index, rate });
            }
        }
        Ok(Roles {
            time,
            witnesses,
            rates,
            samples: columns.take(&["samples", "num_samples", "sample_count", "nsamples"]),
            skipped: columns.take(&["skipped", "skip", "skip_reason"]),
            status: columns.take(&[
                "status",
                "state",
                "outcome",
                "exit_code",
                "exit_status",
                "return_code",
                "returncode",
            ]),
            reason: columns.take(&["reason"]).or_else(|| columns.find(&ERROR_TEXTS)),
            marks: marks::find(columns, table),
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
            kernel: columns.take(&[
                "kernel",
                "kernel_name",
                "kernel_source",
                "backend",
                "algorithm",
                "algo",
            ]),
            in_place: columns.take(&["inplace", "in_place"]),
            wrong: columns.take(&["#wrong", "wrong"]),
        })
    }
}
