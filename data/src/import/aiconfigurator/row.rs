//! One row by column name, whichever form the file has.

use std::borrow::Cow;

/// One cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cell<'a> {
    /// Nothing.
    Missing,
    /// Text, which may hold a number.
    Text(&'a str),
    /// A whole number.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "text holds no numbers"))]
    Whole(i64),
    /// A real number.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "text holds no numbers"))]
    Real(f64),
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    names: &'a [String],
    cells: &'a [Cell<'a>],
}

impl<'a> Row<'a> {
    /// `cells` in the order of `names`.
    pub fn new(names: &'a [String], cells: &'a [Cell<'a>]) -> Self {
        Row { names, cells }
    }

    fn cell(&self, name: &str) -> Cell<'a> {
        let at = self.names.iter().position(|column| column == name);
        at.and_then(|at| self.cells.get(at)).copied().unwrap_or(Cell::Missing)
    }

    /// The cell of a column as text writes it.
    pub fn shown(&self, column: usize) -> Cow<'a, str> {
        match self.cells.get(column).copied().unwrap_or(Cell::Missing) {
            Cell::Missing => Cow::Borrowed(""),
            Cell::Text(text) => Cow::Borrowed(text),
            Cell::Whole(value) => Cow::Owned(value.to_string()),
            Cell::Real(value) => Cow::Owned(value.to_string()),
        }
    }

    /// A cell of text that is not blank.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        match self.cell(name) {
            Cell::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// A whole number at least 0; the error is the reason to drop the row.
    pub fn whole(&self, name: &str) -> Result<u64, String> {
        let found = match self.cell(name) {
            Cell::Whole(value) => u64::try_from(value).ok(),
            Cell::Text(text) => whole(text),
            Cell::Real(value) => whole(&value.to_string()),
            Cell::Missing => None,
        };
        found.ok_or_else(|| format!("`{name}` is not a whole number"))
    }

    /// As [`Row::whole`], or `default` where the column is absent or blank.
    pub fn whole_or(&self, name: &str, default: u64) -> Result<u64, String> {
        match self.cell(name) {
            Cell::Missing | Cell::Text("") => Ok(default),
            _ => self.whole(name),
        }
    }

    /// A real number.
    pub fn real(&self, name: &str) -> Option<f64> {
        match self.cell(name) {
            Cell::Real(value) => Some(value),
            Cell::Whole(value) => Some(value as f64),
            Cell::Text(text) => text.parse().ok(),
            Cell::Missing => None,
        }
    }
}

/// `4096` or, as data frames write it, `4096.0`.
fn whole(text: &str) -> Option<u64> {
    let digits = text.strip_suffix(".0").unwrap_or(text);
    digits.parse().ok()
}
