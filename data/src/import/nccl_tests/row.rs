//! One row of a table, split into cells by the header.
//!
//! A row is found by its key, `size count type`, wherever in the line it begins, so that no
//! list of launcher prefixes is needed. It is kept only if every cell it must have is there
//! and nothing else is.

use super::header::{Half, HalfColumn, Header};
use super::tokens::{Token, tokens, without_rank_tags};
use crate::dtype::Dtype;
use crate::import::SEVERAL_ROWS;
use crate::import::printed::Printed;
use crate::units::Nanos;

/// The reduction a row names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Redop {
    /// The cell is blank or the column absent.
    Unstated,
    /// `none`.
    Moves,
    /// `sum`, `prod`, `max` and the like.
    Reduces,
}

/// What the source's own check found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Check {
    /// Not checked: `N/A`, or no such column.
    #[default]
    NotChecked,
    /// No wrong element.
    Passed,
    /// Wrong elements.
    Failed,
}

/// One half of a row.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Cells {
    /// Time in the unit of the table; none where the source printed `nan`.
    pub time: Option<Printed>,
    /// Size over time, GB/s.
    pub algorithm: Option<Printed>,
    /// Bus bandwidth, GB/s.
    pub bus: Option<Printed>,
    /// The source's check.
    pub check: Check,
    /// Every iteration, where the source reports them.
    pub iterations: Vec<Nanos>,
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// Its line, counted from 1.
    pub line: usize,
    /// Bytes as nccl-tests counts them; 0 where the size asked for was rounded down to nothing.
    pub size: u64,
    /// Elements a rank sends or receives, by collective.
    pub count: u64,
    /// Element type.
    pub dtype: Dtype,
    /// Type and reduction as printed: one table sweeps its sizes once for each pair.
    pub sweep: String,
    /// The reduction.
    pub redop: Redop,
    /// The root; none where the column is absent or blank, or for collectives without one.
    pub root: Option<u64>,
    /// Separate send and receive buffers.
    pub out_of_place: Option<Cells>,
    /// One buffer for both.
    pub in_place: Option<Cells>,
}

/// The key of a row and where its other cells begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key<'a> {
    size: u64,
    count: u64,
    dtype: Dtype,
    type_name: &'a str,
    end: usize,
}

impl<'a> Key<'a> {
    /// The first `size count type` of `line`.
    pub fn find(line: &'a str) -> Option<Key<'a>> {
        let words = tokens(line);
        words.windows(3).find_map(|words| {
            let size = trailing_number(words[0].text)?;
            let count = words[1].text.parse().ok()?;
            let dtype: Dtype = words[2].text.parse().ok()?;
            Some(Key { size, count, dtype, type_name: words[2].text, end: words[2].end() })
        })
    }
}

/// The type of a row whose type is unknown: a word behind size and count, and numbers behind it.
pub(super) fn unknown_type(line: &str) -> Option<&str> {
    /// A row has more cells: times and bandwidths.
    const NUMBERS: usize = 3;
    let words = tokens(line);
    let at = words.windows(3).position(|words| {
        trailing_number(words[0].text).is_some()
            && words[1].text.parse::<u64>().is_ok()
            && words[2].text.starts_with(|c: char| c.is_alphabetic())
            && words[2].text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })?;
    let behind = words[at + 3..].iter().filter(|word| word.text.parse::<f64>().is_ok());
    (behind.count() >= NUMBERS).then_some(words[at + 2].text)
}

/// Whether `line` could be the beginning of a row that was cut before its type ended: a size,
/// perhaps a count and the letters of a type, behind nothing but a launcher's prefix.
pub(super) fn may_begin(line: &str) -> bool {
    let is_prefix = |word: &Token<'_>| {
        word.text.ends_with([':', '>', ']', '|', '#']) || word.text.contains([':', '-', '/'])
    };
    let words = tokens(line);
    let from =
        words.iter().position(|word| !is_prefix(word) && trailing_number(word.text).is_some());
    let glued = || words.iter().rposition(|word| trailing_number(word.text).is_some());
    let Some(from) = from.or_else(glued) else { return false };
    if !words[..from].iter().all(is_prefix) {
        return false;
    }
    match &words[from + 1..] {
        [] => true,
        [count, rest @ ..] => {
            let is_type = |word: &Token<'_>| word.text.bytes().all(|b| b.is_ascii_alphanumeric());
            count.text.parse::<u64>().is_ok() && rest.len() <= 1 && rest.iter().all(is_type)
        }
    }
}

/// The digits `text` ends with, alone or glued to a launcher's prefix (`[STAT]:12264`).
fn trailing_number(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let glued = text[..digits].chars().last();
    if !matches!(glued, None | Some(':' | '>' | ']' | '|' | '#')) {
        return None;
    }
    text[digits..].parse().ok()
}

/// Why a line that begins like a row is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TornRow {
    /// Fewer cells than the header names.
    TooShort,
    /// A cell holds something else than its column.
    Foreign,
    /// Size is no multiple of count and element size.
    SizeAndCount,
    /// Another row begins before this one ends.
    Several,
}

impl TornRow {
    /// The reason as the summary gives it.
    pub fn reason(self) -> &'static str {
        match self {
            TornRow::TooShort => "row is cut short",
            TornRow::Foreign => "row is broken by other text",
            TornRow::SizeAndCount => "size and count disagree",
            TornRow::Several => SEVERAL_ROWS,
        }
    }
}

impl Row {
    /// Reads the row that begins with `key`.
    pub fn parse(text: &str, line: usize, key: Key<'_>, header: &Header) -> Result<Row, TornRow> {
        if Key::find(&text[key.end..]).is_some() {
            return Err(TornRow::Several);
        }
        let cells = without_rank_tags(without_log_tail(text, key.end));
        let words: Vec<Token<'_>> =
            tokens(&cells).into_iter().filter(|word| word.start >= key.end).collect();
        let words = &words[..words.len() - time_stamp_words(&words)];
        let (redop, rest) = read_redop(words, header);
        let sweep = [key.type_name].into_iter().chain(words.iter().map(|word| word.text));
        let sweep = sweep.take(1 + words.len() - rest.len()).collect::<Vec<_>>().join(" ");
        let (root, rest) = read_root(rest, header)?;
        let (out_of_place, in_place) = read_halves(rest, key, header)?;
        let row = Row {
            line,
            size: key.size,
            count: key.count,
            dtype: key.dtype,
            sweep,
            redop,
            root,
            out_of_place,
            in_place,
        };
        if row.size_fits_count() { Ok(row) } else { Err(TornRow::SizeAndCount) }
    }

    /// Size is elements times their size, or that times the ranks, which are known only later.
    fn size_fits_count(&self) -> bool {
        match self.count.checked_mul(self.dtype.size()) {
            Some(0) => self.size == 0,
            Some(bytes) => self.size >= bytes && self.size.is_multiple_of(bytes),
            None => false,
        }
    }

    /// The bytes sizes are rounded to, at most: one element for each rank.
    pub fn rounding(&self) -> u64 {
        let bytes = self.count.saturating_mul(self.dtype.size());
        let ranks = self.size.checked_div(bytes).unwrap_or(1).max(1);
        ranks.saturating_mul(self.dtype.size())
    }

    /// Both halves that are there.
    pub fn halves(&self) -> impl Iterator<Item = &Cells> {
        self.out_of_place.iter().chain(&self.in_place)
    }
}

/// `text` up to a message of NCCL glued behind the last cell.
fn without_log_tail(text: &str, from: usize) -> &str {
    let Some(at) = text[from..].find(" NCCL ").map(|at| from + at) else { return text };
    // `host:pid:thread [device] NCCL INFO ...`
    let mut words = tokens(&text[from..at]);
    let cut = words.pop().filter(|word| word.text.starts_with('[')).and(words.pop());
    cut.map_or(text, |word| &text[..from + word.start])
}

/// How many words at the end are a time stamp.
fn time_stamp_words(words: &[Token<'_>]) -> usize {
    let is_stamp = |word: &&Token<'_>| {
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let parts = |mark| word.text.split(mark).count() == 3 && word.text.split(mark).all(digits);
        parts(':') || parts('-') || parts('/')
    };
    words.iter().rev().take_while(is_stamp).count()
}

/// The reduction, if the header has the column and the row does not leave it blank.
fn read_redop<'a, 'b>(words: &'a [Token<'b>], header: &Header) -> (Redop, &'a [Token<'b>]) {
    let named = words.first().filter(|word| {
        header.redop && word.text.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_')
    });
    match named.map(|word| word.text) {
        None | Some("nan" | "inf") => (Redop::Unstated, words),
        Some("none") => (Redop::Moves, &words[1..]),
        Some(_) => (Redop::Reduces, &words[1..]),
    }
}

/// The root, which every row prints whose header has the column: `-1` where there is none.
fn read_root<'a, 'b>(
    words: &'a [Token<'b>],
    header: &Header,
) -> Result<(Option<u64>, &'a [Token<'b>]), TornRow> {
    if !header.root {
        return Ok((None, words));
    }
    let (root, rest) = words.split_first().ok_or(TornRow::TooShort)?;
    let root: i64 = root.text.parse().map_err(|_| TornRow::Foreign)?;
    Ok((u64::try_from(root).ok(), rest))
}

/// Out of place and in place.
type Halves = (Option<Cells>, Option<Cells>);

fn read_halves(words: &[Token<'_>], key: Key<'_>, header: &Header) -> Result<Halves, TornRow> {
    let [first, rest @ ..] = header.halves.as_slice() else { return Err(TornRow::Foreign) };
    let cells = |words: &[Token<'_>], half: &Half| Cells::parse(words, half, key.dtype).map(Some);
    let Some(second) = rest.first() else { return Ok((cells(words, first)?, None)) };
    if words.len() == first.columns.len() {
        let blank_first =
            stands_under(words, key, header, second) <= stands_under(words, key, header, first);
        return if blank_first {
            Ok((None, cells(words, second)?))
        } else {
            Ok((cells(words, first)?, None))
        };
    }
    let (left, right) = words.split_at_checked(first.columns.len()).ok_or(TornRow::TooShort)?;
    Ok((cells(left, first)?, cells(right, second)?))
}

/// How far the first of `words` is from standing under the time heading of `half`, both seen
/// from the type column, since a prefix may shift the line.
fn stands_under(words: &[Token<'_>], key: Key<'_>, header: &Header, half: &Half) -> usize {
    let cell = words.first().map_or(0, Token::end).saturating_sub(key.end);
    half.time_end.saturating_sub(header.type_end).abs_diff(cell)
}

impl Cells {
    fn parse(words: &[Token<'_>], half: &Half, dtype: Dtype) -> Result<Cells, TornRow> {
        if words.len() < half.columns.len() {
            return Err(TornRow::TooShort);
        }
        if words.len() > half.columns.len() {
            return Err(TornRow::Foreign);
        }
        let mut cells = Cells::default();
        let mut wrong = None;
        for (column, word) in half.columns.iter().zip(words) {
            let number = read_cell(word.text)?;
            match column {
                HalfColumn::Time => cells.time = number,
                HalfColumn::AlgorithmBandwidth => cells.algorithm = number,
                HalfColumn::BusBandwidth => cells.bus = number,
                HalfColumn::Wrong => wrong = number.map(|count| (count.value, 0.0)),
                HalfColumn::Deviation => wrong = number.map(|by| (by.value, allowed(dtype))),
                HalfColumn::Other => {}
            }
        }
        if let Some((found, limit)) = wrong {
            cells.check = if found <= limit { Check::Passed } else { Check::Failed };
        }
        Ok(cells)
    }
}

/// The largest deviation the `error` column passes with (`deltaMaxValue` of nccl-tests 2.0 to
/// 2.12); anything but zero is wrong for integers.
fn allowed(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F16 | Dtype::Bf16 => 1e-2,
        Dtype::F32 | Dtype::Tf32 => 1e-5,
        Dtype::F64 => 1e-12,
        _ => f64::MIN_POSITIVE,
    }
}

/// A number, or none for what nccl-tests prints where it has none.
fn read_cell(text: &str) -> Result<Option<Printed>, TornRow> {
    match text {
        "N/A" | "nan" | "-nan" | "inf" | "-inf" => Ok(None),
        _ => Printed::parse(text).map(Some).ok_or(TornRow::Foreign),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "#       size         count      type   redop    root     time   algbw   \
                          busbw  #wrong     time   algbw   busbw  #wrong";

    fn read(text: &str) -> Result<Row, TornRow> {
        let header = Header::parse(HEADER).unwrap();
        Row::parse(text, 1, Key::find(text).unwrap(), &header)
    }

    #[test]
    fn whole_rows_are_read_behind_any_prefix() {
        for prefix in ["", "0: ", "[1,0]<stdout>:", "[STAT]:", "pod-7  | ", "2031-01-02 03:04:05 "]
        {
            let text = format!("{prefix}2048 512 float sum -1 9.01 0.23 0.34 0 9.11 0.22 0.34 N/A");
            let row = read(&text).unwrap();
            assert_eq!((row.size, row.root, row.redop), (2048, None, Redop::Reduces), "{prefix}");
            assert_eq!(row.in_place.unwrap().check, Check::NotChecked);
            assert_eq!(row.out_of_place.unwrap().time.unwrap().value, 9.01);
        }
    }

    #[test]
    fn torn_rows_say_how() {
        let cut = "524288 131072 float node-a:42:43 [1] NCCL INFO comm 0x1 nRanks 08 - float sum";
        assert_eq!(read(cut), Err(TornRow::TooShort));
        assert_eq!(read("8 2 float sum -1 12.00 0.00"), Err(TornRow::TooShort));
        let digits = "8 3 float sum -1 9.0 0.0 0.0 0 9.1 0.0 0.0 0";
        assert_eq!(read(digits), Err(TornRow::SizeAndCount));
        let glued = "8 2 float sum -1 9.0 0.0 0.0 0 9.1 0.0 0.0 0x 1 2";
        assert_eq!(read(glued), Err(TornRow::Foreign));
    }

    #[test]
    fn the_beginning_of_a_row_is_no_message() {
        for cut in ["  5242", "524288  131072", "524288 131072 flo", "0: 524288 13", "[STAT]:524"] {
            assert!(may_begin(cut), "{cut}");
        }
        for message in ["", "node-a:42:43 [1] NCCL INFO nRanks 08", "warning 3", "524288 x", "0:"] {
            assert!(!may_begin(message), "{message}");
        }
    }

    #[test]
    fn a_message_behind_a_whole_row_and_tags_inside_it_are_no_cells() {
        let tail = "8 2 float sum -1 9.0 0.0 0.0 0 9.1 0.0 0.0 0 a:1:2 [0] NCCL INFO x";
        assert!(read(tail).is_ok());
        let tags = "[0] 8 2 float sum -1[0] 9.0 0.0 0.0 0[0] 9.1 0.0 0.0 0";
        assert!(read(tags).is_ok());
        let stamped = "8 2 float sum -1 9.0 0.0 0.0 0 9.1 0.0 0.0 0 2031-01-02 03:04:05";
        assert!(read(stamped).is_ok());
    }

    #[test]
    fn one_half_belongs_to_the_heading_it_stands_under() {
        let key = "     1048576        262144     float    none       2";
        let blank =
            format!("{key}                                    17.60   59.58   59.58       0");
        let row = read(&blank).unwrap();
        assert!(row.out_of_place.is_none() && row.in_place.is_some());
        assert_eq!(row.root, Some(2));
        let left = format!("{key}    17.60   59.58   59.58       0");
        assert!(read(&left).unwrap().in_place.is_none());
    }

    #[test]
    fn wrong_results_and_deviations_fail_the_check() {
        let row = read("8 2 float sum -1 9.0 0.0 0.0 96 9.1 0.0 0.0 0").unwrap();
        assert_eq!(row.out_of_place.unwrap().check, Check::Failed);
        assert_eq!(row.in_place.unwrap().check, Check::Passed);
        let header = Header::parse("# size count type time algbw busbw error").unwrap();
        let check = |text: &str| {
            let row = Row::parse(text, 1, Key::find(text).unwrap(), &header).unwrap();
            row.out_of_place.unwrap().check
        };
        assert_eq!(check("48 1 float 57.4 0.00 0.00 2e-07"), Check::Passed);
        assert_eq!(check("48 1 float 57.4 0.00 0.00 1e+00"), Check::Failed);
    }
}
