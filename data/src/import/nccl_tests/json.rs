//! The JSON report of nccl-tests (`-J`, file versions 1 to 3).
//!
//! The report holds the whole environment and command line of the process that wrote it. The
//! types here name what is read: of the arguments only the first, whose program name says which
//! collective ran, and of the environment nothing.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;

use super::facts;
use super::header::{Header, TimeUnit};
use super::row::{Cells, Check, Redop, Row};
use super::scan::{Run, Scanned};
use super::{NcclTestsError, Refusal};
use crate::import::printed::Printed;
use crate::import::{ImportSummary, MachineFacts};
use crate::nearest::UnknownName;
use crate::units::Nanos;

/// The newest file version known.
const NEWEST: u64 = 3;

#[derive(Debug, Deserialize)]
struct Report {
    #[serde(default)]
    version: u64,
    #[serde(default)]
    args: FirstOnly,
    #[serde(default)]
    nccl_version: u32,
    #[serde(default)]
    config: Config,
    /// Before version 2 the devices stood outside the configuration.
    #[serde(default)]
    devices: Vec<Device>,
    results: Vec<Outcome>,
    #[serde(default)]
    out_of_bounds: Option<OutOfBounds>,
}

/// The first string of a list; the others are skipped unread.
#[derive(Debug, Default)]
struct FirstOnly(Option<String>);

impl<'de> Deserialize<'de> for FirstOnly {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct First;
        impl<'de> Visitor<'de> for First {
            type Value = FirstOnly;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of arguments")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<FirstOnly, A::Error> {
                let first = list.next_element()?;
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(FirstOnly(first))
            }
        }
        deserializer.deserialize_seq(First)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Config {
    nthreads: Option<u64>,
    ngpus: Option<u64>,
    iterations: u32,
    aggregated_iterations: u32,
    devices: Vec<Device>,
}

#[derive(Debug, Deserialize)]
struct Device {
    rank: u64,
    #[serde(default)]
    device_info: String,
    /// To be counted and forgotten.
    #[serde(default)]
    hostname: String,
}

#[derive(Debug, Deserialize)]
struct OutOfBounds {
    #[serde(default)]
    count: u64,
}

#[derive(Debug, Deserialize)]
struct Outcome {
    size: u64,
    count: u64,
    #[serde(rename = "type")]
    dtype: String,
    #[serde(default)]
    redop: Option<String>,
    #[serde(default)]
    root: Value,
    #[serde(default)]
    out_of_place: Option<Half>,
    #[serde(default)]
    in_place: Option<Half>,
    #[serde(default)]
    out_of_place_per_iter: Option<Iterations>,
    #[serde(default)]
    in_place_per_iter: Option<Iterations>,
}

#[derive(Debug, Deserialize)]
struct Half {
    #[serde(default, alias = "cpu_time")]
    time: Value,
    #[serde(default)]
    alg_bw: Value,
    #[serde(default)]
    bus_bw: Value,
    #[serde(default)]
    nwrong: Value,
}

#[derive(Debug, Deserialize)]
struct Iterations {
    #[serde(default)]
    times_us: Vec<Value>,
}

/// Whether `text` is a report: an object with results that have sizes.
pub(super) fn is_report(text: &str) -> bool {
    let head: String = text.chars().take(1 << 16).collect();
    text.trim_start().starts_with('{')
        && (head.contains("\"nccl_version\"") || head.contains("\"out_of_place\""))
}

/// Reads a report into one run.
pub(super) fn scan(text: &str, summary: &mut ImportSummary) -> Result<Scanned, Refusal> {
    let report: Report = serde_json::from_str(text).map_err(|error| Refusal {
        line: Some(error.line()),
        error: NcclTestsError::Json { column: error.column(), truncated: error.is_eof() },
    })?;
    if report.version > NEWEST {
        let version = report.version;
        summary.note(format!("report version {version} is newer than {NEWEST}, the newest known"));
    }
    let mut machine = MachineFacts::default();
    if let Some(version) = facts::decode_version(report.nccl_version) {
        machine.software.insert("nccl".to_owned(), version);
    }
    let devices = if report.devices.is_empty() { &report.config.devices } else { &report.devices };
    machine.device =
        devices.iter().map(|device| device.device_info.clone()).find(|name| !name.is_empty());
    let mut run = run(&report, devices);
    for (index, outcome) in report.results.iter().enumerate() {
        // Results have no lines; their number stands in.
        let number = index + 1;
        match row(outcome, number) {
            Ok(row) => run.rows.push(row),
            Err(reason) => summary.drop_line(reason, number),
        }
    }
    Ok(Scanned { runs: vec![run], machine })
}

fn run(report: &Report, devices: &[Device]) -> Run {
    let config = &report.config;
    let of_process = config.ngpus.unwrap_or(1).saturating_mul(config.nthreads.unwrap_or(1));
    let mut hosts: Vec<&str> = devices.iter().map(|device| device.hostname.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    Run {
        line: 1,
        preamble: Some(facts::Preamble {
            devices: of_process,
            step_bytes: None,
            iterations: config.iterations.saturating_mul(config.aggregated_iterations.max(1)),
        }),
        program: report.args.0.as_deref().and_then(facts::program),
        ranks: ranks(devices, config.ngpus.map(|_| of_process)),
        nodes: (!hosts.is_empty()).then_some(hosts.len() as u64),
        unit: Some(TimeUnit::Micro),
        header: None::<Header>,
        closed: true,
        out_of_bounds: report.out_of_bounds.as_ref().map_or(0, |found| found.count),
        ..Run::default()
    }
}

/// The device list holds the first rank of each process (nccl-tests 2.17 to 2.19), or all; how
/// many a process has is in the configuration, if there is one.
fn ranks(devices: &[Device], of_process: Option<u64>) -> Option<u64> {
    let last = devices.iter().map(|device| device.rank).max()?;
    let gapless = last.saturating_add(1) == devices.len() as u64 && devices.len() > 1;
    let behind_last = if gapless { 1 } else { of_process? };
    Some(last.saturating_add(behind_last))
}

fn row(outcome: &Outcome, line: usize) -> Result<Row, String> {
    let redop = match outcome.redop.as_deref().map(str::trim) {
        None | Some("") => Redop::Unstated,
        Some("none") => Redop::Moves,
        Some(_) => Redop::Reduces,
    };
    let root = match &outcome.root {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => number.as_i64(),
        _ => None,
    };
    let row = Row {
        line,
        size: outcome.size,
        count: outcome.count,
        dtype: outcome.dtype.trim().parse().map_err(|e: UnknownName| format!("result: {e}"))?,
        sweep: outcome.dtype.clone(),
        redop,
        root: root.and_then(|root: i64| u64::try_from(root).ok()),
        out_of_place: cells(outcome.out_of_place.as_ref(), outcome.out_of_place_per_iter.as_ref()),
        in_place: cells(outcome.in_place.as_ref(), outcome.in_place_per_iter.as_ref()),
    };
    let known = row.out_of_place.is_some() || row.in_place.is_some();
    if known { Ok(row) } else { Err("result without a half".to_owned()) }
}

fn cells(half: Option<&Half>, iterations: Option<&Iterations>) -> Option<Cells> {
    let half = half?;
    let check = match number(&half.nwrong) {
        None => Check::NotChecked,
        Some(wrong) if wrong.value > 0.0 => Check::Failed,
        Some(_) => Check::Passed,
    };
    let times = iterations.map(|iterations| {
        let times = iterations.times_us.iter();
        times.filter_map(|time| Nanos::from_us(time.as_f64()?).ok()).collect()
    });
    Some(Cells {
        time: number(&half.time),
        algorithm: number(&half.alg_bw),
        bus: number(&half.bus_bw),
        check,
        iterations: times.unwrap_or_default(),
    })
}

/// A number; `"nan"`, null and everything else is none. The digits count, as in a log.
fn number(value: &Value) -> Option<Printed> {
    match value {
        Value::Number(number) => Printed::parse(&number.to_string()),
        Value::String(text) => Printed::parse(text.trim()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(rank: u64) -> Device {
        Device { rank, device_info: String::new(), hostname: String::new() }
    }

    #[test]
    fn a_device_list_of_first_ranks_counts_whole_processes() {
        assert_eq!(ranks(&[device(0)], Some(8)), Some(8));
        assert_eq!(ranks(&[device(0), device(4)], Some(4)), Some(8));
        assert_eq!(ranks(&[device(0), device(1)], Some(2)), Some(2));
        assert_eq!(ranks(&[device(0)], None), None);
        assert_eq!(ranks(&[], Some(8)), None);
    }
}
