//! CSV questions: a header, then rows that are echoed as they came with the answer appended.

use std::borrow::Cow;
use std::cell::Cell;

use kernelgauge_data::nearest;
use thiserror::Error;

use super::blocks::{Quotes, records};
use super::desk::{Asked, RowError, Seat};
use super::names;
use super::output::{APPENDED, push_csv_answer, push_csv_problem, push_csv_text};
use super::piece::{Piece, Rows, TOGETHER};

/// Why a header is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// Nothing but blank and comment lines.
    #[error("there is no header")]
    Missing,
    /// Not a comma between the columns.
    #[error("columns are separated by {0}")]
    Separator(&'static str),
    /// A pointer in place of the file.
    #[error("this is a Git LFS pointer, not the file")]
    LfsPointer,
    /// One name twice.
    #[error("column `{0}` is there twice")]
    Twice(String),
    /// A length of attention that may be either.
    #[error("column `{0}` may be `query_len` or `kv_len`")]
    WhichLength(String),
}

impl HeaderError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            HeaderError::Missing | HeaderError::Twice(_) => {
                "the first line names the columns: dtype,m,n,k"
            }
            HeaderError::Separator(_) => "use ',' as separator and '.' as decimal sign",
            HeaderError::LfsPointer => "run `git lfs pull`",
            HeaderError::WhichLength(_) => {
                "name it one of them: in a prompt without a cache both are the same and `kv_len` \
                 is enough"
            }
        }
    }
}

/// Where the columns of a CSV file stand.
#[derive(Debug)]
pub struct CsvRows {
    /// As the header has them.
    names: Vec<String>,
    /// What they stand for.
    keys: Vec<String>,
    /// Whether any stands for another.
    differ: bool,
}

impl CsvRows {
    /// Reads a header record. `own` are the parameters of the machine's own ops.
    ///
    /// # Errors
    /// [`HeaderError`].
    pub fn from_header(record: &str, own: &[String]) -> Result<Self, HeaderError> {
        if record.starts_with("version https://git-lfs") {
            return Err(HeaderError::LfsPointer);
        }
        let mut cells = Vec::new();
        split(record, &mut cells);
        if let [only] = cells.as_slice() {
            for (separator, name) in [(';', "`;`"), ('\t', "tabs")] {
                if only.contains(separator) {
                    return Err(HeaderError::Separator(name));
                }
            }
        }
        let names: Vec<String> = cells.into_iter().map(Cow::into_owned).collect();
        for (at, name) in names.iter().enumerate() {
            if names[..at].contains(name) {
                return Err(HeaderError::Twice(name.clone()));
            }
        }
        let mut rows = CsvRows { keys: names.clone(), names, differ: false };
        for at in 0..rows.names.len() {
            let given = rows.names[at].as_str();
            if own.iter().any(|name| name == given) {
                continue;
            }
            if names::is_some_length(given)
                && rows.has("phase")
                && !(rows.has("kv_len") && rows.has("query_len"))
            {
                return Err(HeaderError::WhichLength(given.to_owned()));
            }
            if let Some(name) = names::stands_for(given)
                && !rows.has(name)
            {
                rows.keys[at] = name.to_owned();
            }
        }
        rows.differ = rows.keys != rows.names;
        Ok(rows)
    }

    /// Whether there is a column called `name`.
    pub fn has(&self, name: &str) -> bool {
        self.keys.iter().any(|known| known == name)
    }

    /// Columns under another tool's name, with ours.
    pub fn renamed(&self) -> impl Iterator<Item = (&str, &str)> {
        let both = self.names.iter().zip(&self.keys);
        let other = both.filter(|(name, key)| !name.eq_ignore_ascii_case(key));
        other.map(|(name, key)| (name.as_str(), key.as_str()))
    }

    /// The header of the answers: the input's columns, then ours.
    pub fn header(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for name in &self.names {
            if APPENDED.contains(&name.as_str()) {
                out.extend_from_slice(b"given_");
            }
            push_csv_text(&mut out, name);
            out.push(b',');
        }
        out.extend_from_slice(APPENDED.join(",").as_bytes());
        out.push(b'\n');
        out
    }

    /// Columns that are passed through although they look like a slip of a parameter's name,
    /// with that name.
    pub fn slips(&self, own: &[String]) -> Vec<(String, String)> {
        let mut known: Vec<&str> = names::known().collect();
        known.extend(own.iter().map(String::as_str));
        let unknown = self.keys.iter().filter(|name| !known.contains(&name.as_str()));
        unknown
            .filter(|name| name.len() > 2 && !APPENDED.contains(&name.as_str()))
            .filter_map(|name| {
                let nearest = nearest::unknown("column", name, &known).nearest?;
                let absent = !self.keys.contains(&nearest);
                (absent && is_slip(name, &nearest)).then(|| (name.clone(), nearest))
            })
            .collect()
    }

    /// Reads one row, and which columns it needed. `cells` is only lent, so that it is not
    /// allocated for each row.
    fn read<'a>(
        &self,
        record: &'a [u8],
        cells: &mut Vec<Cow<'a, str>>,
        seat: &mut Seat<'_>,
    ) -> Result<(Asked, u64), RowError> {
        let text = std::str::from_utf8(record)
            .map_err(|_| RowError::Malformed("the row is not UTF-8 text".to_owned()))?;
        cells.clear();
        split(text, cells);
        let (here, wanted) = (cells.len(), self.names.len());
        if here != wanted {
            let joined = match text.matches('\n').count() {
                0 => String::new(),
                1 => " (a quote joins the next line to it)".to_owned(),
                more => format!(" (a quote joins the next {more} lines to it)"),
            };
            return Err(RowError::Malformed(format!("{here} cells, but {wanted} columns{joined}")));
        }
        let read = Cell::new(0_u64);
        let get = |name: &str| {
            let at = self.position(name)?;
            read.set(read.get() | bit(at));
            cells.get(at).map(Cow::as_ref)
        };
        Ok((seat.read(&get)?, read.get()))
    }

    fn position(&self, name: &str) -> Option<usize> {
        let keys = self.keys.iter().position(|known| is_same(known, name));
        // A custom op of a machine that a row names may have a parameter that is an alias of ours.
        let names = || self.names.iter().position(|known| is_same(known, name));
        keys.or_else(|| if self.differ { names() } else { None })
    }

    /// Adds to `piece` which columns its rows have, and which of them were read.
    fn note_columns(&self, piece: &mut Piece) {
        if piece.failed == piece.rows {
            return;
        }
        for (at, name) in self.names.iter().enumerate() {
            piece.columns.see(name, piece.read & bit(at) != 0);
        }
    }

    /// The row as it came, cut or filled to the header's width so that columns stay columns.
    fn echo(&self, record: &[u8], out: &mut Vec<u8>) {
        let text = String::from_utf8_lossy(record);
        let mut cells = Vec::new();
        split(&text, &mut cells);
        cells.resize(self.names.len(), Cow::Borrowed(""));
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            push_csv_text(out, cell);
        }
    }
}

impl Rows for CsvRows {
    fn quotes(&self) -> Quotes {
        Quotes::Hide
    }

    fn answer_all(&self, bytes: &[u8], seat: &mut Seat<'_>) -> Piece {
        let mut piece = Piece::to(bytes);
        let mut cells = Vec::with_capacity(self.names.len());
        let mut records = records(bytes, Quotes::Hide).filter(|(_, record)| !is_silent(record));
        loop {
            let mut rows = Vec::with_capacity(TOGETHER);
            let mut asked = Vec::with_capacity(TOGETHER);
            for (line, record) in records.by_ref().take(TOGETHER) {
                let (read, line) = match unclosed(record) {
                    Some(after) => (Err(never_closed(record, after)), line + after),
                    None => (self.read(record, &mut cells, seat), line),
                };
                rows.push((line, record, read.as_ref().map_or(0, |(_, marks)| *marks)));
                asked.push(read.map(|(asked, _)| asked));
            }
            if rows.is_empty() {
                break;
            }
            piece.rows += rows.len() as u64;
            for ((line, record, marks), answer) in rows.into_iter().zip(seat.answer(asked)) {
                match answer {
                    Ok(answer) => {
                        piece.bytes.extend_from_slice(record);
                        push_csv_answer(&mut piece.bytes, &answer);
                        piece.read |= marks;
                    }
                    Err(error) => {
                        self.echo(record, &mut piece.bytes);
                        push_csv_problem(&mut piece.bytes, &error.to_string());
                        piece.note(line, &error);
                    }
                }
                piece.bytes.push(b'\n');
            }
        }
        self.note_columns(&mut piece);
        piece
    }
}

/// Whether a record is a blank or comment line, which no answer belongs to.
pub fn is_silent(record: &[u8]) -> bool {
    record.first() == Some(&b'#') || record.iter().all(u8::is_ascii_whitespace)
}

/// Whether one letter too many, too few or another, or two letters swapped, make `given` of `name`.
fn is_slip(given: &str, name: &str) -> bool {
    let (given, name) = (given.to_lowercase(), name.as_bytes());
    let given = given.as_bytes();
    let equal =
        |pairs: &mut dyn Iterator<Item = (u8, u8)>| pairs.take_while(|p| p.0 == p.1).count();
    let ahead = equal(&mut given.iter().copied().zip(name.iter().copied()));
    let (given, name) = (&given[ahead..], &name[ahead..]);
    let behind = equal(&mut given.iter().rev().copied().zip(name.iter().rev().copied()));
    match (&given[..given.len() - behind], &name[..name.len() - behind]) {
        ([a, b], [c, d]) => (a, b) == (d, c),
        (given, name) => given.len().max(name.len()) <= 1,
    }
}

/// Whether two names are equal. Most differ in length or first letter, which saves comparing
/// them: a dozen names are looked up for each row.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.as_bytes().first() == b.as_bytes().first() && a == b
}

/// The mark of the column `at`. Of columns beyond those that have one nobody tells whether they
/// are read.
fn bit(at: usize) -> u64 {
    u32::try_from(at).ok().and_then(|at| 1_u64.checked_shl(at)).unwrap_or(1 << 63)
}

/// Lines of a record before the one with a quote that is never closed, if it has one.
fn unclosed(record: &[u8]) -> Option<u64> {
    let quotes = record.iter().filter(|byte| **byte == b'"').count();
    if quotes % 2 == 0 {
        return None;
    }
    let last = record.iter().rposition(|byte| *byte == b'"')?;
    Some(record[..last].iter().filter(|byte| **byte == b'\n').count() as u64)
}

fn never_closed(record: &[u8], before: u64) -> RowError {
    let lines = record.iter().filter(|byte| **byte == b'\n').count() as u64 - before;
    let swallowed = match lines {
        0 => String::new(),
        1 => "; the line after it is taken for part of this row".to_owned(),
        lines => format!("; the {lines} lines after it are taken for part of this row"),
    };
    RowError::Malformed(format!("a quote is opened here and never closed{swallowed}"))
}

/// Splits a record into cells: blanks around them are dropped, quotes are taken off.
fn split<'a>(record: &'a str, cells: &mut Vec<Cow<'a, str>>) {
    if !record.contains('"') {
        cells.extend(record.split(',').map(|cell| Cow::Borrowed(cell.trim_ascii())));
        return;
    }
    let mut inside = false;
    let outside_comma = |letter: char| {
        inside ^= letter == '"';
        letter == ',' && !inside
    };
    cells.extend(record.split(outside_comma).map(|cell| unquoted(cell.trim_ascii())));
}

fn unquoted(cell: &str) -> Cow<'_, str> {
    match cell.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) if inner.contains('"') => Cow::Owned(inner.replace("\"\"", "\"")),
        Some(inner) => Cow::Borrowed(inner),
        None => Cow::Borrowed(cell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(record: &str) -> Vec<String> {
        let mut cells = Vec::new();
        split(record, &mut cells);
        cells.into_iter().map(Cow::into_owned).collect()
    }

    #[test]
    fn cells_are_told_apart() {
        assert_eq!(cells("bf16, 8 ,16"), ["bf16", "8", "16"]);
        assert_eq!(cells("\"a,b\", \"say \"\"hi\"\"\",,x"), ["a,b", "say \"hi\"", "", "x"]);
        assert_eq!(cells(""), [""]);
    }

    #[test]
    fn a_header_that_is_none_is_told() {
        let error = |record| CsvRows::from_header(record, &[]).unwrap_err();
        assert_eq!(error("m;n;k"), HeaderError::Separator("`;`"));
        assert_eq!(error("m,n,k,m"), HeaderError::Twice("m".to_owned()));
        assert_eq!(error("version https://git-lfs.github.com/spec/v1"), HeaderError::LfsPointer);
        let either = HeaderError::WhichLength("seq_len".to_owned());
        assert_eq!(error("phase,batch,heads,seq_len"), either);
        assert_eq!(error("phase,batch,heads,seq_len,kv_len"), either);
    }

    #[test]
    fn columns_named_like_ours_are_kept_under_another_name() {
        let rows = CsvRows::from_header("m,n,k,time_us,layer", &[]).unwrap();
        let header = String::from_utf8(rows.header()).unwrap();
        assert_eq!(
            header,
            "m,n,k,given_time_us,layer,time_us,low_us,high_us,domain,basis,machine,answered_by,error\n"
        );
        let slips = CsvRows::from_header("dtype,bacth,m,n,k,layer", &[]).unwrap().slips(&[]);
        assert_eq!(slips, [("bacth".to_owned(), "batch".to_owned())]);
        let own = ["bacth".to_owned()];
        assert_eq!(CsvRows::from_header("dtype,bacth,m,n,k", &own).unwrap().slips(&own), []);
    }

    #[test]
    fn only_what_is_close_is_a_slip() {
        for (given, name) in [("bacth", "batch"), ("rank", "ranks"), ("dtypee", "dtype")] {
            assert!(is_slip(given, name), "{given}");
        }
        for (given, name) in [("note", "nodes"), ("seq_len", "kv_len"), ("layer", "bytes")] {
            assert!(!is_slip(given, name), "{given}");
        }
    }

    #[test]
    fn a_column_is_found_in_capitals_and_under_other_names() {
        let rows = CsvRows::from_header("DType,M,n,k,batch_size,m2", &[]).unwrap();
        assert_eq!(rows.position("m"), Some(1));
        assert_eq!((rows.position("batch"), rows.position("batch_size")), (Some(4), Some(4)));
        assert_eq!(rows.renamed().collect::<Vec<_>>(), [("batch_size", "batch")]);
        // Where ours is there too, the other is none of ours.
        let rows = CsvRows::from_header("batch_size,batch,M,m", &[]).unwrap();
        assert_eq!((rows.position("batch"), rows.position("m")), (Some(1), Some(3)));
        // A custom op may have parameters of any name.
        let own = ["batch_size".to_owned(), "M".to_owned()];
        let rows = CsvRows::from_header("batch_size,M", &own).unwrap();
        assert_eq!((rows.position("batch"), rows.position("m")), (None, None));
    }

    #[test]
    fn a_quote_that_is_never_closed_is_told_with_its_line() {
        assert_eq!(unclosed(b"\"a\",1"), None);
        assert_eq!(unclosed(b"\"a,1\n2,3\n"), Some(0));
        assert_eq!(unclosed(b"\"a\n\",\"1\n2,3"), Some(1));
        let error = never_closed(b"\"a\n\",\"1\n2,3\n4", 1).to_string();
        assert_eq!(
            error,
            "a quote is opened here and never closed; the 2 lines after it are taken for part of \
             this row"
        );
    }
}
