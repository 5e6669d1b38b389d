//! The tables of one fused embedding op, from a CSV file: each line one table, or several alike.
//!
//! Columns are `rows`, `dim`, `pooling`, `distribution`, `tables` and `name`, in any order; what a
//! file leaves out for all tables comes from the command line. Left to others: reading the file,
//! and what the op takes (`predictor`).

use kernelgauge_data::nearest::{self, UnknownName};
use kernelgauge_data::point::PointError;
use kernelgauge_data::{Diagnostic, EmbeddingPoint, Point};
use thiserror::Error;

use crate::args::EmbeddingArguments;

/// Most tables of one op: as many as hold an index of 32 bits each.
const MOST_TABLES: u64 = 1 << 32;

/// Columns by the names other tools have for them too, the first is ours.
const COLUMNS: [(&str, &[&str]); 6] = [
    ("rows", &["rows", "num_embeddings", "num_rows", "hash_size", "vocabulary"]),
    ("dim", &["dim", "embedding_dim", "emb_dim"]),
    ("pooling", &["pooling", "pooling_factor", "bag_size", "hotness"]),
    ("distribution", &["distribution"]),
    ("tables", &["tables", "num_tables", "count"]),
    ("name", &["name", "table"]),
];

/// Tables of an op that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Alike {
    /// The line of the file that describes them.
    pub line: u64,
    /// What the file calls them; empty where it does not.
    pub name: String,
    /// How many there are.
    pub count: u64,
    /// An op of as many tables as the set has, all like these.
    pub bag: EmbeddingPoint,
}

/// Why a file holds no tables.
#[derive(Debug, Error)]
pub enum TablesError {
    /// Not to be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Not CSV.
    #[error("the tables are no CSV: {0}")]
    NotCsv(#[from] csv::Error),
    /// Nothing but a header.
    #[error("the file has no tables")]
    Empty,
    /// A column nobody reads.
    #[error("{0} in the file of tables")]
    UnknownColumn(UnknownName),
    /// A column twice, under one or two names.
    #[error("column `{0}` of the tables is there twice")]
    Twice(&'static str),
    /// Neither a column nor an option.
    #[error("the tables have no column `{0}`, and there is no --{0}")]
    Missing(&'static str),
    /// A field that is no count.
    #[error("line {line} of the tables: {column} is `{text}`, not a whole number from 1 on")]
    NotACount {
        /// The line.
        line: u64,
        /// The column.
        column: &'static str,
        /// What stands there.
        text: String,
    },
    /// A field that is no way to draw indices.
    #[error("line {line} of the tables: {source}")]
    Distribution {
        /// The line.
        line: u64,
        /// The word.
        source: UnknownName,
    },
    /// Too many in all.
    #[error("more than 2^32 tables in one op")]
    TooMany,
    /// A table that cannot exist.
    #[error("line {line} of the tables: {source}")]
    Point {
        /// The line.
        line: u64,
        /// What is wrong with it.
        source: PointError,
    },
}

impl Diagnostic for TablesError {
    fn hint(&self) -> Option<String> {
        match self {
            TablesError::UnknownColumn(name) | TablesError::Distribution { source: name, .. } => {
                Some(name.hint())
            }
            TablesError::Missing(column) => {
                Some(format!("add the column, or --{column} for all tables"))
            }
            TablesError::Empty | TablesError::NotCsv(_) | TablesError::Twice(_) => {
                Some("like this: a line `rows,dim,pooling`, then `1000000,64,100` for each".into())
            }
            _ => None,
        }
    }
}

/// The tables in `text`, on the op that `options` and `common` describe.
///
/// # Errors
/// Names the column or the line, and what is wrong with it.
pub fn read(
    text: &str,
    options: &EmbeddingArguments,
    common: EmbeddingPoint,
) -> Result<Vec<Alike>, TablesError> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let places = places(reader.headers()?)?;
    let given = [options.rows, options.dim, options.pooling];
    for (index, given) in given.iter().enumerate() {
        if given.is_none() && places[index].is_none() {
            return Err(TablesError::Missing(COLUMNS[index].0));
        }
    }
    let mut sets = Vec::new();
    let mut total = 0_u64;
    for record in reader.records() {
        let record = record?;
        let line = record.position().map_or(0, csv::Position::line);
        let field = |index: usize| places[index].and_then(|place| record.get(place)).unwrap_or("");
        let count_of = |index: usize, otherwise: u64| match field(index) {
            "" if places[index].is_none() => Ok(otherwise),
            text => text.parse().ok().filter(|count| *count > 0).ok_or_else(|| {
                let (column, text) = (COLUMNS[index].0, text.to_owned());
                TablesError::NotACount { line, column, text }
            }),
        };
        let distribution = match field(3) {
            "" => common.distribution,
            text => text.parse().map_err(|source| TablesError::Distribution { line, source })?,
        };
        let count = count_of(4, 1)?;
        total = total
            .checked_add(count)
            .filter(|all| *all <= MOST_TABLES)
            .ok_or(TablesError::TooMany)?;
        let bag = EmbeddingPoint {
            rows: count_of(0, common.rows)?,
            dim: count_of(1, common.dim)?,
            pooling: count_of(2, common.pooling)?,
            distribution,
            ..common
        };
        sets.push(Alike { line, name: field(5).to_owned(), count, bag });
    }
    if sets.is_empty() {
        return Err(TablesError::Empty);
    }
    for alike in &mut sets {
        alike.bag.tables = total;
        let (line, bag) = (alike.line, alike.bag);
        Point::Embedding(bag).check().map_err(|source| TablesError::Point { line, source })?;
    }
    Ok(sets)
}

/// Where each of [`COLUMNS`] stands.
fn places(header: &csv::StringRecord) -> Result<[Option<usize>; COLUMNS.len()], TablesError> {
    let mut places = [None; COLUMNS.len()];
    for (place, name) in header.iter().enumerate() {
        let lower = name.to_lowercase();
        let column = COLUMNS.iter().position(|(_, names)| names.contains(&lower.as_str()));
        let Some(column) = column else {
            let known = COLUMNS.iter().map(|(known, _)| known);
            return Err(TablesError::UnknownColumn(nearest::unknown("column", name, known)));
        };
        if places[column].replace(place).is_some() {
            return Err(TablesError::Twice(COLUMNS[column].0));
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Command};
    use kernelgauge_data::{Direction, Distribution, Dtype, Optimizer};

    fn options(line: &str) -> EmbeddingArguments {
        let words = format!("predict embedding --batch 8 --tables-file x {line}");
        let arguments = Arguments::try_parse_from(words.split_whitespace()).unwrap();
        let Some(Command::Embedding(options)) = arguments.command else { panic!("{line}") };
        options
    }

    fn tables(line: &str, text: &str) -> Result<Vec<Alike>, String> {
        let options = options(line);
        let common = EmbeddingPoint {
            direction: Direction::Forward,
            optimizer: Optimizer::Sgd,
            dtype: Dtype::F32,
            tables: 1,
            rows: options.rows.unwrap_or(1),
            dim: options.dim.unwrap_or(1),
            batch: 8,
            pooling: options.pooling.unwrap_or(1),
            distribution: Distribution::Uniform,
        };
        read(text, &options, common).map_err(|error| error.to_string())
    }

    #[test]
    fn tables_have_columns_of_their_own_and_the_rest_from_the_options() {
        let text = "# three\nhash_size, tables, distribution\n1000,2,\n50,1,zipf:1.1\n";
        let read = tables("--dim 64 --pooling 3", text).unwrap();
        let shown: Vec<_> = read
            .iter()
            .map(|a| (a.line, a.count, a.bag.tables, a.bag.rows, a.bag.dim, a.bag.pooling))
            .collect();
        assert_eq!(shown, [(3, 2, 3, 1000, 64, 3), (4, 1, 3, 50, 64, 3)]);
        assert_eq!(read[1].bag.distribution, Distribution::Zipf { exponent_milli: 1100 });
    }

    #[test]
    fn mistakes_are_named_by_line_and_column() {
        for (line, text, expected) in [
            ("--dim 4", "rows\n5\n", "no column `pooling`, and there is no --pooling"),
            ("--dim 4 --pooling 1", "rows\n0\n", "line 2 of the tables: rows is `0`"),
            ("--dim 4 --pooling 1", "rows,tables\n5,\n", "tables is ``"),
            ("--dim 4 --pooling 1", "rows,colour\n5,1\n", "unknown column `colour`"),
            ("--dim 4 --pooling 1", "rows,hash_size\n5,1\n", "`rows` of the tables is there twice"),
            ("--dim 4 --pooling 1", "rows\n", "no tables"),
            ("--dim 4 --pooling 1", "rows,tables\n5,4294967297\n", "more than 2^32"),
            ("--dim 4 --pooling 1", "rows,distribution\n5,even\n", "line 2 of the tables: unknown"),
            ("--dim 4 --pooling 1", "rows,dim\n5\n", "no CSV"),
        ] {
            let error = tables(line, text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
