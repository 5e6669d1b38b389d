//! From lines to runs: one run is a preamble, a rank list, a table and its closing lines.
//!
//! Left to others: what the numbers mean (`resolve`, `bandwidth`).

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{self, Preamble};
use super::header::{self, Header, TimeUnit};
use super::row::{Key, Row};
use super::tokens::without_escapes;
use super::{NcclTestsError, Refusal};
use crate::import::{ImportSummary, MachineFacts};
use crate::point::Collective;

/// One run of a test program.
#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    /// The line it begins at.
    pub line: u64,
    /// Its parameters.
    pub preamble: Option<Preamble>,
    /// The collective, where a line names it.
    pub named: Option<Collective>,
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
    let mut scanner = Scanner { summary, ..Scanner::new() };
    for (index, line) in text.lines().enumerate() {
        scanner.line(index as u64 + 1, &without_escapes(line))?;
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
    /// A collective named before the run began.
    announced: Option<Collective>,
    /// The first row that no header precedes.
    headless: Option<u64>,
}
