//! From lines to runs: one run is a preamble, a rank list, a table and its closing lines.
//!
//! Left to others: what the numbers mean (`resolve`, `bandwidth`).

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{self, Preamble, Program};
use super::header::{self, Header, TimeUnit};
use super::row::{self, Key, Row, TornRow};
use super::tokens::without_escapes;
use super::{NcclTestsError, Refusal};
use crate::import::{ENDS_INSIDE_ROW, ImportSummary, MachineFacts};
use crate::table::shorten;

/// One run of a test program.
#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    /// The line it begins at.
    pub line: usize,
    /// Its parameters.
    pub preamble: Option<Preamble>,
    /// The program, where a line names it.
    pub program: Option<Program>,
    /// Ranks listed, or named by NCCL's own messages.
    pub ranks: Option<u64>,
    /// Nodes: distinct hosts of the rank list, or named by NCCL's own messages.
    pub nodes: Option<u64>,
    /// The time unit the header states.
    pub unit: Option<TimeUnit>,
    /// The columns.
    pub header: Option<Header>,
    /// The rows.
    pub rows: Vec<Row>,
    /// Whether the closing lines were reached.
    pub closed: bool,
    /// The count of `Out of bounds values`.
    pub out_of_bounds: u64,
    /// What the program reported before it died.
    pub failure: Option<String>,
}

/// Everything a log says.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// The runs, in file order.
    pub runs: Vec<Run>,
    /// Facts about the machine.
    pub machine: MachineFacts,
}

/// Reads all lines of `text`.
pub(super) fn scan(text: &str, summary: &mut ImportSummary) -> Result<Scanned, Refusal> {
    let mut scanner = Scanner::new(summary);
    scanner.is_unended = !text.ends_with('\n');
    let last = text.trim_end().lines().count();
    for (index, line) in text.lines().enumerate() {
        scanner.is_last = index + 1 == last;
        scanner.line(index + 1, &without_escapes(line))?;
    }
    scanner.finish_run();
    if scanner.scanned.runs.iter().all(|run| run.header.is_none())
        && let Some(line) = scanner.headless
    {
        return Err(Refusal { line: Some(line), error: NcclTestsError::NoHeader });
    }
    Ok(scanner.scanned)
}

struct Scanner<'a> {
    summary: &'a mut ImportSummary,
    scanned: Scanned,
    run: Option<Run>,
    /// Hosts of the current rank list; counted, never kept.
    hosts: BTreeSet<String>,
    listed: BTreeSet<u64>,
    /// Largest size so far of each sweep of the current table.
    largest: BTreeMap<(String, Option<u64>), u64>,
    /// A program named before the run began.
    announced: Option<Program>,
    /// The first row that no header precedes.
    headless: Option<usize>,
    /// Whether this is the last line with anything in it.
    is_last: bool,
    /// Whether the last line has no line end.
    is_unended: bool,
}

impl<'a> Scanner<'a> {
    fn new(summary: &'a mut ImportSummary) -> Self {
        Scanner {
            summary,
            scanned: Scanned::default(),
            run: None,
            hosts: BTreeSet::new(),
            listed: BTreeSet::new(),
            largest: BTreeMap::new(),
            announced: None,
            headless: None,
            is_last: false,
            is_unended: false,
        }
    }

    fn line(&mut self, number: usize, text: &str) -> Result<(), Refusal> {
        self.versions(text);
        if let Some(preamble) = facts::preamble(text) {
            return self.open_run(number, Some(preamble));
        }
        if let Some(rank) = facts::rank_line(text) {
            return self.rank(number, &rank);
        }
        if let Some(header) = Header::parse(text) {
            return self.header(number, header);
        }
        if let Some(unit) = header::units(text) {
            self.current(number).unit = Some(unit);
            return Ok(());
        }
        if let Some(key) = Key::find(text) {
            return self.row(number, text, key);
        }
        if let Some(program) = facts::named_program(text) {
            self.announced = Some(program);
            return Ok(());
        }
        self.other(number, text);
        Ok(())
    }

    /// The run a line belongs to; one without a preamble begins here if there is none.
    fn current(&mut self, line: usize) -> &mut Run {
        let announced = &mut self.announced;
        self.run.get_or_insert_with(|| Run { line, program: announced.take(), ..Run::default() })
    }

    /// A second run that begins before the first has a table means both print at once.
    fn open_run(&mut self, line: usize, preamble: Option<Preamble>) -> Result<(), Refusal> {
        let waiting =
            |run: &Run| run.preamble.is_some() && run.header.is_none() && run.failure.is_none();
        if self.run.as_ref().is_some_and(waiting) {
            return Err(two_runs(line));
        }
        self.finish_run();
        self.current(line).preamble = preamble;
        Ok(())
    }

    fn finish_run(&mut self) {
        let Some(mut run) = self.run.take() else { return };
        if !self.hosts.is_empty() {
            run.nodes = Some(self.hosts.len() as u64);
        }
        if let Some(last) = self.listed.last() {
            run.ranks = Some(last.saturating_add(1));
        }
        self.hosts.clear();
        self.listed.clear();
        self.largest.clear();
        self.scanned.runs.push(run);
    }

    fn rank(&mut self, line: usize, rank: &facts::RankLine<'_>) -> Result<(), Refusal> {
        let tabled = self.run.as_ref().is_some_and(|run| run.header.is_some());
        let closed = self.run.as_ref().is_some_and(|run| run.closed);
        if closed {
            self.open_run(line, None)?;
        } else if tabled || self.listed.contains(&rank.rank) {
            return Err(two_runs(line));
        }
        self.current(line);
        self.listed.insert(rank.rank);
        self.hosts.insert(rank.host.to_owned());
        if !rank.device.is_empty() {
            self.scanned.machine.device.get_or_insert_with(|| rank.device.to_owned());
        }
        Ok(())
    }

    /// A header after rows begins another table with the same ranks; directly after a header
    /// it belongs to another process.
    fn header(&mut self, line: usize, header: Header) -> Result<(), Refusal> {
        if let Some(run) = &self.run
            && run.header.is_some()
        {
            if run.rows.is_empty() && !run.closed {
                return Err(two_runs(line));
            }
            let next = Run {
                line,
                preamble: run.preamble,
                program: self.announced.take(),
                ranks: run.ranks,
                nodes: run.nodes,
                ..Run::default()
            };
            let (hosts, listed) = (self.hosts.clone(), self.listed.clone());
            self.finish_run();
            (self.hosts, self.listed, self.run) = (hosts, listed, Some(next));
        }
        self.current(line).header = Some(header);
        Ok(())
    }

    fn row(&mut self, line: usize, text: &str, key: Key<'_>) -> Result<(), Refusal> {
        let Some(run) = self.run.as_mut().filter(|run| run.header.is_some()) else {
            self.headless.get_or_insert(line);
            self.summary.drop_line("row before any header", line);
            return Ok(());
        };
        let Some(header) = &run.header else { return Ok(()) };
        let row = match Row::parse(text, line, key, header) {
            Ok(row) => row,
            Err(torn) => {
                let is_cut = self.is_last && (torn == TornRow::TooShort || self.is_unended);
                let reason = if is_cut { ENDS_INSIDE_ROW } else { torn.reason() };
                self.summary.drop_line(reason, line);
                return Ok(());
            }
        };
        let step = run.preamble.and_then(|preamble| preamble.step_bytes);
        let sweep = (row.sweep.clone(), row.root);
        if row.size > 0
            && let Some(largest) = self.largest.insert(sweep, row.size)
        {
            // Sizes grow, except where several round down to the same.
            let rounded = step.is_some_and(|step| step < row.rounding());
            if row.size < largest || (row.size == largest && !rounded) {
                return Err(two_runs(line));
            }
        }
        run.rows.push(row);
        Ok(())
    }

    fn versions(&mut self, text: &str) {
        let software = &mut self.scanned.machine.software;
        if let Some((library, version)) = facts::library_version(text) {
            software.entry(library.to_owned()).or_insert(version);
        }
        if let Some((tests, library)) = facts::tests_version(text) {
            software.entry("nccl-tests".to_owned()).or_insert(tests);
            if let Some(version) = library {
                software.entry("nccl".to_owned()).or_insert(version);
            }
        }
    }

    fn other(&mut self, line: usize, text: &str) {
        if text.contains("Reducing maxBytes") {
            self.summary.note("the program lowered its largest size to fit the device memory");
        }
        let Some(run) = &mut self.run else { return };
        if let Some(count) = facts::out_of_bounds(text) {
            (run.out_of_bounds, run.closed) = (count, true);
        } else if text.contains("Avg bus bandwidth") {
            run.closed = true;
        } else if let Some(failure) = facts::failure(text) {
            run.failure.get_or_insert_with(|| failure.to_owned());
        } else if text.contains("NCCL INFO") {
            let named = |names: [&str; 2]| names.iter().find_map(|n| facts::number_after(text, n));
            run.ranks = run.ranks.or(named(["nRanks ", "nranks "]));
            run.nodes = run.nodes.or(named(["nNodes ", "nnodes "]));
        }
        let in_table = run.header.is_some() && !run.closed;
        let blank = text.trim_start().starts_with('#') || text.trim().is_empty();
        if in_table && !blank && facts::failure(text).is_none() {
            let ends_here = self.is_last && row::may_begin(text);
            let reason = match row::unknown_type(text) {
                _ if ends_here => ENDS_INSIDE_ROW.to_owned(),
                Some(name) => format!("unknown dtype `{}`", shorten(name)),
                None => "message between the rows".to_owned(),
            };
            self.summary.drop_line(reason, line);
        }
    }
}

fn two_runs(line: usize) -> Refusal {
    Refusal { line: Some(line), error: NcclTestsError::TwoRuns }
}
