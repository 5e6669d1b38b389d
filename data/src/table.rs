//! Tables as text: a header and rows of comma-separated cells, read tolerantly and never wrongly.
//!
//! Accepted: a byte-order mark, CRLF, blank lines, `#` comment lines, blanks around cells,
//! quotes (with `""` inside). Refused with the place shown: `;` and tab as separators, decimal
//! commas, a second header, Git LFS pointers, text that is not UTF-8. A last line without a line
//! end is never a row: a writer that died mid-number leaves a number that still parses.
//!
//! Left to others: what the columns mean (`fields`, `import`).

use std::borrow::Cow;
use std::collections::HashSet;

use thiserror::Error;

use crate::diagnostic::Diagnostic;

/// Why text is not a table.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TableError {
    /// The file was not fetched.
    #[error("a Git LFS pointer, not the data itself")]
    LfsPointer,
    /// Bytes that are not UTF-8.
    #[error("not text in UTF-8")]
    NotText {
        /// Line of the first bad byte.
        line: usize,
    },
    /// Nothing but blanks and comments.
    #[error("no header line: the file is empty")]
    Empty,
    /// No line is anything but blank or a comment.
    #[error("no header line: every line is blank or a comment")]
    OnlyComments,
    /// The file ends inside its first line.
    #[error("no header line: the file ends inside its first line, `{text}`")]
    CutHeader {
        /// The line.
        line: usize,
        /// What it holds.
        text: String,
    },
    /// Bytes that text does not hold.
    #[error("holds NUL bytes: not text, or text in UTF-16")]
    Nul {
        /// Line of the first one.
        line: usize,
    },
    /// Lines that end in carriage returns alone.
    #[error("one line for all: its lines end in a carriage return alone, as on old Macs")]
    CarriageReturns,
    /// The first line that could be a header holds a number.
    #[error("no header line: `{cell}` is not a column name")]
    NoHeader {
        /// The line.
        line: usize,
        /// The cell.
        cell: String,
    },
    /// A column name occurs twice.
    #[error("column `{column}` occurs twice")]
    DuplicateColumn {
        /// The line of the header.
        line: usize,
        /// The name.
        column: String,
    },
    /// Another separator than a comma.
    #[error("`{cell}`: the columns are separated by {separator}")]
    Separator {
        /// The line.
        line: usize,
        /// The first suspicious cell.
        cell: String,
        /// `';'` or `a tab`.
        separator: &'static str,
    },
    /// A row that repeats or replaces the header.
    #[error("a second header (`{cell}`, ...): two tables in one file")]
    SecondHeader {
        /// The line.
        line: usize,
        /// Its first cell.
        cell: String,
    },
    /// A row that is longer or shorter than the header.
    #[error("{found} cells, but the header has {expected}{}", more_rows(*found, *expected))]
    CellCount {
        /// The line.
        line: usize,
        /// Cells in the row.
        found: usize,
        /// Columns in the header.
        expected: usize,
    },
    /// A quote that opens or closes where it may not.
    #[error("`{cell}`: a quote that does not close")]
    Quote {
        /// The line.
        line: usize,
        /// The cell.
        cell: String,
    },
}

/// Two rows glued together share at most one cell.
fn more_rows(found: usize, expected: usize) -> &'static str {
    let glued = expected > 1 && found + 1 >= 2 * expected;
    if glued { ": the line holds more than one row" } else { "" }
}

impl TableError {
    /// The line (from 1) the error is about.
    pub fn line(&self) -> Option<usize> {
        match self {
            TableError::LfsPointer | TableError::Empty | TableError::OnlyComments => None,
            TableError::CarriageReturns => Some(1),
            TableError::NotText { line }
            | TableError::Nul { line }
            | TableError::CutHeader { line, .. }
            | TableError::NoHeader { line, .. }
            | TableError::DuplicateColumn { line, .. }
            | TableError::Separator { line, .. }
            | TableError::SecondHeader { line, .. }
            | TableError::CellCount { line, .. }
            | TableError::Quote { line, .. } => Some(*line),
        }
    }
}

impl Diagnostic for TableError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            TableError::LfsPointer => "run `git lfs pull` where the file came from",
            TableError::NotText { .. } | TableError::Nul { .. } => "save the file as UTF-8 text",
            TableError::CarriageReturns => "convert it, such as by `tr '\\r' '\\n'`",
            TableError::CutHeader { .. } => "a line ends with a line feed, the last one too",
            TableError::Empty | TableError::OnlyComments | TableError::NoHeader { .. } => {
                "the first line must name the columns, such as `dtype,m,n,k,time_us`"
            }
            TableError::DuplicateColumn { .. } => "rename or remove one of them",
            TableError::Separator { .. } => "use '.' as decimal sign and ',' as separator",
            TableError::SecondHeader { .. } => "split the file and import each table by itself",
            TableError::CellCount { .. } | TableError::Quote { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

/// The unfinished last line of a file whose writer stopped mid-row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// The line.
    pub line: usize,
    /// What it holds.
    pub text: String,
}

/// A table over text that the caller keeps.
#[derive(Debug, Clone)]
pub struct Table<'text> {
    header: Vec<Cow<'text, str>>,
    body: &'text str,
    body_line: usize,
    header_line: usize,
    unfinished: Option<Unfinished>,
    /// Lines of rows that nobody wants.
    left_out: HashSet<usize>,
}

/// One row: its line (from 1) and a cell per column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row<'text> {
    /// The line in the file.
    pub line: usize,
    /// The cells, unquoted, without blanks around them.
    pub cells: Vec<Cow<'text, str>>,
}

/// The bytes of a file as text, without a byte-order mark.
///
/// # Errors
/// [`TableError::NotText`] and [`TableError::Nul`] with the line of the first bad byte;
/// [`TableError::CarriageReturns`].
pub fn text_of(bytes: &[u8]) -> Result<&str, TableError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        TableError::NotText { line: 1 + good.iter().filter(|byte| **byte == b'\n').count() }
    })?;
    if let Some(at) = text.find('\0') {
        let line = 1 + text[..at].bytes().filter(|byte| *byte == b'\n').count();
        return Err(TableError::Nul { line });
    }
    if text.contains('\r') && !text.contains('\n') {
        return Err(TableError::CarriageReturns);
    }
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Whether `text` is a Git LFS pointer in place of a file.
pub fn is_lfs_pointer(text: &str) -> bool {
    text.starts_with("version https://git-lfs.github.com/spec/")
}

impl<'text> Table<'text> {
    /// Finds the header of `text` and the unfinished last line, if there is one.
    ///
    /// # Errors
    /// Every [`TableError`] that concerns the header or the whole text.
    pub fn open(text: &'text str) -> Result<Self, TableError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if is_lfs_pointer(text) {
            return Err(TableError::LfsPointer);
        }
        let (text, unfinished) = finished_lines(text);
        let mut rest = text;
        let mut line = 1;
        while let Some((first, after)) = next_line(rest) {
            if is_content(first) {
                return Self::with_header(first, line, after, unfinished);
            }
            rest = after;
            line += 1;
        }
        match unfinished {
            // A header alone, cut or not: there is nothing to read in either case.
            Some(Unfinished { line, text }) => Err(TableError::CutHeader { line, text }),
            None if text.trim().is_empty() => Err(TableError::Empty),
            None => Err(TableError::OnlyComments),
        }
    }

    fn with_header(
        header: &'text str,
        line: usize,
        body: &'text str,
        unfinished: Option<Unfinished>,
    ) -> Result<Self, TableError> {
        let mut cells = Vec::new();
        refuse_other_separators(header, line, body)?;
        split_cells(header, &mut cells).map_err(|cell| TableError::Quote { line, cell })?;
        if let Some(cell) = cells.iter().find(|cell| cell.is_empty() || is_number(cell)) {
            return Err(TableError::NoHeader { line, cell: shorten(cell) });
        }
        let left_out = HashSet::new();
        let body_line = line + 1;
        Ok(Table { header: cells, body, body_line, header_line: line, unfinished, left_out })
    }

    /// The column names.
    pub fn header(&self) -> &[Cow<'text, str>] {
        &self.header
    }

    /// The line of the header.
    pub fn header_line(&self) -> usize {
        self.header_line
    }

    /// Refuses a table in which one of `columns` occurs twice. Foreign tables repeat the names
    /// of columns that nobody needs, such as `Noise (%)`.
    ///
    /// # Errors
    /// [`TableError::DuplicateColumn`].
    pub fn refuse_repeated(
        &self,
        columns: impl IntoIterator<Item = usize>,
    ) -> Result<(), TableError> {
        for index in columns {
            let column = &self.header[index];
            if self.header.iter().filter(|name| *name == column).count() > 1 {
                let (line, column) = (self.header_line, shorten(column));
                return Err(TableError::DuplicateColumn { line, column });
            }
        }
        Ok(())
    }

    /// Index of the column called `name`.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }

    /// The last line if it has no line end; it is not among the rows.
    pub fn unfinished(&self) -> Option<&Unfinished> {
        self.unfinished.as_ref()
    }

    /// Leaves out the rows that `keep` does not want; lines that are no rows stay.
    pub fn retain(&mut self, mut keep: impl FnMut(&Row<'text>) -> bool) {
        let unwanted = self.rows().flatten().filter(|row| !keep(row));
        let lines: Vec<usize> = unwanted.map(|row| row.line).collect();
        self.left_out.extend(lines);
    }

    /// The rows in file order. An error concerns its row alone, except
    /// [`TableError::SecondHeader`], after which nothing can be trusted.
    pub fn rows(&self) -> Rows<'_, 'text> {
        Rows { table: self, rest: self.body, line: self.body_line }
    }
}

/// Iterator over the rows of a [`Table`].
#[derive(Debug, Clone)]
pub struct Rows<'table, 'text> {
    table: &'table Table<'text>,
    rest: &'text str,
    line: usize,
}

impl<'text> Iterator for Rows<'_, 'text> {
    type Item = Result<Row<'text>, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (text, after) = next_line(self.rest)?;
            let line = self.line;
            self.rest = after;
            self.line += 1;
            if is_content(text) && !self.table.left_out.contains(&line) {
                return Some(self.row(text, line));
            }
        }
    }
}

impl<'text> Rows<'_, 'text> {
    fn row(&self, text: &'text str, line: usize) -> Result<Row<'text>, TableError> {
        let header = &self.table.header;
        let mut cells = Vec::with_capacity(header.len());
        split_cells(text, &mut cells).map_err(|cell| TableError::Quote { line, cell })?;
        if is_header_like(&cells, header) {
            return Err(TableError::SecondHeader { line, cell: shorten(&cells[0]) });
        }
        if cells.len() != header.len() {
            if text.contains(';') && cells.len() < header.len() {
                let cell = shorten(&cells[0]);
                return Err(TableError::Separator { line, cell, separator: "';'" });
            }
            let (found, expected) = (cells.len(), header.len());
            return Err(TableError::CellCount { line, found, expected });
        }
        Ok(Row { line, cells })
    }
}

/// Splits a line into cells: separated by commas, blanks around them dropped, quotes undone.
/// `cells` is cleared first, so that one vector serves many lines.
///
/// # Errors
/// The text of a cell whose quote does not close, or goes on after it has.
pub fn split_cells<'text>(
    line: &'text str,
    cells: &mut Vec<Cow<'text, str>>,
) -> Result<(), String> {
    cells.clear();
    let mut rest = line;
    loop {
        let start = rest.trim_start_matches([' ', '\t']);
        let after = match start.strip_prefix('"') {
            Some(quoted) => {
                let (cell, after) = unquote(quoted).ok_or_else(|| shorten(start))?;
                cells.push(cell);
                after.trim_start_matches([' ', '\t', '\r'])
            }
            None => {
                let end = start.find(',').unwrap_or(start.len());
                cells.push(Cow::Borrowed(start[..end].trim_end()));
                &start[end..]
            }
        };
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None if after.is_empty() => return Ok(()),
            None => return Err(shorten(start)),
        }
    }
}

/// The content of a quoted cell whose opening quote is already gone, and what follows it.
fn unquote(quoted: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut from = 0;
    loop {
        let quote = from + quoted[from..].find('"')?;
        if !quoted[quote + 1..].starts_with('"') {
            let inner = &quoted[..quote];
            let cell = match inner.contains('"') {
                true => Cow::Owned(inner.replace("\"\"", "\"")),
                false => Cow::Borrowed(inner),
            };
            return Some((cell, &quoted[quote + 1..]));
        }
        from = quote + 2;
    }
}

/// A cell as a writer must put it: quoted where it holds a comma, a quote or a blank at its
/// ends; line ends become blanks, because a row is one line.
pub fn quote(cell: &str) -> Cow<'_, str> {
    let one_line: Cow<'_, str> = match cell.contains(['\n', '\r']) {
        true => Cow::Owned(cell.replace(['\n', '\r'], " ")),
        false => Cow::Borrowed(cell),
    };
    let plain = !one_line.contains([',', '"']) && one_line.trim() == one_line;
    if plain && !one_line.starts_with('#') {
        return one_line;
    }
    Cow::Owned(format!("\"{}\"", one_line.replace('"', "\"\"")))
}

/// Everything up to the last line end, and what follows it.
fn finished_lines(text: &str) -> (&str, Option<Unfinished>) {
    let end = text.rfind('\n').map_or(0, |at| at + 1);
    let (finished, last) = text.split_at(end);
    if last.trim().is_empty() {
        return (text, None);
    }
    let line = 1 + finished.bytes().filter(|byte| *byte == b'\n').count();
    (finished, Some(Unfinished { line, text: shorten(last) }))
}

fn next_line(text: &str) -> Option<(&str, &str)> {
    if text.is_empty() {
        return None;
    }
    Some(text.split_once('\n').unwrap_or((text, "")))
}

fn is_content(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with('#')
}

/// A header without a comma but with another separator in it; the first row shows the cell.
fn refuse_other_separators(header: &str, line: usize, body: &str) -> Result<(), TableError> {
    let separator = match header {
        _ if header.contains(',') => return Ok(()),
        _ if header.contains(';') => (';', "';'"),
        _ if header.contains('\t') => ('\t', "a tab"),
        _ => return Ok(()),
    };
    let rows = body.lines().enumerate().filter(|(_, row)| is_content(row));
    let cell_with_comma = rows
        .take(100)
        .flat_map(|(index, row)| row.split(separator.0).map(move |cell| (index, cell.trim())))
        .find(|(_, cell)| cell.contains(','));
    let (line, cell) = match cell_with_comma {
        Some((index, cell)) => (line + 1 + index, cell),
        None => (line, header.trim()),
    };
    Err(TableError::Separator { line, cell: shorten(cell), separator: separator.1 })
}

/// No numbers, and either a cell that is the name of a column, or another number of cells
/// that could all be names.
fn is_header_like(cells: &[Cow<'_, str>], header: &[Cow<'_, str>]) -> bool {
    let is_name = |cell: &Cow<'_, str>| {
        cell.starts_with(|c: char| c.is_alphabetic())
            && cell.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    if cells.iter().any(|cell| is_number(cell)) {
        return false;
    }
    cells.iter().any(|cell| !cell.is_empty() && header.contains(cell))
        || cells.len() > 2 && cells.len() != header.len() && cells.iter().all(is_name)
}

fn is_number(cell: &str) -> bool {
    cell.parse::<f64>().is_ok()
}

/// At most sixty characters of foreign text, without control characters.
pub fn shorten(text: &str) -> String {
    const SHOWN: usize = 60;
    let clean = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut short: String = clean.take(SHOWN).collect();
    if text.trim().chars().count() > SHOWN {
        short.push_str("...");
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(line: &str) -> Result<Vec<String>, String> {
        let mut cells = Vec::new();
        split_cells(line, &mut cells)?;
        Ok(cells.into_iter().map(Cow::into_owned).collect())
    }

    #[test]
    fn cells_lose_blanks_and_quotes_only() {
        for (line, expected) in [
            ("a,b", &["a", "b"][..]),
            ("\"AllReduce\", 8, \"float\", 12.00\r", &["AllReduce", "8", "float", "12.00"]),
            ("a,,", &["a", "", ""]),
            ("\"a, \"\"b\"\"\" ,c", &["a, \"b\"", "c"]),
            ("\"\"", &[""]),
            ("µ,\"µ\"", &["µ", "µ"]),
        ] {
            assert_eq!(cells(line).unwrap(), expected, "{line}");
        }
        for bad in ["\"a", "\"a\"b,c", "a,\"", "\"a\"\"", "\"\"\""] {
            assert!(cells(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn quoting_reads_back() {
        for cell in ["plain", "a,b", "say \"x\"", " lead", "", "#no comment", "a;b"] {
            assert_eq!(cells(&quote(cell)).unwrap(), [cell]);
        }
    }

    fn lines_of(text: &str) -> Vec<Result<usize, TableError>> {
        let table = Table::open(text).unwrap();
        table.rows().map(|row| row.map(|row| row.line)).collect()
    }

    #[test]
    fn marks_comments_and_blank_lines_do_not_hide_the_header() {
        let text = "\u{feff}# exported\r\n\r\nm,n\r\n1,2\r\n# half\r\n3,4\r\n";
        let table = Table::open(text).unwrap();
        assert_eq!(table.header(), ["m", "n"]);
        assert_eq!((table.header_line(), table.column("n")), (3, Some(1)));
        assert_eq!(lines_of(text), [Ok(4), Ok(6)]);
    }

    #[test]
    fn a_last_line_without_an_end_is_no_row() {
        let table = Table::open("m,t\n1,331.240\n2,33").unwrap();
        assert_eq!(table.rows().count(), 1);
        assert_eq!(table.unfinished(), Some(&Unfinished { line: 3, text: "2,33".to_owned() }));
        assert_eq!(Table::open("m,t\n1,2\n  ").unwrap().unfinished(), None);
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_place() {
        let error = |text: &str| Table::open(text).unwrap_err();
        assert_eq!(
            error("version https://git-lfs.github.com/spec/v1\noid"),
            TableError::LfsPointer
        );
        assert_eq!(error(""), TableError::Empty);
        assert_eq!(error(" \n\n"), TableError::Empty);
        assert_eq!(error("# only\n\n"), TableError::OnlyComments);
        assert_eq!(error("m,n"), TableError::CutHeader { line: 1, text: "m,n".to_owned() });
        assert_eq!(text_of(b"m,n\r1,2\r"), Err(TableError::CarriageReturns));
        assert_eq!(text_of(b"a\n\0\0"), Err(TableError::Nul { line: 2 }));
        assert_eq!(text_of(b"\0\0\0"), Err(TableError::Nul { line: 1 }));
        assert_eq!(error("1,2\n3,4\n"), TableError::NoHeader { line: 1, cell: "1".to_owned() });
        let repeated = Table::open("m,n,m\n").unwrap();
        let twice = TableError::DuplicateColumn { line: 1, column: "m".to_owned() };
        assert_eq!(repeated.refuse_repeated([1]), Ok(()));
        assert_eq!(repeated.refuse_repeated([0, 1]), Err(twice));
        let comma = error("m;t\r\n1;4,2\r\n");
        assert_eq!((comma.line(), comma.to_string().contains("`4,2`")), (Some(2), true));
        assert_eq!(comma.hint().unwrap(), "use '.' as decimal sign and ',' as separator");
        assert!(error("\"m\";\"t\"\n1;4,2\n").to_string().contains("`4,2`"));
        assert!(error("m\tt\n1\t4.2\n").to_string().contains("a tab"));
    }

    #[test]
    fn a_second_header_ends_the_trust() {
        let rows = lines_of("op,m,time_us\ngemm,1,2.0\nop,batch,tables,time_us\n");
        let second = TableError::SecondHeader { line: 3, cell: "op".to_owned() };
        assert_eq!(rows, [Ok(2), Err(second)]);
        let rows = lines_of("m,n,time_us\n1,2,3.0\nbatch,tables,pooling,latency_ms\n");
        let second = TableError::SecondHeader { line: 3, cell: "batch".to_owned() };
        assert_eq!(rows, [Ok(2), Err(second)]);
        let short = TableError::CellCount { line: 3, found: 1, expected: 2 };
        assert_eq!(lines_of("m,t\n1,2\n7\n"), [Ok(2), Err(short)]);
    }

    #[test]
    fn bytes_that_are_no_text_are_placed() {
        assert_eq!(text_of(b"a\nb\xff\n"), Err(TableError::NotText { line: 2 }));
        assert_eq!(text_of("\u{feff}a".as_bytes()), Ok("a"));
    }
}
