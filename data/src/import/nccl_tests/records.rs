//! From a run to records.
//!
//! The out-of-place half of a row is the record of its point. The in-place half is a second
//! record whose `kernel` is [`IN_PLACE`]: the same point under another condition, since some
//! collectives copy less in place.

use std::collections::BTreeMap;

use super::bandwidth::{self, Definition, Range};
use super::header::TimeUnit;
use super::resolve::{self, Signature};
use super::row::{Cells, Check, Redop, Row, TornRow};
use super::scan::Run;
use super::{IN_PLACE, NcclTestsError, Refusal};
use crate::conditions::Conditions;
use crate::import::{ImportOptions, ImportSummary};
use crate::machine::Links;
use crate::measurement::{Failure, Flag, Flags, Measurement, Outcome, Record};
use crate::point::{Collective, CollectivePoint, Point};
use crate::statistics;
use crate::units::{Nanos, UnitError, four_digits};

/// Rows of one run that share reduction and root, hence the collective.
struct Group<'a> {
    rows: Vec<&'a Row>,
    definition: Definition,
    factor: Option<Range>,
    signature: Signature,
}

impl Group<'_> {
    fn refuse(&self, error: NcclTestsError) -> Refusal {
        Refusal { line: self.rows.first().map(|row| row.line), error }
    }

    /// Refuses a table whose times and bandwidths have nothing to do with each other.
    fn check_bandwidths(&self, unit: TimeUnit, summary: &mut ImportSummary) -> Result<(), Refusal> {
        match self.definition {
            Definition::Current | Definition::Unchecked => {}
            Definition::BusInBoth(_) => {
                summary.note("algbw holds the bus bandwidth, as before June 2020; times are kept");
            }
            Definition::Neither(ratio) => {
                let unit = unit.name();
                return Err(self.refuse(NcclTestsError::BandwidthDisagrees { ratio, unit }));
            }
        }
        Ok(())
    }
}

/// What holds for all rows of a group.
struct Resolved {
    collective: Collective,
    ranks: u64,
    nodes: u64,
    links: Links,
    unit: TimeUnit,
    iterations: u32,
    /// Printed algorithm bandwidth times time over size, as its definition has it.
    bandwidth_ratio: f64,
}

/// The records of `run`. `stated` is the collective that the log, its name or the caller
/// states.
pub(super) fn records(
    run: &Run,
    stated: Option<Collective>,
    options: &ImportOptions,
    summary: &mut ImportSummary,
) -> Result<Vec<Record>, Refusal> {
    let unit = unit(run);
    let groups = groups(run, unit);
    resolve::refuse_single_rank(run, groups.iter().filter_map(|group| group.factor))?;
    note_run(run, summary);
    for group in &groups {
        group.check_bandwidths(unit, summary)?;
    }
    let ranks = run_ranks(run, &groups, stated, options)?;
    let nodes = nodes(run, options, ranks, summary);
    let mut records = Vec::new();
    for group in &groups {
        let collective = resolve::collective(stated, Some(ranks), &group.signature)
            .map_err(|error| group.refuse(error))?;
        resolve::check_ranks(collective, ranks, group.factor)
            .map_err(|error| group.refuse(error))?;
        if stated != Some(collective) {
            summary.note(format!("taken for {collective} over {ranks} ranks by its rows"));
        }
        let resolved = Resolved {
            collective,
            ranks,
            nodes,
            links: if nodes > 1 { Links::Network } else { options.links },
            unit,
            iterations: run.preamble.map_or(0, |preamble| preamble.iterations),
            bandwidth_ratio: group.definition.algorithm_ratio(),
        };
        for row in &group.rows {
            let kept = resolved.records(row, summary);
            records.extend(kept.into_iter().map(|record| (row.line, record)));
        }
    }
    note_empty_calls(run, unit, summary);
    records.sort_by_key(|(line, _)| *line);
    let mut records: Vec<Record> = records.into_iter().map(|(_, record)| record).collect();
    flag_unlocated_failures(run, &mut records, summary);
    Ok(records)
}

fn unit(run: &Run) -> TimeUnit {
    let oldest = run.header.as_ref().is_some_and(|header| header.oldest);
    run.unit.unwrap_or(if oldest { TimeUnit::Milli } else { TimeUnit::Micro })
}

fn groups(run: &Run, unit: TimeUnit) -> Vec<Group<'_>> {
    let oldest = run.header.as_ref().is_some_and(|header| header.oldest);
    let mut by_shape: BTreeMap<(Redop, bool), Vec<&Row>> = BTreeMap::new();
    for row in run.rows.iter().filter(|row| row.size > 0) {
        by_shape.entry((row.redop, row.root.is_some())).or_default().push(row);
    }
    by_shape
        .into_values()
        .map(|rows| {
            let definition = bandwidth::definition(&rows, unit);
            let factor = bandwidth::bus_factor(&rows, unit, definition);
            let signature = Signature::of(&rows, factor, oldest);
            Group { rows, definition, factor, signature }
        })
        .collect()
}

/// The ranks of the run: as listed or stated, else as the first group that tells them.
fn run_ranks(
    run: &Run,
    groups: &[Group<'_>],
    stated: Option<Collective>,
    options: &ImportOptions,
) -> Result<u64, Refusal> {
    let known = run.ranks.filter(|ranks| *ranks > 1).or(options.ranks);
    match known {
        Some(0 | 1) => {
            return Err(Refusal { line: Some(run.line), error: NcclTestsError::SingleRank });
        }
        Some(ranks) => return Ok(ranks),
        None => {}
    }
    let mut refusal = None;
    for group in groups {
        let found = resolve::collective(stated, None, &group.signature)
            .and_then(|collective| resolve::implied_ranks(run, collective, group.factor));
        match found {
            Ok(ranks) => return Ok(ranks),
            Err(error) => refusal = refusal.or(Some(group.refuse(error))),
        }
    }
    let unknown = NcclTestsError::UnknownRanks { implied: Vec::new() };
    Err(refusal.unwrap_or(Refusal { line: Some(run.line), error: unknown }))
}

fn nodes(run: &Run, options: &ImportOptions, ranks: u64, summary: &mut ImportSummary) -> u64 {
    match run.nodes.or(options.nodes) {
        Some(nodes) => nodes.clamp(1, ranks),
        None => {
            summary.note("the log names no hosts: taken as one node (`--nodes` states another)");
            1
        }
    }
}

fn note_run(run: &Run, summary: &mut ImportSummary) {
    if !run.closed && run.header.is_some() {
        summary.note(format!(
            "the table from line {} on has no closing lines: it may be cut",
            run.line
        ));
    }
    if let Some(failure) = &run.failure {
        summary.note(format!("the program reported: {failure}"));
    }
}

/// What calls of no size took, which is a latency and no point.
fn note_empty_calls(run: &Run, unit: TimeUnit, summary: &mut ImportSummary) {
    let mut times: Vec<f64> = run
        .rows
        .iter()
        .filter(|row| row.size == 0)
        .filter_map(|row| row.halves().find_map(|cells| cells.time))
        .map(|time| time.value * unit.us())
        .collect();
    times.sort_by(f64::total_cmp);
    let (Some(low), Some(high)) = (times.first(), times.last()) else { return };
    let (low, high) = (four_digits(*low), four_digits(*high));
    let rows = if times.len() == 1 { "1 row".to_owned() } else { format!("{} rows", times.len()) };
    let took = if low == high { low } else { format!("{low} to {high}") };
    summary
        .note(format!("{rows} of 0 bytes took {took} µs: a latency, not a transfer, so no record"));
}

/// When the closing line counts failures that no row shows, every row is in doubt.
fn flag_unlocated_failures(run: &Run, records: &mut [Record], summary: &mut ImportSummary) {
    let located = records.iter().any(|record| record.flags.contains(Flag::FailedCheck));
    if run.out_of_bounds == 0 || located {
        return;
    }
    summary.note("the closing line counts wrong results but no row shows them: all are flagged");
    for record in records {
        record.flags.insert(Flag::FailedCheck);
    }
}

impl Resolved {
    fn records(&self, row: &Row, summary: &mut ImportSummary) -> Vec<Record> {
        let elements = row.size / row.dtype.size().max(1);
        if elements != row.count && Some(elements) != row.count.checked_mul(self.ranks) {
            summary.drop_line(TornRow::SizeAndCount.reason(), row.line);
            return Vec::new();
        }
        let halves = [(&row.out_of_place, ""), (&row.in_place, IN_PLACE)];
        let mut records = Vec::new();
        for (cells, kernel) in halves {
            let Some(cells) = cells else { continue };
            if !bandwidth::confirms(row.size, cells, self.unit, self.bandwidth_ratio) {
                summary.drop_line("time and algbw disagree by more than 2 %", row.line);
                continue;
            }
            // A missing time beside a good one is a half that did not run.
            if cells.time.is_none() && row.halves().any(|cells| cells.time.is_some()) {
                summary.note("halves without a time are left out");
                continue;
            }
            let point = self.point(row);
            if let Err(error) = point.check() {
                summary.drop_line(error.to_string(), row.line);
                continue;
            }
            let mut flags = Flags::NONE;
            if cells.check == Check::Failed {
                flags.insert(Flag::FailedCheck);
            }
            let conditions = Conditions { kernel: kernel.to_owned(), ..Conditions::default() };
            records.push(Record { point, conditions, outcome: self.outcome(cells), flags });
        }
        records
    }

    fn point(&self, row: &Row) -> Point {
        Point::Collective(CollectivePoint {
            collective: self.collective,
            dtype: row.dtype,
            ranks: self.ranks,
            nodes: self.nodes,
            links: self.links,
            bytes: row.size,
            imbalance: 100,
        })
    }

    fn outcome(&self, cells: &Cells) -> Outcome {
        let Some(stated) = cells.time else {
            return Outcome::Failed(Failure::NoValidSamples("time is not a number".to_owned()));
        };
        if let Some((median, spread)) = statistics::summarise(&cells.iterations) {
            let samples = u32::try_from(cells.iterations.len()).unwrap_or(u32::MAX);
            let measured = Measurement {
                samples,
                executions_per_sample: 1,
                spread: Some(spread),
                ..Measurement::stated(median)
            };
            return Outcome::Measured(measured);
        }
        match Nanos::from_us(stated.value * self.unit.us()) {
            Ok(time) => Outcome::Measured(Measurement {
                executions_per_sample: self.iterations,
                ..Measurement::stated(time)
            }),
            Err(UnitError::BelowResolution(_) | UnitError::NotPositive(_)) => {
                Outcome::Failed(Failure::BelowTimerResolution)
            }
            Err(error) => Outcome::Failed(Failure::NoValidSamples(error.to_string())),
        }
    }
}
