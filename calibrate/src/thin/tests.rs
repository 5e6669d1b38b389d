use kernelgauge_data::{
    Collective, CollectivePoint, Conditions, Dtype, FileEntry, Flag, Flags, GemmLayout, GemmPoint,
    Hardware, Links, Machine, Manifest, Measurement, Nanos, Origin, Outcome, Point,
};

use super::*;

/// Time of a made-up GEMM: a launch and a step at every 256.
fn time_ns(m: u64, n: u64) -> u64 {
    let tiles = m.div_ceil(256).max(1) * n.div_ceil(128);
    2_000 + tiles * 500
}

fn record(point: Point, time: u64, kernel: &str) -> Record {
    Record {
        point,
        conditions: Conditions { kernel: kernel.to_owned(), ..Conditions::default() },
        outcome: Outcome::Measured(Measurement::stated(Nanos::new(time))),
        flags: Flags::NONE,
    }
}

fn gemm(m: u64, n: u64) -> Record {
    let point =
        GemmPoint { dtype: Dtype::Bf16, batch: 1, m, n, k: 512, layout: GemmLayout::Unstated };
    record(Point::Gemm(point), time_ns(m, n), "kernel_a")
}

fn data() -> DataSet {
    let machine = Machine {
        name: "made-up".to_owned(),
        device: "Made-up".to_owned(),
        count: 2,
        links: Links::Unstated,
        software: BTreeMap::new(),
        hardware: Hardware::default(),
    };
    let mut manifest = Manifest::new(machine, Origin::Synthetic);
    manifest.files.push(FileEntry { name: "gemm.csv".to_owned(), ..FileEntry::default() });
    let mut records = Vec::new();
    for n in [100, 1024, 4096] {
        records.extend((0..=40).map(|step| gemm(1 + step * 100, n)));
    }
    for bytes in (3..20).map(|power| 1 << power) {
        let point = CollectivePoint {
            collective: Collective::AllReduce,
            dtype: Dtype::F16,
            ranks: 2,
            nodes: 1,
            links: Links::Unstated,
            bytes,
            imbalance: 100,
        };
        records.push(record(Point::Collective(point), 5_000 + bytes, ""));
    }
    DataSet { manifest, records }
}

fn options(share: f64) -> ThinOptions {
    let bytes = data().csv_bytes().get() as f64 * share;
    ThinOptions { max_bytes: Bytes::new(bytes as u64), seed: 7, summarise_kernels: false }
}

fn axis_values(data: &DataSet, n: u64) -> Vec<u64> {
    let mut values: Vec<u64> = data
        .records
        .iter()
        .filter_map(|record| match record.point {
            Point::Gemm(point) if point.n == n => Some(point.m),
            _ => None,
        })
        .collect();
    values.sort_unstable();
    values
}

#[test]
fn what_is_kept_fits_and_reaches_as_far() {
    let thinned = thin(data(), &options(0.5)).unwrap();
    assert!(thinned.bytes <= options(0.5).max_bytes);
    assert_eq!(thinned.bytes, thinned.data.csv_bytes());
    for n in [100, 1024, 4096] {
        let values = axis_values(&thinned.data, n);
        assert_eq!((values.first(), values.last()), (Some(&1), Some(&4001)), "n={n}");
    }
    let collective = thinned.rows.iter().find(|rows| rows.family == Family::Collective).unwrap();
    assert_eq!((collective.before, collective.after), (17, 17));
}

#[test]
fn neighbouring_lines_leave_out_different_places() {
    let thinned = thin(data(), &options(0.6)).unwrap();
    let (one, other) = (axis_values(&thinned.data, 1024), axis_values(&thinned.data, 4096));
    let shared = one.iter().filter(|value| other.contains(value)).count();
    let (fewer, both) = (one.len().min(other.len()), one.len() + other.len() - shared);
    assert!(shared < fewer && both > one.len().max(other.len()), "{one:?} and {other:?}");
}

#[test]
fn the_same_seed_keeps_the_same_rows() {
    let kept = |seed| thin(data(), &ThinOptions { seed, ..options(0.5) }).unwrap().data.records;
    assert_eq!(kept(1), kept(1));
    assert_ne!(kept(1), kept(2));
}

#[test]
fn flagged_rows_go_first_and_are_counted() {
    let mut flagged = data();
    flagged.records[5].flags.insert(Flag::Spike);
    let thinned = thin(flagged, &options(1.0)).unwrap();
    assert_eq!(thinned.flagged, 1);
    assert_eq!(thinned.data.records.len(), data().records.len() - 1);
}

#[test]
fn too_little_room_is_an_error_with_the_least_size() {
    let error = thin(data(), &options(0.1)).unwrap_err();
    let ThinError::TooSmall { needed, limit } = error;
    assert!(needed > limit);
    assert!(thin(data(), &ThinOptions { max_bytes: needed, ..options(1.0) }).is_ok());
}

#[test]
fn kernels_move_to_the_notes_unless_a_point_has_two() {
    let mut mixed = data();
    let Point::Gemm(point) = mixed.records[3].point else { panic!("not a gemm") };
    mixed.records.push(record(Point::Gemm(point), 9_000, "kernel_b"));
    let options = ThinOptions { summarise_kernels: true, ..options(2.0) };
    let thinned = thin(mixed, &options).unwrap().data;
    let named = thinned.records.iter().filter(|record| !record.conditions.kernel.is_empty());
    assert_eq!(named.count(), 2);
    assert_eq!(thinned.manifest.files[0].notes, "kernels of the full table: bf16 kernel_a");
}
