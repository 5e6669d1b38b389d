//! Result lines of PARAM's communication benchmark (`comms.py`).
//!
//! `COMMS-RES-all_to_allv-float32  4096  256  21.4-22.0-20.9-21.7  0.188  0.141` under a header
//! whose cells may hold a blank (`total-size (B)`). Times of several ranks are joined by `-`,
//! so numbers are split by their grammar, and their count is the world size. The record holds
//! the median over ranks, upper of two as PARAM takes it for its bandwidths.
//!
//! PARAM counts the buffer of one rank. nccl-tests, and this tool, count the larger buffer,
//! which for a gather is the received one: `nElementsPerRank` tells which was printed.

use std::borrow::Cow;
use std::path::Path;

use thiserror::Error;

use super::printed::{Printed, split_joined};
use super::{ENDS_INSIDE_ROW, SEVERAL_ROWS};
use super::{ImportError, ImportOptions, ImportSummary, Imported};
use crate::conditions::Conditions;
use crate::diagnostic::Diagnostic;
use crate::dtype::Dtype;
use crate::machine::Links;
use crate::measurement::{Flags, Measurement, Outcome, Record};
use crate::nearest::UnknownName;
use crate::point::{Collective, CollectivePoint, Point};
use crate::table::shorten;
use crate::units::{Nanos, UnitError};

/// What every result line holds.
const MARK: &str = "COMMS-RES";

/// Why a row with too few cells is dropped.
const CUT_SHORT: &str = "row is cut short";

/// How far the printed bandwidth may be from size over time: it is cut to three decimals.
const TOLERANCE: f64 = 0.02;

/// Whether `text` holds such lines.
pub(crate) fn recognises(text: &str) -> bool {
    text.lines().any(|line| line.contains(MARK))
}

/// Why such a log is not imported.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
enum ParamError {
    /// Results before the line that names their columns.
    #[error("results before any header")]
    NoHeader,
    /// One rank moves nothing.
    #[error("world size 1 is not a collective measurement")]
    SingleRank,
    /// Neither per-rank times nor the caller tell the ranks.
    #[error("the number of ranks is not stated")]
    UnknownRanks,
    /// The times of the file are of different numbers of ranks.
    #[error("times of {found} ranks where {expected} ranks are stated")]
    WorldSize {
        /// Times in the row.
        found: u64,
        /// As stated, or in the rows before.
        expected: u64,
    },
    /// Nothing could be kept.
    #[error("no usable results{}", first.as_ref().map(|f| format!("; the first: {f}")).unwrap_or_default())]
    Nothing {
        /// Why the first result was left out.
        first: Option<String>,
    },
}

impl Diagnostic for ParamError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            ParamError::NoHeader => "import the whole log, from the line of column names on",
            ParamError::SingleRank => "start the benchmark on several ranks",
            ParamError::UnknownRanks => "state it with `--ranks`",
            ParamError::WorldSize { .. } => "import one run per file",
            ParamError::Nothing { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

/// Where the columns are that are read.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Columns {
    size: usize,
    per_rank: Option<usize>,
    time: usize,
    /// Microseconds of one unit of time.
    unit_us: f64,
    algorithm: Option<usize>,
}

impl Columns {
    /// Reads the line that names the columns.
    fn parse(line: &str) -> Option<Columns> {
        if !line.contains("total-size") {
            return None;
        }
        // Cells are words, but for a unit that stands alone.
        let words = line.split_whitespace().skip_while(|word| !word.contains("total-size"));
        let names: Vec<&str> = words.filter(|word| !word.starts_with('(')).collect();
        let position = |wanted: &[&str]| {
            names.iter().position(|name| wanted.iter().any(|start| name.starts_with(start)))
        };
        let time = position(&["Time(", "Latency("])?;
        let unit_us = match names[time].split(['(', ')']).nth(1)? {
            "us" => 1.0,
            "ms" => 1e3,
            "ns" => 1e-3,
            _ => return None,
        };
        Some(Columns {
            size: 0,
            per_rank: position(&["nElementsPerRank"]),
            time,
            unit_us,
            algorithm: position(&["AlgBW"]),
        })
    }
}

/// One result line.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    collective: Collective,
    dtype: Dtype,
    size: u64,
    per_rank: Option<u64>,
    times: Vec<Printed>,
    algorithm: Option<Printed>,
}

impl Line {
    /// Reads `line`, which holds the mark; the error says what is wrong with it.
    fn parse(line: &str, columns: &Columns) -> Result<Line, Cow<'static, str>> {
        if line.matches(MARK).count() > 1 {
            return Err(SEVERAL_ROWS.into());
        }
        let from = line.find(MARK).ok_or("no result")?;
        let mut words = line[from + MARK.len()..].split_whitespace();
        let label = words.next().unwrap_or_default().trim_start_matches('-');
        let (collective, dtype) = label.rsplit_once('-').ok_or("label names no dtype")?;
        let cells: Vec<&str> = words.collect();
        let cell = |index: usize| cells.get(index).copied().ok_or(CUT_SHORT);
        let whole = |text: &str| {
            text.parse::<u64>()
                .map_err(|_| format!("size `{}` is not a whole number", shorten(text)))
        };
        let per_rank = match columns.per_rank {
            Some(index) => Some(whole(cell(index)?)?),
            None => None,
        };
        let algorithm = columns.algorithm.map(cell).transpose()?;
        let joined = cell(columns.time)?;
        let times = split_joined(joined).ok_or("times are not numbers joined by `-`")?;
        if let Some(time) = times.iter().find(|time| time.value <= 0.0) {
            return Err(format!("a time of {}, which is not positive", time.value).into());
        }
        Ok(Line {
            collective: collective.parse().map_err(|error: UnknownName| error.to_string())?,
            dtype: dtype.parse().map_err(|error: UnknownName| error.to_string())?,
            size: whole(cell(columns.size)?)?,
            per_rank,
            times,
            algorithm: algorithm.and_then(Printed::parse),
        })
    }

    /// The upper median over ranks, in the unit of the column.
    fn median(&self) -> f64 {
        let mut values: Vec<f64> = self.times.iter().map(|time| time.value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    }

    /// Bytes as nccl-tests counts them.
    fn bytes(&self, ranks: u64) -> Option<u64> {
        let gathers = matches!(self.collective, Collective::AllGather | Collective::Gather);
        let sent = self.per_rank.and_then(|count| count.checked_mul(self.dtype.size()));
        if gathers && sent == Some(self.size) {
            self.size.checked_mul(ranks)
        } else {
            Some(self.size)
        }
    }

    /// Whether the printed bandwidth confirms the time, or is too short to tell.
    fn confirmed(&self, columns: &Columns) -> bool {
        let Some(algorithm) = self.algorithm.filter(|printed| printed.value > 0.0) else {
            return true;
        };
        // GB/s are bytes per nanosecond; a cut digit may be off by a whole unit.
        let time_ns = self.median() * columns.unit_us * 1e3;
        let computed = self.size as f64 / time_ns;
        let open = 2.0 * algorithm.half_digit + TOLERANCE * computed;
        (algorithm.value - computed).abs() <= open
    }
}

/// Reads a log.
///
/// # Errors
/// Refuses a log of one rank, of no stated rank count, or of nothing usable.
pub(crate) fn read(
    text: &str,
    path: &Path,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    let refused = |line: Option<usize>, error: ParamError| {
        ImportError::refused(path, line, error.to_string(), error.hint().unwrap_or_default())
    };
    let mut imported = Imported::default();
    let mut columns = None;
    let mut ranks = options.ranks;
    let last = text.trim_end().lines().count();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(found) = Columns::parse(line) {
            columns = Some(found);
            continue;
        }
        if !line.contains(MARK) {
            continue;
        }
        let columns = columns.ok_or_else(|| refused(Some(number), ParamError::NoHeader))?;
        match Line::parse(line, &columns) {
            Err(reason) if number == last && (reason == CUT_SHORT || !text.ends_with('\n')) => {
                imported.summary.drop_line(ENDS_INSIDE_ROW, number);
            }
            Err(reason) => imported.summary.drop_line(reason, number),
            Ok(line) => {
                let of = world_size(&line, &mut ranks).map_err(|e| refused(Some(number), e))?;
                let kept = record(&line, &columns, of, options, &mut imported.summary, number);
                imported.records.extend(kept);
            }
        }
    }
    if imported.records.is_empty() {
        let dropped = imported.summary.dropped.first();
        let line = dropped.and_then(|dropped| dropped.lines.first().copied());
        let first = dropped.map(|dropped| dropped.reason.clone());
        return Err(refused(line, ParamError::Nothing { first }));
    }
    imported.summary.note("time is the median over ranks");
    imported.summary.count(&imported.records);
    let of_node = |ranks: u64| u32::try_from(ranks.div_ceil(options.nodes.unwrap_or(1).max(1)));
    imported.machine.count = ranks.and_then(|ranks| of_node(ranks).ok());
    Ok(imported)
}

/// The world size: the count of times, or as stated when a row holds one time.
fn world_size(line: &Line, stated: &mut Option<u64>) -> Result<u64, ParamError> {
    let found = line.times.len() as u64;
    match *stated {
        Some(0 | 1) => Err(ParamError::SingleRank),
        Some(expected) if found > 1 && found != expected => {
            Err(ParamError::WorldSize { found, expected })
        }
        Some(expected) => Ok(expected),
        None if found == 1 => Err(ParamError::UnknownRanks),
        None => Ok(*stated.insert(found)),
    }
}

fn record(
    line: &Line,
    columns: &Columns,
    ranks: u64,
    options: &ImportOptions,
    summary: &mut ImportSummary,
    number: usize,
) -> Option<Record> {
    if !line.confirmed(columns) {
        summary.drop_line("time and AlgBW disagree by more than 2 %", number);
        return None;
    }
    let nodes = options.nodes.unwrap_or(1);
    let point = Point::Collective(CollectivePoint {
        collective: line.collective,
        dtype: line.dtype,
        ranks,
        nodes,
        links: if nodes > 1 { Links::Network } else { options.links },
        bytes: line.bytes(ranks).unwrap_or_default(),
        imbalance: 100,
    });
    let time = point.check().map_err(|error| error.to_string()).and_then(|()| {
        Nanos::from_us(line.median() * columns.unit_us).map_err(|e: UnitError| e.to_string())
    });
    match time {
        Ok(time) => {
            summary.see_rounding(line.median() * columns.unit_us * 1e3, time);
            Some(Record {
                point,
                conditions: Conditions::default(),
                outcome: Outcome::Measured(Measurement::stated(time)),
                flags: Flags::NONE,
            })
        }
        Err(reason) => {
            summary.drop_line(reason, number);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "\tCOMMS-RES                     total-size (B)  nElementsPerRank      \
                          Time(us):p50     AlgBW(GB/s) BusBW(GB/s)\n";

    fn import(rows: &str) -> Result<Imported, ImportError> {
        import_with(rows, &ImportOptions::default())
    }

    fn import_with(rows: &str, options: &ImportOptions) -> Result<Imported, ImportError> {
        let text = format!("\n{HEADER}{rows}");
        assert!(recognises(&text));
        read(&text, Path::new("comms.log"), options)
    }

    fn found(imported: &Imported) -> Vec<(String, u64)> {
        let records = imported.records.iter();
        records.map(|r| (r.point.to_string(), r.time().unwrap().get())).collect()
    }

    #[test]
    fn per_rank_times_give_world_size_and_median() {
        let rows = "\tCOMMS-RES-all_to_allv-float32  4096  256  21.4-22.0-20.9-21.7  0.188 0.141\n\
                    \tCOMMS-RES-all_to_allv-float32  64  4  9.5e-01-1.1-1.0-9.9e-01  0.064 0.048\n";
        let expected = [
            ("collective all_to_all_v/f32 ranks=4 nodes=1 bytes=4096".to_owned(), 21_700),
            ("collective all_to_all_v/f32 ranks=4 nodes=1 bytes=64".to_owned(), 1_000),
        ];
        assert_eq!(found(&import(rows).unwrap()), expected);
    }

    #[test]
    fn other_columns_prefixes_and_units_are_found_by_name() {
        let text = "0: COMMS-RES total-size (B) nElementsPerRank nElementsPairPerRank \
                    Latency(ms):p50 p75 p95 Min Max AlgBW(GB/s) BusBW(GB/s)\n\
                    0: COMMS-RES-all_gather-half 1024 512 1 0.02 0.03 0.04 0.01 0.05 0.051 0.038\n";
        let options = ImportOptions { ranks: Some(4), ..Default::default() };
        let imported = read(text, Path::new("x"), &options).unwrap();
        // 512 elements a rank are the 1024 bytes sent; 4096 are received.
        let point = "collective all_gather/f16 ranks=4 nodes=1 bytes=4096".to_owned();
        assert_eq!(found(&imported), [(point, 20_000)]);
    }

    #[test]
    fn rows_that_do_not_hold_together_are_dropped_with_their_line() {
        let rows = "COMMS-RES-all_reduce-float32 4096 1024 21.4-22.0 0.19 0.19\n\
                    COMMS-RES-all_reduce-float32 4096 1024 214-220 0.19 0.19\n\
                    COMMS-RES-all_reduce-float32 4096 1024 21.4-x 0.19 0.19\n\
                    COMMS-RES-all_shuffle-float32 4096 1024 21.4-22.0 0.19 0.19\n\
                    COMMS-RES-all_reduce-float32 4096\n";
        let imported = import(rows).unwrap();
        assert_eq!((imported.summary.kept, imported.summary.dropped_rows()), (1, 4));
        assert_eq!(imported.summary.dropped[0].lines, [4]);
        let last = imported.summary.dropped.last().unwrap();
        assert_eq!((last.reason.as_str(), &last.lines[..]), (ENDS_INSIDE_ROW, &[7][..]));
    }

    #[test]
    fn what_a_row_cannot_be_is_told_with_its_value() {
        for (row, reason) in [
            ("COMMS-RES-all_reduce-float7 64 16 9-8 0.01 0.01\n", "unknown dtype `float7`"),
            (
                "COMMS-RES-all_shuffle-float 64 16 9-8 0.01 0.01\n",
                "unknown collective `all_shuffle`",
            ),
            ("COMMS-RES-all_reduce-float 64 16 -9.5-8 0.01 0.01\n", "a time of -9.5, which is not"),
            ("COMMS-RES-all_reduce-float 64 16 9--8 0.01 0.01\n", "a time of -8, which is not"),
            ("COMMS-RES-all_reduce-float 6x 16 9-8 0.01 0.01\n", "size `6x` is not a whole number"),
        ] {
            let shown = import(row).unwrap_err().to_string();
            assert!(shown.starts_with("comms.log:3: no usable results; the first: "), "{shown}");
            assert!(shown.contains(reason), "{shown}");
        }
        let row = "COMMS-RES-all_reduce-float32 4096 1024 21.4-22.0 0.19 0.19";
        let glued = import(&format!("{row} {row}\n")).unwrap_err().to_string();
        assert!(glued.contains("the line holds more than one row"), "{glued}");
    }

    #[test]
    fn devices_are_counted_in_one_node() {
        let row = "COMMS-RES-all_reduce-float32 4096 1024 21.4 0.19 0.19\n";
        let options = ImportOptions { ranks: Some(64), nodes: Some(8), ..ImportOptions::default() };
        assert_eq!(import_with(row, &options).unwrap().machine.count, Some(8));
    }

    #[test]
    fn ranks_must_be_known_and_agree() {
        let one = "COMMS-RES-all_reduce-float32 4096 1024 21.4 0.19 0.19\n";
        assert!(import(one).unwrap_err().to_string().contains("ranks is not stated"));
        let alone = ImportOptions { ranks: Some(1), ..Default::default() };
        assert!(import_with(one, &alone).unwrap_err().to_string().contains("world size 1"));
        let mixed = "COMMS-RES-all_reduce-float32 4096 1024 21.4-21.4 0.19 0.19\n\
                     COMMS-RES-all_reduce-float32 4096 1024 21.4-21.4-21.4 0.19 0.19\n";
        let error = import(mixed).unwrap_err();
        assert_eq!(error.to_string(), "comms.log:4: times of 3 ranks where 2 ranks are stated");
        let text = "COMMS-RES-all_reduce-float32 4096 1024 21.4 0.19 0.19\n";
        let error = read(text, Path::new("x"), &ImportOptions::default()).unwrap_err();
        assert!(error.to_string().contains("before any header"));
    }
}
