//! Columns nobody reads that tell rows apart: `layout`, `cuda_graph`.
//!
//! Rows that differ only in such a column would become repeats of one point that contradict
//! each other. Whether they do is measured, not guessed from the name: a column that makes no
//! difference to the times is no concern of anybody.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use crate::conditions::Conditions;
use crate::import::ImportError;
use crate::import::own_csv::custom::{MOST_WORDS, NOT_PARAMETERS, whole_number};
use crate::import::own_csv::names;
use crate::measurement::Record;
use crate::point::Point;
use crate::table::{Row, Table, shorten};
use crate::units::Nanos;

/// Ratio of two times of one point that noise still explains, as in the quality gate.
const NOISE: f64 = 1.10;

/// Fewer points in disagreement than one in so many are noise, not a configuration.
const ONE_IN: usize = 10;

/// Words in the names of what was observed during a measurement, or of the measurement itself:
/// points do not differ in it.
const OBSERVED: [&str; 29] = [
    "clock",
    "clocks",
    "clk",
    "mhz",
    "freq",
    "frequency",
    "temp",
    "temperature",
    "power",
    "watt",
    "watts",
    "energy",
    "util",
    "utilization",
    "date",
    "time",
    "timestamp",
    "host",
    "hostname",
    "user",
    "run",
    "trial",
    "repeat",
    "seed",
    "comment",
    "note",
    "notes",
    "uuid",
    "index",
];

/// What a row holds in the suspected columns.
struct Seen<'text> {
    line: usize,
    cells: Vec<Cow<'text, str>>,
}

/// One point under the same values in all suspected columns: its fastest and slowest row.
#[derive(Clone, Copy)]
struct Configuration<'a> {
    fastest: Nanos,
    /// Index of the fastest row.
    row: usize,
    slowest: Nanos,
    cells: &'a [Cow<'a, str>],
}

/// The configurations of one point, by what they hold in the suspected columns.
type Configurations<'a> = BTreeMap<&'a [Cow<'a, str>], Configuration<'a>>;

/// The columns that nobody reads and points may differ in, and what the rows hold there.
pub(super) struct Strays<'text> {
    columns: Vec<(usize, String)>,
    seen: Vec<Seen<'text>>,
}

impl<'text> Strays<'text> {
    /// Looks for such columns among the `unused` ones.
    pub fn of(table: &Table<'text>, unused: &[usize]) -> Self {
        let suspects = unused.iter().copied().filter(|column| is_suspect(table, *column));
        let columns = suspects.map(|column| (column, table.header()[column].to_string())).collect();
        Strays { columns, seen: Vec::new() }
    }

    /// Takes note of the row of the next record.
    pub fn see(&mut self, row: &Row<'text>) {
        if !self.columns.is_empty() {
            let cells = self.columns.iter().map(|(column, _)| row.cells[*column].clone()).collect();
            self.seen.push(Seen { line: row.line, cells });
        }
    }

    /// Refuses a table in which rows that differ only in such columns disagree.
    ///
    /// # Errors
    /// Names the columns, their values, two rows, and how to choose.
    pub fn refuse(&self, path: &Path, records: &[Record]) -> Result<(), ImportError> {
        let mut points: HashMap<(&Point, &Conditions), Configurations<'_>> = HashMap::new();
        for (row, (seen, record)) in self.seen.iter().zip(records).enumerate() {
            let Some(time) = record.time() else { continue };
            let point = points.entry((&record.point, &record.conditions)).or_default();
            let first = Configuration { fastest: time, row, slowest: time, cells: &seen.cells };
            let known = point.entry(&seen.cells).or_insert(first);
            if time < known.fastest {
                (known.fastest, known.row) = (time, row);
            }
            known.slowest = known.slowest.max(time);
        }
        let (mut compared, mut apart) = (0, Vec::new());
        for configurations in points.values().filter(|configurations| configurations.len() > 1) {
            compared += 1;
            apart.extend(disagreement(configurations));
        }
        // The first in the file, whatever order the points were hashed in.
        apart.sort_by_key(|(fast, slow)| (fast.row, slow.row));
        match apart.first() {
            Some((fast, slow)) if apart.len() * ONE_IN >= compared => {
                Err(self.refusal(path, records, fast, slow))
            }
            _ => Ok(()),
        }
    }

    fn refusal(
        &self,
        path: &Path,
        records: &[Record],
        fast: &Configuration<'_>,
        slow: &Configuration<'_>,
    ) -> ImportError {
        let differing: Vec<usize> =
            (0..self.columns.len()).filter(|at| fast.cells[*at] != slow.cells[*at]).collect();
        let name = |at: &usize| self.columns[*at].1.as_str();
        let joined = |separator: &str, say: &dyn Fn(&usize) -> String| {
            differing.iter().map(say).collect::<Vec<_>>().join(separator)
        };
        let held = |by: &Configuration<'_>| {
            joined(" ", &|at| format!("{}={}", name(at), shorten(&by.cells[*at])))
        };
        let (columns, them) =
            if differing.len() == 1 { ("column", "it") } else { ("columns", "them") };
        let (point, line) = (&records[fast.row].point, self.seen[fast.row].line);
        let reason = format!(
            "{columns} {} would be ignored, but rows that differ only in {them} disagree: {point} \
             takes {} with {} (line {line}) and {} with {}",
            joined(" and ", &|at| format!("`{}`", name(at))),
            fast.fastest,
            held(fast),
            slow.fastest,
            held(slow),
        );
        let choice = joined(" ", &|at| {
            let condition = format!("{}={}", name(at), fast.cells[*at]);
            match condition.contains(|c: char| c.is_whitespace() || "()[]{}'\"$&;|*".contains(c)) {
                true => format!("--where '{}'", condition.replace('\'', "'\\''")),
                false => format!("--where {condition}"),
            }
        });
        let keep_apart = match differing.as_slice() {
            [only] => format!(", or keep the rows apart by naming `{}` `kernel`", name(only)),
            _ => String::new(),
        };
        let values = joined("; ", &|at| format!("`{}` holds {}", name(at), self.values(*at)));
        let hint = format!("choose with {choice}{keep_apart}; {values}");
        ImportError::refused(path, self.seen[slow.row].line, reason, hint)
    }

    /// `NN, NT, TN`
    fn values(&self, at: usize) -> String {
        /// Beyond this many the list helps nobody.
        const LISTED: usize = 8;
        let all: BTreeSet<&str> = self.seen.iter().map(|seen| seen.cells[at].as_ref()).collect();
        let mut listed: Vec<String> = all.iter().take(LISTED).map(|value| shorten(value)).collect();
        if all.len() > LISTED {
            listed.push("...".to_owned());
        }
        listed.join(", ")
    }
}

/// Two configurations of a point whose times do not overlap and differ beyond noise.
fn disagreement<'a>(
    configurations: &Configurations<'a>,
) -> Option<(Configuration<'a>, Configuration<'a>)> {
    let fast = configurations.values().min_by_key(|each| each.slowest)?;
    let slow = configurations.values().max_by_key(|each| each.fastest)?;
    let apart = slow.fastest.as_f64() > NOISE * fast.slowest.as_f64();
    apart.then_some((*fast, *slow))
}

/// Whether points may differ in a column: words or whole numbers, a few of them, and not the
/// name of an observation.
fn is_suspect(table: &Table<'_>, column: usize) -> bool {
    let name = names::normalise(&table.header()[column]);
    if name.split('_').any(|word| OBSERVED.contains(&word)) {
        return false;
    }
    let mut values = BTreeSet::new();
    for row in table.rows().flatten() {
        let Some(cell) = row.cells.into_iter().nth(column) else { return false };
        let is_whole = whole_number(&cell).parse::<u64>().is_ok();
        // What varies in fractions was measured.
        if !is_whole && cell.parse::<f64>().is_ok() {
            return false;
        }
        // The second GPU of a node is no other configuration; another kind of GPU is.
        if is_whole && NOT_PARAMETERS.contains(&name.as_str()) {
            return false;
        }
        values.insert(cell);
        if values.len() > MOST_WORDS {
            return false;
        }
    }
    values.len() > 1
}
