//! The rows a caller wants of a table, by what stands in named columns.
//!
//! Left to others: where a row is left out, and telling how many were.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use thiserror::Error;

use crate::diagnostic::Diagnostic;
use crate::import::ImportError;
use crate::nearest;
use crate::table::shorten;

/// One condition on the rows of a table: what stands in `column` is `value`. Conditions on
/// several columns all hold; of several on one column, any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Name of the column; case, blanks and brackets do not matter.
    pub column: String,
    /// What stands in it; case does not matter, and numbers are compared as numbers.
    pub value: String,
}

/// Text that is no condition.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no condition on a column")]
pub struct ConditionError(String);

impl Diagnostic for ConditionError {
    fn hint(&self) -> Option<String> {
        Some("write NAME=VALUE, such as `--where layout=TN`".to_owned())
    }
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        match text.split_once('=') {
            Some((column, value)) if !normalise(column).is_empty() => {
                Ok(Condition { column: column.trim().to_owned(), value: value.trim().to_owned() })
            }
            _ => Err(ConditionError(shorten(text))),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.column, self.value)
    }
}

/// A column name in lower case with single `_` in place of blanks, brackets and dashes:
/// `Time (us)` and `time[us]` are `time_us`.
pub(crate) fn normalise(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for c in name.trim().chars() {
        match c {
            ')' | ']' | '}' => {}
            ' ' | '-' | '(' | '[' | '{' | '_' | '.' | ':' => {
                if !plain.is_empty() && !plain.ends_with('_') {
                    plain.push('_');
                }
            }
            'µ' | 'μ' => plain.push('u'),
            c => plain.extend(c.to_lowercase()),
        }
    }
    plain.trim_end_matches('_').to_owned()
}

/// Conditions on the columns of one table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    wanted: Vec<Wanted>,
}

/// What a column must hold, and what else it held.
#[derive(Debug, Clone)]
struct Wanted {
    column: usize,
    values: Vec<String>,
    conditions: String,
    others: BTreeSet<String>,
    left_out: usize,
}

impl Selection {
    /// The `conditions` on a table with these column names.
    ///
    /// # Errors
    /// A condition on a column that the table does not have.
    pub fn of<S: AsRef<str>>(
        conditions: &[Condition],
        header: &[S],
        path: &Path,
        header_line: Option<usize>,
    ) -> Result<Selection, ImportError> {
        let mut selection = Selection::default();
        for condition in conditions {
            let name = normalise(&condition.column);
            let found = header.iter().position(|column| normalise(column.as_ref()) == name);
            let Some(column) = found else {
                let unknown = nearest::unknown("column", &condition.column, header);
                let reason = format!("no column `{}` for --where {condition}", condition.column);
                return Err(ImportError::refused(path, header_line, reason, unknown.hint()));
            };
            match selection.wanted.iter_mut().find(|wanted| wanted.column == column) {
                Some(wanted) => {
                    wanted.values.push(condition.value.clone());
                    wanted.conditions.push_str(&format!(" or {condition}"));
                }
                None => selection.wanted.push(Wanted {
                    column,
                    values: vec![condition.value.clone()],
                    conditions: condition.to_string(),
                    others: BTreeSet::new(),
                    left_out: 0,
                }),
            }
        }
        Ok(selection)
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Whether a row is wanted whose cells `cell` gives; it is counted if not.
    pub fn keeps<C: AsRef<str>>(&mut self, cell: impl Fn(usize) -> C) -> bool {
        /// Beyond this many the list of values helps nobody.
        const LISTED: usize = 12;
        for wanted in &mut self.wanted {
            let found = cell(wanted.column);
            let found = found.as_ref();
            if wanted.values.iter().any(|value| is_same(value, found)) {
                continue;
            }
            wanted.left_out += 1;
            if wanted.others.len() < LISTED {
                wanted.others.insert(shorten(found));
            }
            return false;
        }
        true
    }

    /// What the rows that were left out have instead, for the account of the import.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.wanted.iter().filter(|wanted| wanted.left_out > 0).map(|wanted| {
            let rows = if wanted.left_out == 1 { "row" } else { "rows" };
            format!("{} {rows} left out by --where {}", wanted.left_out, wanted.conditions)
        })
    }

    /// The refusal of a table of which nothing is left.
    ///
    /// # Errors
    /// Always, if any row was left out.
    pub fn refuse_nothing_left(&self, path: &Path) -> Result<(), ImportError> {
        let Some(last) = self.wanted.iter().rev().find(|wanted| wanted.left_out > 0) else {
            return Ok(());
        };
        let values: Vec<String> = last.others.iter().map(|value| format!("`{value}`")).collect();
        let reason = format!("no row is left by --where {}", last.conditions);
        let hint = format!("the rows left out have {} there", values.join(", "));
        Err(ImportError::refused(path, None, reason, hint))
    }
}

fn is_same(wanted: &str, found: &str) -> bool {
    let numbers = || Some(wanted.parse::<f64>().ok()? == found.parse::<f64>().ok()?);
    wanted.eq_ignore_ascii_case(found.trim()) || numbers().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_name_a_column_and_a_value() {
        let condition: Condition = " layout = TN ".parse().unwrap();
        assert_eq!(condition.to_string(), "layout=TN");
        assert_eq!("note=".parse::<Condition>().unwrap().value, "");
        for bad in ["", "layout", "=TN", " =x"] {
            assert!(bad.parse::<Condition>().is_err(), "{bad}");
        }
    }

    #[test]
    fn conditions_on_one_column_are_alternatives_and_on_several_all_hold() {
        let conditions = ["Layout=nn", "layout=TN", "graph=1"].map(|text| text.parse().unwrap());
        let header = ["m", "layout", "Graph"];
        let mut selection = Selection::of(&conditions, &header, Path::new("t"), None).unwrap();
        let mut keeps = |row: [&str; 3]| selection.keeps(|column| row[column].to_owned());
        assert!(keeps(["8", "NN", "1.0"]) && keeps(["8", "TN", "1"]));
        assert!(!keeps(["8", "NT", "1"]) && !keeps(["8", "NN", "0"]));
        let notes: Vec<String> = selection.notes().collect();
        assert_eq!(
            notes,
            [
                "1 row left out by --where Layout=nn or layout=TN",
                "1 row left out by --where graph=1"
            ]
        );
        let unknown = Selection::of(&conditions, &["m", "layouts"], Path::new("t"), None);
        assert!(unknown.unwrap_err().hint().unwrap().contains("`layouts`"));
    }
}
