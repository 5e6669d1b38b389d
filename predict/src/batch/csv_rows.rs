//! CSV questions: a header, then rows that are echoed as they came with the answer appended.

use std::borrow::Cow;

use kernelgauge_data::{Family, fields, nearest};
use thiserror::Error;

use super::blocks::{Quotes, records};
use super::desk::{RowError, Seat};
use super::output::{APPENDED, push_csv_answer, push_csv_problem, push_csv_text};
use super::piece::{Piece, Rows};

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
        }
    }
}

/// Where the columns of a CSV file stand.
#[derive(Debug)]
pub struct CsvRows {
    names: Vec<String>,
}

impl CsvRows {
    /// Reads a header record.
    ///
    /// # Errors
    /// [`HeaderError`].
    pub fn from_header(record: &str) -> Result<Self, HeaderError> {
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
        Ok(CsvRows { names })
    }

    /// Whether there is a column called `name`.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
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
        let mut known = vec!["machine", "family", "op", "columns"];
        for family in Family::ALL {
            known.extend_from_slice(fields::columns(family));
        }
        known.extend(own.iter().map(String::as_str));
        let unknown = self.names.iter().filter(|name| !known.contains(&name.as_str()));
        unknown
            .filter(|name| name.len() > 2 && !APPENDED.contains(&name.as_str()))
            .filter_map(|name| {
                let nearest = nearest::unknown("column", name, &known).nearest?;
                let absent = !self.names.contains(&nearest);
                (absent && nearest.len().abs_diff(name.len()) <= 1).then(|| (name.clone(), nearest))
            })
            .collect()
    }

    /// Answers one row. `cells` is only lent, so that it is not allocated for each row.
    fn answer<'a>(
        &self,
        record: &'a [u8],
        cells: &mut Vec<Cow<'a, str>>,
        seat: &mut Seat<'_>,
        piece: &mut Piece,
    ) -> Result<(), RowError> {
        let text = std::str::from_utf8(record)
            .map_err(|_| RowError::Malformed("the row is not UTF-8 text".to_owned()))?;
        cells.clear();
        split(text, cells);
        let (here, wanted) = (cells.len(), self.names.len());
        if here != wanted {
            return Err(RowError::Malformed(format!("{here} cells, but {wanted} columns")));
        }
        let get = |name: &str| {
            let at = self.names.iter().position(|known| is_same(known, name))?;
            cells.get(at).map(Cow::as_ref)
        };
        let (prediction, machine) = seat.answer(&get)?;
        piece.bytes.extend_from_slice(record);
        push_csv_answer(&mut piece.bytes, &prediction, machine);
        piece.bytes.push(b'\n');
        Ok(())
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
        for (line, record) in records(bytes, Quotes::Hide) {
            if is_silent(record) {
                continue;
            }
            piece.rows += 1;
            if let Err(error) = self.answer(record, &mut cells, seat, &mut piece) {
                self.echo(record, &mut piece.bytes);
                push_csv_problem(&mut piece.bytes, &error.to_string());
                piece.bytes.push(b'\n');
                piece.note(line, &error);
            }
        }
        piece
    }
}

/// Whether a record is a blank or comment line, which no answer belongs to.
pub fn is_silent(record: &[u8]) -> bool {
    record.first() == Some(&b'#') || record.iter().all(u8::is_ascii_whitespace)
}

/// Whether two names are equal. Most differ in length or first letter, which saves comparing
/// them: a dozen names are looked up for each row.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.as_bytes().first() == b.as_bytes().first() && a == b
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
        let error = |record| CsvRows::from_header(record).unwrap_err();
        assert_eq!(error("m;n;k"), HeaderError::Separator("`;`"));
        assert_eq!(error("m,n,k,m"), HeaderError::Twice("m".to_owned()));
        assert_eq!(error("version https://git-lfs.github.com/spec/v1"), HeaderError::LfsPointer);
    }

    #[test]
    fn columns_named_like_ours_are_kept_under_another_name() {
        let rows = CsvRows::from_header("m,n,k,time_us,layer").unwrap();
        let header = String::from_utf8(rows.header()).unwrap();
        assert_eq!(
            header,
            "m,n,k,given_time_us,layer,time_us,low_us,high_us,domain,basis,machine,error\n"
        );
        let slips = CsvRows::from_header("dtype,bacth,m,n,k,layer").unwrap().slips(&[]);
        assert_eq!(slips, [("bacth".to_owned(), "batch".to_owned())]);
        let own = ["bacth".to_owned()];
        assert_eq!(CsvRows::from_header("dtype,bacth,m,n,k").unwrap().slips(&own), []);
    }
}
