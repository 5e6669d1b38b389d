//! The highest rates and the shortest times that were measured: what a machine is capable of.
//!
//! Rates of operands that a cache may hold say nothing of memory: where a variant was measured
//! cold too, its hot points are left out.

use std::collections::{BTreeMap, BTreeSet};

use kernelgauge_data::point::VariantName;
use kernelgauge_data::{CacheState, DataSet, Family, Manner, Nanos, Point, Rate, Record};
use serde::Serialize;

use crate::columns::Columns;

/// The fastest point of a family, or of one op of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fastest {
    /// Its rate.
    pub rate: Rate,
    /// The point.
    pub point: Point,
}

/// A rate by the name its unit has in files, and where it was measured.
#[derive(Serialize)]
struct Written<'a> {
    point: String,
    #[serde(flatten)]
    rates: BTreeMap<&'a str, f64>,
}

impl Serialize for Fastest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rates = self.rate.fields().into_iter().collect();
        Written { point: self.point.to_string(), rates }.serialize(serializer)
    }
}

impl Fastest {
    /// `712 TFLOP/s (bf16/nt)`.
    pub fn short(&self) -> String {
        let rate = match self.rate {
            Rate::Collective { bus_gb_s, .. } => Rate::Traffic { gb_s: bus_gb_s, of_peak: None },
            rate => rate,
        };
        format!("{rate} ({})", name(&self.point))
    }
}

/// What rates of one family are compared by.
fn size(rate: &Rate) -> f64 {
    match *rate {
        Rate::Arithmetic { tflop_s, .. } => tflop_s,
        Rate::Traffic { gb_s, .. } => gb_s,
        Rate::Collective { bus_gb_s, .. } => bus_gb_s,
    }
}

/// The variant; of collectives with the number of ranks.
fn name(point: &Point) -> String {
    match point {
        Point::Collective(collective) => {
            format!("{}, {} ranks", point.variant().as_str(), collective.ranks)
        }
        _ => point.variant().as_str().to_owned(),
    }
}

/// The records whose rates count, with these.
fn rated(data: &DataSet) -> impl Iterator<Item = (&Record, Nanos, Rate)> {
    let cold: BTreeSet<(Family, VariantName)> = data
        .records
        .iter()
        .filter(|record| record.conditions.cache == CacheState::Cold && record.time().is_some())
        .map(|record| (record.point.family(), record.point.variant()))
        .collect();
    data.records.iter().filter_map(move |record| {
        let point = &record.point;
        let hot_and_cold = record.conditions.cache != CacheState::Cold
            && cold.contains(&(point.family(), point.variant()));
        if hot_and_cold || Manner::of(&record.conditions) != Manner::Usual {
            return None;
        }
        let time = record.fit_time()?;
        Some((record, time, Rate::of(point, time, &data.manifest.machine)?))
    })
}

/// The fastest point of `family`, where any has a rate.
pub fn of_family(data: &DataSet, family: Family) -> Option<Fastest> {
    rated(data)
        .filter(|(record, ..)| record.point.family() == family)
        .max_by(|(.., a), (.., b)| size(a).total_cmp(&size(b)))
        .map(|(record, _, rate)| Fastest { rate, point: record.point.clone() })
}

/// A section of the report: the fastest point and the shortest time of every op.
pub fn markdown(data: &DataSet) -> String {
    let mut ops: BTreeMap<(Family, String), (Fastest, Nanos)> = BTreeMap::new();
    for (record, time, rate) in rated(data) {
        let point = &record.point;
        let key = (point.family(), name(point));
        let fastest = || Fastest { rate, point: point.clone() };
        let (best, shortest) = ops.entry(key).or_insert_with(|| (fastest(), time));
        if size(&rate) > size(&best.rate) {
            *best = fastest();
        }
        *shortest = time.min(*shortest);
    }
    if ops.is_empty() {
        return String::new();
    }
    let mut columns = Columns::new(&["op", "fastest>", "at", "shortest time>"]);
    for ((family, name), (Fastest { rate, point }, shortest)) in ops {
        columns.row([
            format!("{family} {name}"),
            rate.to_string(),
            point.to_string(),
            shortest.to_string(),
        ]);
    }
    format!("## Fastest measured\n\n{}", columns.markdown())
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{
        Conditions, CopyDirection, CopyPoint, Flags, Links, Machine, Manifest, Measurement, Origin,
        Outcome,
    };

    use super::*;

    fn copy(cache: CacheState, kernel: &str, bytes: u64, nanos: u64) -> Record {
        let direction = CopyDirection::DeviceToDevice;
        Record {
            point: Point::Copy(CopyPoint { direction, pinned: false, bytes }),
            conditions: Conditions { cache, kernel: kernel.to_owned(), ..Conditions::default() },
            outcome: Outcome::Measured(Measurement::stated(Nanos::new(nanos))),
            flags: Flags::NONE,
        }
    }

    fn data(records: Vec<Record>) -> DataSet {
        let machine = Machine {
            name: "test".to_owned(),
            device: "test".to_owned(),
            count: 1,
            links: Links::Unstated,
            software: BTreeMap::new(),
            hardware: kernelgauge_data::Hardware::default(),
        };
        DataSet { manifest: Manifest::new(machine, Origin::Synthetic), records }
    }

    #[test]
    fn a_hot_point_does_not_pass_for_memory_where_cold_ones_were_measured() {
        let hot = copy(CacheState::Hot, "", 1_000, 10);
        let cold = [copy(CacheState::Cold, "", 1_000, 100), copy(CacheState::Cold, "", 9_000, 300)];
        let shown = |records: Vec<Record>| of_family(&data(records), Family::Copy).unwrap().short();
        assert_eq!(shown(vec![hot.clone()]), "100 GB/s (d2d/pageable)");
        assert_eq!(shown([vec![hot], cold.to_vec()].concat()), "30 GB/s (d2d/pageable)");
        let report = markdown(&data(cold.to_vec()));
        assert!(report.contains("| copy d2d/pageable | 30 GB/s |"), "{report}");
        assert!(report.contains("| 100 ns |"), "{report}");
    }

    #[test]
    fn other_manners_and_other_families_have_no_part() {
        let pair = copy(CacheState::Hot, "cuMemcpyPeerAsync (graph, GPU 1 to 2)", 1_000, 10);
        assert_eq!(of_family(&data(vec![pair]), Family::Copy), None);
        let usual = copy(CacheState::Hot, "cuMemcpyDtoDAsync (graph)", 1_000, 10);
        assert_eq!(of_family(&data(vec![usual]), Family::Gemm), None);
        assert_eq!(markdown(&data(Vec::new())), "");
    }
}
