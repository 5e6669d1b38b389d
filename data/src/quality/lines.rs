//! Lines: measured points of one variant and condition that differ in one parameter only.

use std::collections::HashMap;

use crate::conditions::{CacheState, InputContent};
use crate::family::Family;
use crate::measurement::Record;
use crate::point::{Parameters, VariantName};

/// Fewer points than this have no inside.
const SHORTEST: usize = 3;

/// All records measured at one place of a line; repeats share a station.
#[derive(Debug, Clone)]
pub(super) struct Station {
    /// Value of the parameter that changes along the line.
    pub at: u64,
    /// Indices of the records.
    pub records: Vec<usize>,
    /// Fastest time among them, in nanoseconds.
    pub nanos: f64,
    /// Whether the records here are judged on this line; others only serve as neighbours.
    pub judged: bool,
}

/// A line, its stations in rising order of the parameter that changes.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Index of the parameter that changes.
    pub axis: usize,
    pub stations: Vec<Station>,
}

/// The lines of a set of records. Each record is judged on one line at most: along the axis of
/// its family where that line has three stations, else along the first parameter that has.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub lines: Vec<Line>,
}

/// What a record is compared by.
struct Keyed {
    record: usize,
    nanos: f64,
    /// Number of its family, variant and conditions.
    kind: usize,
    parameters: Parameters,
}

/// A record on its way into a line: kind, site, place on the line.
type Placed<'a> = (usize, Parameters, u64, &'a Keyed);

impl Keyed {
    /// The parameters with the one at `axis` blanked out.
    fn site(&self, axis: usize) -> Parameters {
        let mut values = self.parameters.to_vec();
        if let Some(value) = values.get_mut(axis) {
            *value = 0;
        }
        Parameters::new(&values)
    }

    fn at(&self, axis: usize) -> u64 {
        self.parameters.get(axis).copied().unwrap_or_default()
    }
}

impl Lines {
    pub fn of(records: &[Record]) -> Self {
        let keyed = keyed(records);
        let mut found = Lines::default();
        let mut waiting: Vec<bool> = vec![true; records.len()];
        let longest = keyed.iter().map(|key| key.parameters.len()).max().unwrap_or_default();
        // The axis of each family first, then every parameter for those it left over.
        found.add(&keyed, |key| records[key.record].point.axis(), &mut waiting);
        for axis in 0..longest {
            if !keyed.iter().any(|key| waiting[key.record]) {
                break;
            }
            found.add(&keyed, |_| axis, &mut waiting);
        }
        found
    }

    /// Adds the lines along `axis_of` that pass through a record still waiting for one.
    fn add(&mut self, keyed: &[Keyed], axis_of: impl Fn(&Keyed) -> usize, waiting: &mut [bool]) {
        let mut placed: Vec<Placed<'_>> = keyed
            .iter()
            .filter(|key| axis_of(key) < key.parameters.len())
            .map(|key| (key.kind, key.site(axis_of(key)), key.at(axis_of(key)), key))
            .collect();
        placed.sort_by(|a, b| (a.0, &a.1, a.2).cmp(&(b.0, &b.1, b.2)));
        for group in placed.chunk_by(|a, b| (a.0, &a.1) == (b.0, &b.1)) {
            let stations = stations(group, waiting);
            if stations.len() < SHORTEST || !stations.iter().any(|station| station.judged) {
                continue;
            }
            for record in stations.iter().flat_map(|station| &station.records) {
                waiting[*record] = false;
            }
            self.lines.push(Line { axis: axis_of(group[0].3), stations });
        }
    }
}

fn keyed(records: &[Record]) -> Vec<Keyed> {
    type Kind<'a> = (Family, VariantName, CacheState, &'a InputContent, &'a str);
    let mut kinds: HashMap<Kind<'_>, usize> = HashMap::new();
    let mut keyed = Vec::with_capacity(records.len());
    for (record, entry) in records.iter().enumerate() {
        let Some(time) = entry.time() else { continue };
        let count = kinds.len();
        // The algorithm that a library chose is part of the curve, jumps included.
        let conditions = &entry.conditions;
        let (family, variant) = (entry.point.family(), entry.point.variant());
        let kind = (family, variant, conditions.cache, &conditions.input, conditions.backend());
        keyed.push(Keyed {
            record,
            nanos: time.as_f64(),
            kind: *kinds.entry(kind).or_insert(count),
            parameters: entry.point.parameters(),
        });
    }
    keyed
}

fn stations(group: &[Placed<'_>], waiting: &[bool]) -> Vec<Station> {
    group
        .chunk_by(|a, b| a.2 == b.2)
        .map(|same| Station {
            at: same[0].2,
            records: same.iter().map(|(.., key)| key.record).collect(),
            nanos: same.iter().map(|(.., key)| key.nanos).fold(f64::INFINITY, f64::min),
            judged: same.iter().any(|(.., key)| waiting[key.record]),
        })
        .collect()
}
