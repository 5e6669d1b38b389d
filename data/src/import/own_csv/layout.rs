//! What a table measures: the family of its points, and where their fields stand.

use std::path::Path;
use std::str::FromStr;

use crate::family::Family;
use crate::fields::{RECORD_COLUMNS, SPREAD_COLUMNS};
use crate::import::own_csv::aliases;
use crate::import::own_csv::custom;
use crate::import::own_csv::names;
use crate::import::own_csv::rate_names;
use crate::import::own_csv::roles::{Columns, Roles};
use crate::import::{ImportError, ImportOptions, ImportSummary};
use crate::point::{Collective, CopyDirection, GemmLayout, MemoryOp};
use crate::table::{Table, shorten};

/// The families tried in turn; what fits none is custom.
const TRIED: [Family; 6] = [
    Family::Gemm,
    Family::Embedding,
    Family::Attention,
    Family::Collective,
    Family::Memory,
    Family::Copy,
];

/// Unused columns listed by name; beyond that they are counted.
const LISTED_COLUMNS: usize = 8;

/// Where everything stands in a table.
#[derive(Debug)]
pub(super) struct Layout {
    pub family: Family,
    pub roles: Roles,
    /// Fields of the point and their columns.
    pub fields: Vec<(&'static str, usize)>,
    /// Fields of the point that no column states, and their values.
    pub stated: Vec<(&'static str, String)>,
    /// Whether all spread columns are there, under our names.
    pub has_spread: bool,
    /// Columns that nothing is read from.
    pub unused: Vec<usize>,
    /// A column that states the size of what was moved, and the readings of its unit.
    pub size: Option<(usize, &'static [f64])>,
    /// For custom points, where their name and parameters come from.
    pub custom: Option<custom::Source>,
}

impl Layout {
    /// Finds the layout of `table`; assumptions are noted in `summary`.
    ///
    /// # Errors
    /// No time, no known family, or a fact that only the caller can supply.
    pub fn find(
        table: &Table<'_>,
        path: &Path,
        options: &ImportOptions,
        summary: &mut ImportSummary,
    ) -> Result<Layout, ImportError> {
        let mut columns = Columns::of(table);
        let mut roles = Roles::find(&mut columns, table, path)?;
        if roles.time.assumed {
            let name = &table.header()[roles.time.index];
            summary.note(format!("`{name}` states no unit; taken as µs, as rccl-tests writes it"));
        }
        let search = Search { table, path, options, columns: &columns, kernel: roles.kernel };
        let family = search.family(summary)?;
        let mut fields = Vec::new();
        for (field, names) in aliases::of(family) {
            let found = columns.find(names);
            if let Some(index) = found.filter(|index| *field != "layout" || is_ours(table, *index))
            {
                columns.mark_taken(index);
                fields.push((*field, index));
            }
        }
        match family {
            Family::Copy => fields.extend(direction_in_op(table, &mut columns, &fields)),
            Family::Custom => fields.extend(kernel_as_op(table, &mut roles, &fields, options)),
            _ => {}
        }
        if family != Family::Custom {
            keep_op_as_kernel(table, &mut columns, family, &mut roles, summary);
        }
        let has_spread = SPREAD_COLUMNS.iter().all(|name| table.column(name).is_some());
        let size = table.header().iter().enumerate().find_map(|(index, name)| {
            Some((index, rate_names::size_units(&names::normalise(name))?))
        });
        let (stated, unused) = (Vec::new(), Vec::new());
        let mut layout =
            Layout { family, roles, fields, stated, has_spread, unused, size, custom: None };
        if family == Family::Custom {
            let source = custom::Source::find(table, path, options, &mut columns, &layout.fields)?;
            layout.custom = Some(source);
        } else {
            layout.fill_in(path, options, summary);
        }
        layout.unused = left_over(&columns);
        note_unused(table, &layout.unused, summary);
        Ok(layout)
    }

    /// Every column that is used.
    pub fn columns(&self) -> Vec<usize> {
        let fields = self.fields.iter().map(|(_, index)| *index);
        let custom = self.custom.iter().flat_map(custom::Source::columns);
        self.roles.columns().into_iter().chain(fields).chain(custom).collect()
    }

    /// Column of a field.
    pub fn column(&self, field: &str) -> Option<usize> {
        self.fields.iter().find(|(name, _)| *name == field).map(|(_, index)| *index)
    }

    /// Values of fields that the table does not state, from the caller or by assumption.
    fn fill_in(&mut self, path: &Path, options: &ImportOptions, summary: &mut ImportSummary) {
        let assume = |layout: &mut Layout, summary: &mut ImportSummary, field, value: String| {
            summary.note(format!("`{field}` is not stated; taken as {value}"));
            layout.stated.push((field, value));
        };
        let missing = |layout: &Layout, field| layout.column(field).is_none();
        let needs_dtype = self.family != Family::Copy;
        if needs_dtype && missing(self, "dtype") {
            match options.dtype {
                Some(dtype) => self.stated.push(("dtype", dtype.to_string())),
                None => assume(self, summary, "dtype", "f32".to_owned()),
            }
        }
        match self.family {
            Family::Embedding if missing(self, "direction") => {
                assume(self, summary, "direction", "forward".to_owned());
            }
            Family::Copy if missing(self, "direction") => match &options.op {
                Some(direction) => self.stated.push(("direction", direction.clone())),
                None => assume(self, summary, "direction", "d2d".to_owned()),
            },
            Family::Memory if missing(self, "op") => {
                let op = memory_op(options, path).unwrap_or_default();
                if options.op.as_ref() != Some(&op) {
                    summary.note(format!("`op` is not stated; taken as {op}, the file's name"));
                }
                self.stated.push(("op", op));
            }
            Family::Attention => {
                if missing(self, "phase") {
                    assume(self, summary, "phase", "context".to_owned());
                }
                if missing(self, "kv_heads") {
                    summary.note("`kv_heads` is not stated; taken as `heads`");
                }
                if missing(self, "kv_len") {
                    summary.note("`kv_len` is not stated; taken as the sequence length");
                }
            }
            Family::Collective => {
                let mut state = |field, value: Option<String>| {
                    if self.column(field).is_none() {
                        self.stated.extend(value.map(|value| (field, value)));
                    }
                };
                state("collective", options.collective.map(|c| c.to_string()));
                state("ranks", options.ranks.map(|ranks| ranks.to_string()));
                state("nodes", options.nodes.map(|nodes| nodes.to_string()));
                state("links", Some(options.links.to_string()));
            }
            _ => {}
        }
    }
}

/// Whether a column states layouts in our words. In capitals they are BLAS's, or anybody's: such
/// a column is left to whoever imports the table.
fn is_ours(table: &Table<'_>, column: usize) -> bool {
    let is_layout = |cell: &str| cell.parse::<GemmLayout>().is_ok();
    table.rows().flatten().all(|row| is_layout(&row.cells[column]))
}

/// A column `op` beside columns that already tell the family: `gemm` says nothing new, while
/// `linear` and `attention_out` name the kernels that did the work.
fn keep_op_as_kernel(
    table: &Table<'_>,
    columns: &mut Columns,
    family: Family,
    roles: &mut Roles,
    summary: &mut ImportSummary,
) {
    let Some(op) = columns.take(&aliases::OP) else { return };
    let says_nothing_new = |cell: &str| cell.is_empty() || cell.eq_ignore_ascii_case(family.name());
    if roles.kernel.is_none() && !table.rows().flatten().all(|row| says_nothing_new(&row.cells[op]))
    {
        roles.kernel = Some(op);
        summary.note(format!("column `{}` is kept as the kernel", table.header()[op]));
    }
}

/// The direction of a copy table whose op column states it.
fn direction_in_op(
    table: &Table<'_>,
    columns: &mut Columns,
    fields: &[(&'static str, usize)],
) -> Option<(&'static str, usize)> {
    let column = columns.find(&aliases::OP)?;
    let is_direction = |cell: &str| cell.parse::<CopyDirection>().is_ok();
    let mut rows = table.rows().flatten().peekable();
    let states_it = fields.iter().all(|(field, _)| *field != "direction")
        && rows.peek().is_some()
        && rows.all(|row| is_direction(&row.cells[column]));
    states_it.then(|| {
        columns.mark_taken(column);
        ("direction", column)
    })
}

/// The op of a custom table that is named by its kernel alone. It is the condition of the
/// points no longer.
fn kernel_as_op(
    table: &Table<'_>,
    roles: &mut Roles,
    fields: &[(&'static str, usize)],
    options: &ImportOptions,
) -> Option<(&'static str, usize)> {
    let names_op = |column: &usize| {
        matches!(names::normalise(&table.header()[*column]).as_str(), "kernel" | "kernel_name")
    };
    if options.op.is_some() || fields.iter().any(|(field, _)| *field == "op") {
        return None;
    }
    let column = roles.kernel.filter(names_op)?;
    roles.kernel = None;
    Some(("op", column))
}

/// The columns that are left after everything was found.
fn left_over(columns: &Columns) -> Vec<usize> {
    let left = columns.free().filter(|(_, name)| !RECORD_COLUMNS.contains(name));
    left.map(|(index, _)| index).collect()
}

fn note_unused(table: &Table<'_>, unused: &[usize], summary: &mut ImportSummary) {
    let names: Vec<String> = unused.iter().map(|index| shorten(&table.header()[*index])).collect();
    let more = match names.len().checked_sub(LISTED_COLUMNS) {
        Some(more) if more > 0 => format!(" and {more} more"),
        _ => String::new(),
    };
    if !names.is_empty() {
        let listed = names[..names.len().min(LISTED_COLUMNS)].join(", ");
        summary.note(format!("columns not used: {listed}{more}"));
    }
}

/// The op of a memory table without an op column: the caller's, else the name of the file.
fn memory_op(options: &ImportOptions, path: &Path) -> Option<String> {
    let stem = path.file_stem().map(|stem| names::normalise(&stem.to_string_lossy()));
    let is_op = |word: &String| MemoryOp::from_str(word).is_ok();
    options.op.clone().filter(is_op).or_else(|| stem.filter(is_op))
}

/// The search for the family.
struct Search<'a> {
    table: &'a Table<'a>,
    path: &'a Path,
    options: &'a ImportOptions,
    columns: &'a Columns,
    /// The column of kernels.
    kernel: Option<usize>,
}

impl Search<'_> {
    fn family(&self, summary: &mut ImportSummary) -> Result<Family, ImportError> {
        if let Some(family) = self.options.family {
            return self.stated_family(family);
        }
        if self.is_collective_without_ranks() {
            let reason = "a table of collectives that does not say over how many ranks";
            let hint = "state them with --ranks, or add a column `ranks`";
            return Err(ImportError::refused(self.path, None, reason, hint));
        }
        let fits = |family: &Family| self.missing(*family).is_none() && self.agrees(*family);
        let found = TRIED.into_iter().find(fits);
        if found.is_none() {
            self.refuse_unknown_direction()?;
        }
        if found.is_none() {
            self.note_near_miss(summary);
        }
        Ok(found.unwrap_or(Family::Custom))
    }

    /// Says which field keeps a table from the family it resembles.
    fn note_near_miss(&self, summary: &mut ImportSummary) {
        for family in [Family::Gemm, Family::Embedding, Family::Attention] {
            let required = aliases::required(family);
            let there = required.iter().filter(|field| self.has_column(family, field)).count();
            if let Some(missing) = self.missing(family).filter(|_| 2 * there > required.len()) {
                summary.note(format!(
                    "resembles {family}, but `{missing}` is not stated: kept as a custom op"
                ));
            }
        }
    }

    fn has_column(&self, family: Family, field: &str) -> bool {
        self.column(family, field).is_some()
    }

    /// The column of a field of `family`.
    fn column(&self, family: Family, field: &str) -> Option<usize> {
        let (_, names) = aliases::of(family).iter().find(|(name, _)| *name == field)?;
        self.columns.find(names)
    }

    fn stated_family(&self, family: Family) -> Result<Family, ImportError> {
        let Some(missing) = self.missing(family) else { return Ok(family) };
        let names = aliases::of(family).iter().find(|(field, _)| *field == missing);
        let known = names.map(|(_, names)| names.join("`, `")).unwrap_or_default();
        Err(ImportError::refused(
            self.path,
            self.table.header_line(),
            format!("a {family} table needs a column `{missing}`"),
            format!("known names of it: `{known}`"),
        ))
    }

    /// The first required field that neither a column nor the caller states.
    fn missing(&self, family: Family) -> Option<&'static str> {
        let is_stated = |field: &str| match (family, field) {
            (Family::Collective, "collective") => self.options.collective.is_some(),
            (Family::Collective, "ranks") => self.options.ranks.is_some(),
            (Family::Memory, "op") => memory_op(self.options, self.path).is_some(),
            _ => false,
        };
        aliases::required(family)
            .iter()
            .find(|field| !self.has_column(family, field) && !is_stated(field))
            .copied()
    }

    /// Whether the words of the first row are words of `family`, and no column is left over
    /// that would tell its points apart.
    fn agrees(&self, family: Family) -> bool {
        match family {
            Family::Collective => self.first_parses::<Collective>(family, "collective"),
            Family::Memory => {
                self.first_parses::<MemoryOp>(family, "op")
                    && ["elements", "columns"].iter().any(|field| self.has_column(family, field))
            }
            Family::Copy => {
                self.first_parses::<CopyDirection>(family, "direction")
                    && (self.has_column(family, "direction") || self.is_called_copy())
                    && custom::integer_columns(self.table, self.columns)
                        .iter()
                        .all(|integer| self.is_field(family, integer.column))
            }
            _ => true,
        }
    }

    /// Whether the column of `field`, if there is one, holds a `T` in its first row.
    fn first_parses<T: FromStr>(&self, family: Family, field: &str) -> bool {
        match (self.column(family, field), self.table.rows().flatten().next()) {
            (Some(column), Some(row)) => row.cells[column].parse::<T>().is_ok(),
            _ => true,
        }
    }

    /// Whether no column names the op or its kernel, or all names are those of copies.
    fn is_called_copy(&self) -> bool {
        let is_copy = |name: &str| {
            name.is_empty()
                || name.parse::<CopyDirection>().is_ok()
                || ["copy", "cpy"].iter().any(|word| name.to_lowercase().contains(word))
        };
        let named = [self.columns.find(&aliases::OP), self.kernel];
        named
            .into_iter()
            .flatten()
            .all(|column| self.table.rows().flatten().all(|row| is_copy(&row.cells[column])))
    }

    /// Refuses what would be a table of copies, did its first row not hold an unknown
    /// direction. `kind` and the like may be about anything.
    fn refuse_unknown_direction(&self) -> Result<(), ImportError> {
        let column = self.columns.find(&["direction", "copy_direction", "memcpy_kind"]);
        let is_copy = self.has_column(Family::Copy, "bytes")
            && self.options.op.is_none()
            && self.is_called_copy()
            && custom::integer_columns(self.table, self.columns)
                .iter()
                .all(|integer| self.is_field(Family::Copy, integer.column));
        let first = self.table.rows().flatten().next();
        let (Some(column), Some(row), true) = (column, first, is_copy) else { return Ok(()) };
        let Err(unknown) = row.cells[column].parse::<CopyDirection>() else { return Ok(()) };
        let hint =
            format!("{}; another op than a copy is read with --family custom", unknown.hint());
        Err(ImportError::refused(self.path, row.line, unknown.to_string(), hint))
    }

    /// Whether a column holds a field of `family`.
    fn is_field(&self, family: Family, column: usize) -> bool {
        aliases::of(family).iter().any(|(_, names)| self.columns.find(names) == Some(column))
    }

    fn is_collective_without_ranks(&self) -> bool {
        self.missing(Family::Collective) == Some("ranks")
            && self.has_column(Family::Collective, "collective")
            && self.has_column(Family::Collective, "bytes")
            && self.agrees(Family::Collective)
    }
}
