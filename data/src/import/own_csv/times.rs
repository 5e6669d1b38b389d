//! Which column holds the time of a point, and whether the other durations of its row agree.
//!
//! A table may state one duration twice, in two units, and the extremes of the samples beside
//! their median. They cost nothing to compare, and a unit that is wrong in one of them shows.

use std::path::Path;

use crate::family::Family;
use crate::import::ImportError;
use crate::import::own_csv::aliases;
use crate::import::own_csv::names::{self, Extreme, Statistic};
use crate::import::own_csv::roles::Columns;
use crate::import::printed::Printed;
use crate::point::Collective;
use crate::table::{Row, Table, shorten};

/// A column of durations.
#[derive(Debug, Clone)]
pub(super) struct TimeColumn {
    pub index: usize,
    /// Nanoseconds in its unit.
    pub nanos: f64,
    /// Whether the unit is assumed rather than stated.
    pub assumed: bool,
}

/// How well a duration represents a point: its statistic, then whether the host's clock took
/// it, which includes the launch. The lowest wins.
type Rank = (Statistic, bool);

/// The one column that holds the time of a point: our own `time_us`, else the plainest
/// duration with a unit. Of two columns for the same duration it is the first.
pub(super) fn time_column(
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
    let mut found: Vec<(Rank, usize, f64, String)> = Vec::new();
    let mut without_unit = None;
    for (index, name) in columns.free() {
        match duration(name) {
            Some((stem, nanos)) => {
                let rank = (names::statistic(stem), names::is_host(stem));
                found.push((rank, index, nanos, names::quantity(stem)));
            }
            None if names::is_duration(name) && name != "t" => without_unit = Some(index),
            None => {}
        }
    }
    found.retain(|((statistic, _), ..)| *statistic != Statistic::Other);
    found.sort_by_key(|(rank, index, ..)| (*rank, *index));
    let rival = found.first().and_then(|first| {
        found.iter().skip(1).find(|other| other.0 == first.0 && other.3 != first.3)
    });
    match (found.first(), rival, without_unit) {
        (Some(first), Some(second), _) => {
            let [a, b] = [first.1, second.1].map(|index| shorten(&header[index]));
            refuse(
                format!("`{a}` and `{b}` could both be the time"),
                format!("remove one of them, or name the one to use `time_us`, say `{a}`"),
            )
        }
        (Some((_, index, ..)), None, _) if has_mega(&header[*index]) => {
            let name = shorten(&header[*index]);
            refuse(
                format!("column `{name}` may mean milliseconds or megaseconds"),
                "write the unit as `ms`".to_owned(),
            )
        }
        (Some((_, index, nanos, _)), None, _) => {
            Ok(TimeColumn { index: *index, nanos: *nanos, assumed: false })
        }
        (None, _, Some(index)) if is_collective_table(columns, table) => {
            Ok(TimeColumn { index, nanos: 1e3, assumed: true })
        }
        (None, _, Some(index)) => {
            let name = shorten(&header[index]);
            refuse(
                format!("column `{name}` does not say its unit"),
                format!("rename it to `{name}_us`, `{name}_ms`, `{name}_s` or `{name}_ns`"),
            )
        }
        (None, _, None) => refuse(
            "no column holds a time".to_owned(),
            "name it with its unit: `time_us`, `latency_ms`, `gpu_time_s`".to_owned(),
        ),
    }
}

/// Whether a column name ends with the unit `Ms`, whose capital is a prefix of its own.
fn has_mega(name: &str) -> bool {
    let name = name.trim_end_matches([' ', ')', ']', '}', '_']);
    let stem = name.strip_suffix("Ms");
    stem.is_some_and(|stem| !stem.ends_with(|c: char| c.is_alphanumeric()))
}

/// The name before its unit and the nanoseconds in that unit, of a normalised name that speaks
/// of a duration: `gpu_time_s`, or `us` alone. A lone `s` could be anything.
fn duration(name: &str) -> Option<(&str, f64)> {
    let (stem, nanos) = names::time_unit(name)?;
    let alone = stem.is_empty() && name != "s";
    let extreme = names::extreme(stem).is_some();
    (alone || extreme || names::is_duration(stem)).then_some((stem, nanos))
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

/// What another column says about the time of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// The same duration.
    Same,
    /// The fastest or the slowest of the same samples.
    Extreme(Extreme),
}

/// A column that the time of its row must agree with.
#[derive(Debug, Clone)]
pub(super) struct Witness {
    index: usize,
    nanos: f64,
    says: Says,
}

/// The columns that witness `time`, in header order; they are no longer free.
pub(super) fn witnesses(
    columns: &mut Columns,
    table: &Table<'_>,
    time: &TimeColumn,
) -> Vec<Witness> {
    let own = names::normalise(&table.header()[time.index]);
    let stem = names::time_unit(&own).map_or(own.as_str(), |(stem, _)| stem);
    let (quantity, statistic) = (names::quantity(stem), names::statistic(stem));
    let says = |name: &str| {
        let (other, nanos) =
            duration(name).filter(|(other, _)| names::quantity(other) == quantity)?;
        match names::extreme(other) {
            Some(extreme) => Some((Says::Extreme(extreme), nanos)),
            None if statistic == names::statistic(other) && statistic != Statistic::Other => {
                Some((Says::Same, nanos))
            }
            None => None,
        }
    };
    let found: Vec<Witness> = columns
        .free()
        .filter_map(|(index, name)| says(name).map(|(says, nanos)| Witness { index, nanos, says }))
        .filter(|witness| witness.says == Says::Same || !is_setting(table, witness.index))
        .collect();
    for witness in &found {
        columns.mark_taken(witness.index);
    }
    found
}

/// Whether a column holds the same value in every row: `min_time_s` of a benchmark's settings
/// rather than the fastest of its samples.
fn is_setting(table: &Table<'_>, column: usize) -> bool {
    let mut rows = table.rows().flatten();
    let Some(first) = rows.next() else { return false };
    let mut others = rows.peekable();
    others.peek().is_some() && others.all(|row| row.cells[column] == first.cells[column])
}

/// The names of the columns that repeat the time.
pub(super) fn repeats<'a>(
    witnesses: &'a [Witness],
    table: &'a Table<'_>,
) -> impl Iterator<Item = &'a str> {
    let same = witnesses.iter().filter(|witness| witness.says == Says::Same);
    same.map(|witness| table.header()[witness.index].as_ref())
}

/// Compares the time of `row` with its witnesses. A cell that is no number says nothing.
///
/// # Errors
/// The reason and the hint of a refusal, with both columns and both values.
pub(super) fn compare(
    table: &Table<'_>,
    row: &Row<'_>,
    time: &TimeColumn,
    witnesses: &[Witness],
) -> Result<(), (String, String)> {
    /// Decimal fractions of another unit are not exact in binary.
    const EXACT: f64 = 1e-9;
    let Some(stated) = Printed::parse(&row.cells[time.index]) else { return Ok(()) };
    let (low, high) = (stated.low() * time.nanos, stated.high() * time.nanos);
    if low <= 0.0 {
        // A time of no significant digit.
        return Ok(());
    }
    for witness in witnesses {
        let Some(other) = Printed::parse(&row.cells[witness.index]) else { continue };
        // What each says at least and at most, as a share of the time.
        let least = other.low() * witness.nanos / high;
        let most = other.high() * witness.nanos / low;
        let problem = match witness.says {
            Says::Same if least > 1.0 + EXACT || most < 1.0 - EXACT => {
                "two columns for one duration that disagree"
            }
            // 4 below 5: both would have to be 4.5 for rounding to explain it.
            Says::Extreme(Extreme::Fastest) if least > 1.0 - EXACT => {
                "a time below the fastest of its samples"
            }
            Says::Extreme(Extreme::Slowest) if most < 1.0 + EXACT => {
                "a time above the slowest of its samples"
            }
            _ => continue,
        };
        let [a, b] = [time.index, witness.index].map(|index| shorten(&table.header()[index]));
        let [of_a, of_b] = [time.index, witness.index].map(|index| shorten(&row.cells[index]));
        let hint = match witness.says {
            Says::Same => format!("correct the unit in the name of one of them, or remove `{b}`"),
            Says::Extreme(_) => format!("correct the unit of `{a}` or `{b}`, or remove `{b}`"),
        };
        return Err((format!("{a} is {of_a}, but {b} is {of_b}: {problem}"), hint));
    }
    Ok(())
}
