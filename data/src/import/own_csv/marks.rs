//! What a row says against itself: the text of an error, `failed`, `correct`, `valid`.
//!
//! A program that writes a time beside an error measured how fast it fails.

use crate::import::own_csv::names;
use crate::import::own_csv::roles::Columns;
use crate::measurement::Failure;
use crate::table::{Row, Table, shorten};

/// Columns that hold the text or the code of an error.
const ERRORS: [&str; 12] = [
    "error",
    "errors",
    "error_message",
    "error_msg",
    "error_code",
    "err",
    "exception",
    "traceback",
    "message",
    "msg",
    "failure",
    "failure_reason",
];

/// Columns of which a true value means that there is no result.
const FAILED: [&str; 8] =
    ["failed", "is_failed", "has_failed", "fail", "is_error", "has_error", "crashed", "timed_out"];

/// Columns of which a false value means that there is no result.
const VALID: [&str; 10] = [
    "ok",
    "is_ok",
    "valid",
    "is_valid",
    "success",
    "successful",
    "succeeded",
    "is_success",
    "passed",
    "completed",
];

/// Columns of which a false value means that the result is wrong.
const CORRECT: [&str; 13] = [
    "correct",
    "is_correct",
    "correctness",
    "verified",
    "verify",
    "verification",
    "check",
    "checked",
    "check_passed",
    "validation",
    "validated",
    "results_match",
    "match",
];

/// What a column says of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// Any text is an error.
    Error,
    /// Text that is an error unless the status says that all is well.
    Message,
    Failed,
    Valid,
    Correct,
}

/// A column that may speak against its rows.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub index: usize,
    says: Says,
}

/// What the marks of a row make of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    Failed(Failure),
    /// It has a time, of work that was done wrong.
    Wrong,
}

/// Finds the marks and takes their columns. Our own tables say in `verified` whether a result
/// was compared at all.
pub(super) fn find(columns: &mut Columns, table: &Table<'_>) -> Vec<Mark> {
    let is_ours = table.column("executions_per_sample").is_some() || table.column("stop").is_some();
    let is_ours = is_ours || table.column("flags").is_some();
    let says = |name: &str| match name {
        "message" | "msg" => Some(Says::Message),
        "verified" if is_ours => None,
        name if ERRORS.contains(&name) => Some(Says::Error),
        name if FAILED.contains(&name) => Some(Says::Failed),
        name if VALID.contains(&name) => Some(Says::Valid),
        name if CORRECT.contains(&name) => Some(Says::Correct),
        _ => None,
    };
    let names: Vec<String> = table.header().iter().map(|name| names::normalise(name)).collect();
    let marks: Vec<Mark> = (0..names.len())
        .filter(|index| columns.free().any(|(free, _)| free == *index))
        .filter_map(|index| Some(Mark { index, says: says(&names[index])? }))
        .filter(|mark| {
            matches!(mark.says, Says::Error | Says::Message) || is_mark(table, mark.index)
        })
        .collect();
    for mark in &marks {
        columns.mark_taken(mark.index);
    }
    marks
}

/// Whether a column holds yes and no: numbers other than 0 and 1 are sizes or tolerances.
fn is_mark(table: &Table<'_>, column: usize) -> bool {
    let numbers = table.rows().flatten().filter_map(|row| row.cells[column].parse::<f64>().ok());
    let mut numbers = numbers.filter(|number| !number.is_nan());
    numbers.all(|number| number == 0.0 || number == 1.0)
}

/// The worst that the marks of `row` say of it. `is_fine` tells that its status is a good one.
pub(super) fn verdict(
    marks: &[Mark],
    table: &Table<'_>,
    row: &Row<'_>,
    is_fine: bool,
) -> Option<Verdict> {
    let mut verdict = None;
    for mark in marks {
        let cell = row.cells[mark.index].as_ref();
        let named = || format!("{} is `{}`", shorten(&table.header()[mark.index]), shorten(cell));
        match mark.says {
            Says::Message if is_fine => {}
            Says::Error | Says::Message if is_error(cell) => {
                return Some(Verdict::Failed(Failure::Stated(shorten(cell))));
            }
            Says::Failed if !says_nothing(cell) && truth(cell) != Some(false) => {
                return Some(Verdict::Failed(Failure::Stated(named())));
            }
            Says::Valid if !says_nothing(cell) && truth(cell) != Some(true) => {
                return Some(Verdict::Failed(Failure::Stated(named())));
            }
            Says::Correct if !says_nothing(cell) && truth(cell) != Some(true) => {
                verdict = Some(Verdict::Wrong);
            }
            _ => {}
        }
    }
    verdict
}

fn says_nothing(cell: &str) -> bool {
    matches!(
        cell.to_ascii_lowercase().as_str(),
        "" | "-" | "n/a" | "na" | "nan" | "none" | "null" | "nil" | "skipped" | "not checked"
    )
}

fn truth(cell: &str) -> Option<bool> {
    match cell.to_ascii_lowercase().as_str() {
        "1" | "1.0" | "true" | "t" | "yes" | "y" | "ok" | "pass" | "passed" | "success"
        | "succeeded" | "correct" | "valid" | "verified" | "match" | "good" | "done" => Some(true),
        "0" | "0.0" | "false" | "f" | "no" | "n" => Some(false),
        _ => None,
    }
}

/// Whether a cell holds an error: text that is none of the words for none, or a code. A
/// fraction is the size of a numerical error.
fn is_error(cell: &str) -> bool {
    if let Ok(number) = cell.parse::<f64>() {
        return number.is_finite() && number != 0.0 && number.fract() == 0.0;
    }
    let word = cell.to_ascii_lowercase();
    match word.as_str() {
        "no error" | "no_error" | "noerror" | "no errors" | "cudasuccess" | "ncclsuccess" => false,
        "true" | "yes" | "t" | "y" => true,
        _ => !says_nothing(cell) && truth(cell).is_none(),
    }
}
