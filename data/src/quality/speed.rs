//! Points faster than their device can be.
//!
//! Where peaks are published, they bound arithmetic and memory traffic. Without them the data
//! set is its own witness: a point that does more work than its neighbour in a third of the
//! time, at three times the best rate of all other points, was not executed.

use std::collections::HashMap;

use crate::conditions::CacheState;
use crate::dtype::Dtype;
use crate::family::Family;
use crate::machine::Machine;
use crate::measurement::{Flag, Record};
use crate::point::{CopyDirection, Point, VariantName};
use crate::quality::Finding;
use crate::quality::lines::{Line, Lines};
use crate::units::{Nanos, four_digits};

/// Room above a published peak: clocks may boost beyond the one it was computed with.
const ABOVE_PEAK: f64 = 1.05;

/// What no neighbour and no other point comes near.
const BEYOND_WITNESSES: f64 = 3.0;

/// Bandwidth of the cache nearest to a core over that of memory: some 100 GB/s against 10 on
/// the processors measured with this tool. Points in a cache may lie in any level of it.
const FIRST_CACHE_OVER_MEMORY: f64 = 10.0;

pub(super) fn findings(records: &[Record], lines: &Lines, machine: &Machine) -> Vec<Finding> {
    let mut findings: Vec<Finding> = records
        .iter()
        .enumerate()
        .filter_map(|(record, entry)| {
            let excess = over_peak(entry, entry.time()?, machine)?;
            let detail = format!("{}: {excess}", entry.point);
            Some(Finding { record, flag: Flag::BelowSpeedOfLight, detail })
        })
        .collect();
    let known: Vec<bool> = super::marked(records.len(), &findings, Flag::BelowSpeedOfLight);
    findings.extend(
        against_neighbours(records, lines, machine)
            .into_iter()
            .filter(|finding| !known[finding.record]),
    );
    findings
}

/// By how much a point exceeds a published peak.
fn over_peak(record: &Record, time: Nanos, machine: &Machine) -> Option<String> {
    let point = &record.point;
    let work = point.work();
    let hardware = &machine.hardware;
    let peak = dtype_of(point).and_then(|dtype| peak_tflop_s(machine, dtype));
    if let Some(peak) = peak {
        let rate = work.flops / time.as_f64() / 1e3;
        if rate > ABOVE_PEAK * peak {
            let (rate, peak) = (four_digits(rate), four_digits(peak));
            return Some(format!("{rate} TFLOP/s, and the peak is {peak}"));
        }
    }
    let (memory, cache) = (hardware.memory_gb_s?, hardware.cache_bytes? as f64);
    // Operands may lie in the cache before, and results after: both are spared the memory.
    let moved = work.bytes() - 2.0 * cache;
    let rate = moved / time.as_f64();
    let reads_memory = !matches!(point.family(), Family::Collective | Family::Embedding)
        && record.conditions.cache != CacheState::Hot;
    (reads_memory && rate > ABOVE_PEAK * memory).then(|| {
        let (rate, memory) = (four_digits(rate), four_digits(memory));
        format!("{rate} GB/s from memory, and the peak is {memory}")
    })
}

/// The dtype of points that a peak of arithmetic bounds. Element-wise operation counts are
/// conventions, and a collective's arithmetic never binds.
fn dtype_of(point: &Point) -> Option<Dtype> {
    match point {
        Point::Gemm(gemm) => Some(gemm.dtype),
        Point::Attention(attention) => Some(attention.dtype),
        _ => None,
    }
}

/// The published peak of a dtype; block-scaled 8-bit floats run on the units of the plain ones.
fn peak_tflop_s(machine: &Machine, dtype: Dtype) -> Option<f64> {
    let peaks = &machine.hardware.peak_tflop_s;
    let known = |name: &str| peaks.get(name).copied();
    match dtype {
        Dtype::Fp8Block => known("fp8_block").or_else(|| known("fp8")),
        dtype => known(dtype.name()),
    }
}

/// Work per nanosecond by which points of one variant are compared: operations where they
/// dominate, else bytes; none for ops whose work is not known.
fn rate(record: &Record) -> Option<f64> {
    let work = record.point.work();
    let amount = match record.point.family() {
        Family::Gemm | Family::Attention => work.flops,
        Family::Custom => return None,
        _ => work.bytes(),
    };
    let nanos = record.time()?.as_f64();
    (amount > 0.0 && nanos > 0.0).then_some(amount / nanos)
}

/// Whether a point may have run without the memory: its operands lie in a cache already, or
/// fit one. Bandwidth then is that of any level of cache, and the rates of larger points, or
/// of the same with cold operands, are no witness against it.
fn may_stay_in_cache(record: &Record, machine: &Machine) -> bool {
    /// Where the cache is not stated: no less than the second-level cache of a current GPU.
    const ASSUMED_CACHE: u64 = 64 << 20;
    let crosses_no_link = match &record.point {
        Point::Copy(copy) => {
            matches!(copy.direction, CopyDirection::DeviceToDevice | CopyDirection::HostToHost)
        }
        Point::Embedding(_) | Point::Memory(_) => true,
        // Judged by their arithmetic, by the links they cross, or not at all.
        Point::Gemm(_) | Point::Attention(_) | Point::Collective(_) | Point::Custom(_) => false,
    };
    if !crosses_no_link {
        return false;
    }
    let cache = machine.hardware.cache_bytes.unwrap_or(ASSUMED_CACHE) as f64;
    match record.conditions.cache {
        CacheState::Hot => true,
        CacheState::Cold => false,
        CacheState::Unstated => record.point.work().bytes() <= cache,
    }
}

fn against_neighbours(records: &[Record], lines: &Lines, machine: &Machine) -> Vec<Finding> {
    let cached: Vec<bool> =
        records.iter().map(|record| may_stay_in_cache(record, machine)).collect();
    let mut suspects = Vec::new();
    let mut suspected = vec![false; records.len()];
    for line in &lines.lines {
        for suspect in suspects_of(records, line, &cached) {
            suspected[suspect.0] = true;
            suspects.push(suspect);
        }
    }
    // By family and variant, and again among the points that may stay in a cache.
    let mut best: HashMap<(Family, VariantName, bool), f64> = HashMap::new();
    for record in (0..records.len()).filter(|record| !suspected[*record]) {
        if let Some(rate) = rate(&records[record]) {
            let point = &records[record].point;
            let groups = if cached[record] { &[false, true][..] } else { &[false] };
            for group in groups {
                let best = best.entry((point.family(), point.variant(), *group)).or_default();
                *best = best.max(rate);
            }
        }
    }
    let confirm = |(record, neighbour): (usize, String)| {
        let point = &records[record].point;
        let (own, time) = (rate(&records[record])?, records[record].time()?);
        let best_of = |group| best.get(&(point.family(), point.variant(), group)).copied();
        let mut best = best_of(false)?;
        if cached[record] {
            best = best.max(FIRST_CACHE_OVER_MEMORY * best_of(true)?);
        }
        (own > BEYOND_WITNESSES * best).then(|| Finding {
            record,
            flag: Flag::BelowSpeedOfLight,
            detail: format!(
                "{point}: {time} {neighbour}, at {} times the rate that other points make possible",
                four_digits(own / best)
            ),
        })
    };
    suspects.into_iter().filter_map(confirm).collect()
}

/// Records that took less than a third of the time of the next smaller point; at the start of
/// a line, records at three times the rate of the next larger one. With the words for it.
/// A line that starts in a cache falls out of it, so there its start proves nothing.
fn suspects_of(records: &[Record], line: &Line, cached: &[bool]) -> Vec<(usize, String)> {
    let mut suspects = Vec::new();
    for (at, station) in line.stations.iter().enumerate().filter(|(_, station)| station.judged) {
        for record in &station.records {
            let Some(time) = records[*record].time() else { continue };
            let before = at.checked_sub(1).and_then(|before| line.stations.get(before));
            let is_suspect = match (before, line.stations.get(at + 1)) {
                (Some(before), _) => BEYOND_WITNESSES * time.as_f64() < before.nanos,
                (None, Some(_)) if cached[*record] => false,
                (None, Some(after)) => {
                    let after = after.records.first().and_then(|after| rate(&records[*after]));
                    let pair = rate(&records[*record]).zip(after);
                    pair.is_some_and(|(own, after)| own > BEYOND_WITNESSES * after)
                }
                (None, None) => false,
            };
            if is_suspect {
                let neighbour = match before {
                    Some(before) => {
                        format!("after {} for less work", Nanos::saturating(before.nanos))
                    }
                    None => "at the start of its line".to_owned(),
                };
                suspects.push((*record, neighbour));
            }
        }
    }
    suspects
}
