//! Lines: measured points of one variant and condition that differ in one parameter only.

use crate::conditions::Conditions;
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
struct Keyed<'a> {
    record: usize,
    nanos: f64,
    family: Family,
    variant: VariantName,
    conditions: &'a Conditions,
    parameters: Parameters,
}

impl Keyed<'_> {
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
        let keyed: Vec<Keyed<'_>> = records.iter().enumerate().filter_map(keyed).collect();
        let mut found = Lines::default();
        let mut waiting: Vec<bool> = vec![true; records.len()];
        let longest = keyed.iter().map(|key| key.parameters.len()).max().unwrap_or_default();
        // The axis of each family first, then every parameter for those it left over.
        let own_axis = |key: &Keyed<'_>| records[key.record].point.axis();
        found.add(&keyed, own_axis, &mut waiting);
        for axis in 0..longest {
            if !keyed.iter().any(|key| waiting[key.record]) {
                break;
            }
            found.add(&keyed, |_| axis, &mut waiting);
        }
        found
    }

    /// Adds the lines along `axis_of` that pass through a record still waiting for one.
    fn add(
        &mut self,
        keyed: &[Keyed<'_>],
        axis_of: impl Fn(&Keyed<'_>) -> usize,
        waiting: &mut [bool],
    ) {
        let mut sorted: Vec<(Parameters, u64, &Keyed<'_>)> = keyed
            .iter()
            .filter(|key| axis_of(key) < key.parameters.len())
            .map(|key| (key.site(axis_of(key)), key.at(axis_of(key)), key))
            .collect();
        sorted.sort_by(|(site_a, at_a, a), (site_b, at_b, b)| {
            (a.family, &a.variant, a.conditions, site_a, at_a).cmp(&(
                b.family,
                &b.variant,
                b.conditions,
                site_b,
                at_b,
            ))
        });
        let same_line = |(site_a, _, a): &(Parameters, u64, &Keyed<'_>),
                         (site_b, _, b): &(Parameters, u64, &Keyed<'_>)| {
            (a.family, &a.variant, a.conditions, site_a)
                == (b.family, &b.variant, b.conditions, site_b)
        };
        for group in sorted.chunk_by(same_line) {
            let stations = stations(group, waiting);
            if stations.len() < SHORTEST || !stations.iter().any(|station| station.judged) {
                continue;
            }
            for record in stations.iter().flat_map(|station| &station.records) {
                waiting[*record] = false;
            }
            self.lines.push(Line { axis: axis_of(group[0].2), stations });
        }
    }
}

fn keyed((record, entry): (usize, &Record)) -> Option<Keyed<'_>> {
    Some(Keyed {
        record,
        nanos: entry.time()?.as_f64(),
        family: entry.point.family(),
        variant: entry.point.variant(),
        conditions: &entry.conditions,
        parameters: entry.point.parameters(),
    })
}

fn stations(group: &[(Parameters, u64, &Keyed<'_>)], waiting: &[bool]) -> Vec<Station> {
    group
        .chunk_by(|a, b| a.1 == b.1)
        .map(|same| Station {
            at: same[0].1,
            records: same.iter().map(|(_, _, key)| key.record).collect(),
            nanos: same.iter().map(|(_, _, key)| key.nanos).fold(f64::INFINITY, f64::min),
            judged: same.iter().any(|(_, _, key)| waiting[key.record]),
        })
        .collect()
}
