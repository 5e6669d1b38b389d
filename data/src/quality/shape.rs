//! Findings about the shape of a line: spikes, and times that fall as work grows.

use crate::measurement::{Flag, Record};
use crate::quality::Finding;
use crate::quality::lines::{Line, Lines, Station};
use crate::units::Nanos;

/// A spike is slower than both its neighbours by this factor. Tile and wave quantisation make
/// steps of up to two between shapes that differ by one tile, and steps are not spikes.
const SPIKE: f64 = 2.0;

/// A fall that noise explains: independent runs of public tables differ by 3 to 11 % in the
/// mean, and a fall is the difference of two of them.
const FALL: f64 = 0.80;

/// `impossible` records are not judged again and are nobody's neighbours.
pub(super) fn findings(records: &[Record], lines: &Lines, impossible: &[bool]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for line in &lines.lines {
        let stations: Vec<&Station> = line
            .stations
            .iter()
            .filter(|station| !station.records.iter().all(|record| impossible[*record]))
            .collect();
        let spikes: Vec<bool> = (0..stations.len()).map(|at| is_spike(&stations, at)).collect();
        for at in 0..stations.len() {
            let Some(station) = Some(stations[at]).filter(|station| station.judged) else {
                continue;
            };
            if spikes[at] {
                let (before, after) = (stations[at - 1], stations[at + 1]);
                let detail = spike_detail(records, line, station, [before, after]);
                findings.extend(for_all(station, Flag::Spike, &detail));
                continue;
            }
            let before = (0..at).rev().find(|before| !spikes[*before]).map(|at| stations[at]);
            if let Some(before) = before.filter(|before| station.nanos < FALL * before.nanos) {
                let detail = fall_detail(records, line, station, before);
                findings.extend(for_all(station, Flag::NonMonotonic, &detail));
            }
        }
    }
    findings
}

fn is_spike(stations: &[&Station], at: usize) -> bool {
    let neighbour = |at: Option<usize>| at.and_then(|at| stations.get(at));
    match (neighbour(at.checked_sub(1)), neighbour(at.checked_add(1))) {
        (Some(before), Some(after)) => stations[at].nanos > SPIKE * before.nanos.max(after.nanos),
        _ => false,
    }
}

fn for_all(station: &Station, flag: Flag, detail: &str) -> impl Iterator<Item = Finding> {
    station.records.iter().map(move |record| Finding {
        record: *record,
        flag,
        detail: detail.to_owned(),
    })
}

fn shown(station: &Station) -> Nanos {
    Nanos::saturating(station.nanos)
}

/// Name of the parameter along which the line runs.
fn axis_name<'a>(records: &'a [Record], line: &Line, station: &Station) -> &'a str {
    let point = &records[station.records[0]].point;
    point.parameter_names().get(line.axis).copied().unwrap_or_default()
}

fn spike_detail(
    records: &[Record],
    line: &Line,
    station: &Station,
    [before, after]: [&Station; 2],
) -> String {
    let (point, axis) = (&records[station.records[0]].point, axis_name(records, line, station));
    format!(
        "{point}: {}, but {} at {axis}={} and {} at {axis}={}",
        shown(station),
        shown(before),
        before.at,
        shown(after),
        after.at
    )
}

fn fall_detail(records: &[Record], line: &Line, station: &Station, before: &Station) -> String {
    let (point, axis) = (&records[station.records[0]].point, axis_name(records, line, station));
    format!("{point}: {}, but {} at {axis}={}", shown(station), shown(before), before.at)
}
