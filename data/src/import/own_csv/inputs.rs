//! The contents of the operands, which are part of what was measured: zeros draw less power
//! than random data and run up to 15 % faster, so a table that mixes them is refused until the
//! caller says which it wants.

use std::collections::BTreeSet;
use std::path::Path;

use crate::import::own_csv::layout::Layout;
use crate::import::{ImportError, ImportOptions, ImportSummary};
use crate::table::{Row, Table, shorten};

/// Which rows of a table to take.
#[derive(Debug)]
pub(super) struct Inputs {
    column: Option<usize>,
    wanted: Option<String>,
}

impl Inputs {
    /// Looks at the contents that occur.
    ///
    /// # Errors
    /// Several kinds and no choice, or a choice that does not occur.
    pub fn of(
        table: &Table<'_>,
        path: &Path,
        layout: &Layout,
        options: &ImportOptions,
        summary: &mut ImportSummary,
    ) -> Result<Inputs, ImportError> {
        let wanted = options.input.clone();
        let Some(column) = layout.roles.input else {
            if wanted.is_some() {
                summary.note("--input has no effect: no column states the contents of operands");
            }
            return Ok(Inputs { column: None, wanted: None });
        };
        let kinds: BTreeSet<String> =
            table.rows().flatten().map(|row| row.cells[column].to_string()).collect();
        let (name, list) = (shorten(&table.header()[column]), list(&kinds));
        match &wanted {
            Some(wanted) if !kinds.contains(wanted) => Err(ImportError::refused(
                path,
                table.header_line(),
                format!("no row has `{}` in column `{name}`", shorten(wanted)),
                format!("it holds {list}"),
            )),
            None if kinds.len() > 1 => Err(ImportError::refused(
                path,
                table.header_line(),
                format!("column `{name}` mixes {list}, which run at different speeds"),
                format!(
                    "import one of them with --input, such as --input {}",
                    shorten(example(&kinds))
                ),
            )),
            _ => Ok(Inputs { column: Some(column), wanted }),
        }
    }

    /// Why `row` is left out, if it is.
    pub fn leaves_out(&self, row: &Row<'_>) -> Option<String> {
        let (column, wanted) = (self.column?, self.wanted.as_ref()?);
        let found = &row.cells[column];
        (found != wanted).then(|| format!("its operands hold `{}`, not `{wanted}`", shorten(found)))
    }
}

fn list(kinds: &BTreeSet<String>) -> String {
    let quoted: Vec<String> =
        kinds.iter().take(8).map(|kind| format!("`{}`", shorten(kind))).collect();
    quoted.join(", ")
}

/// The kind a reader most likely wants: random data if there is any.
fn example(kinds: &BTreeSet<String>) -> &str {
    let random = ["random", "uniform", "normal", "rand"];
    let is_random = |kind: &&String| random.iter().any(|word| kind.to_lowercase().contains(word));
    kinds.iter().find(is_random).or_else(|| kinds.last()).map_or("", String::as_str)
}
