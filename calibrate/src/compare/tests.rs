use kernelgauge_data::{
    BuildInfo, Bytes, CacheState, Conditions, CopyDirection, CopyPoint, DataSet, Flag, Flags,
    Links, Machine, Manifest, Measurement, Nanos, Origin, Outcome, Point, Record,
};

use super::*;

/// Copies of `sizes`, at 1 µs and `rate` bytes a nanosecond.
fn data_set(device: &str, rate: f64, sizes: impl Iterator<Item = u64>) -> DataSet {
    let machine = Machine {
        name: "synthetic".to_owned(),
        device: device.to_owned(),
        count: 1,
        links: Links::Unstated,
        software: Default::default(),
        hardware: Default::default(),
    };
    let records = sizes
        .map(|bytes| Record {
            point: Point::Copy(CopyPoint {
                direction: CopyDirection::HostToHost,
                pinned: false,
                bytes,
            }),
            conditions: Conditions { cache: CacheState::Hot, ..Conditions::default() },
            outcome: Outcome::Measured(Measurement::stated(Nanos::saturating(
                1_000.0 + Bytes::new(bytes).get() as f64 / rate,
            ))),
            flags: Flags::NONE,
        })
        .collect();
    DataSet { manifest: Manifest::new(machine, Origin::Synthetic), records }
}

fn side(name: &str, data: &DataSet) -> Side {
    let folder =
        std::env::temp_dir().join(format!("kernelgauge-compare-{}-{name}", std::process::id()));
    data.write(&folder).unwrap();
    let side = Side::read(&folder, &BuildInfo::plain()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    side
}

fn compared(a: &Side, b: &Side, threshold: Option<f64>) -> Comparison {
    Comparison::of(a, b, &[Family::Copy], threshold, 0)
}

fn octaves(from: u32) -> impl Iterator<Item = u64> {
    (from..from + 12).map(|octave| 1 << octave)
}

#[test]
fn the_same_points_are_compared_as_measured() {
    let a = side("a", &data_set("one", 10.0, octaves(20)));
    let b = side("b", &data_set("two", 8.0, octaves(20)));
    let same = compared(&a, &a, Some(0.05));
    assert_eq!((same.rows[0].median, same.rows[0].changed), (Some(1.0), false));
    assert!(same.differences.is_empty());

    let slower = compared(&a, &b, Some(0.05));
    let row = &slower.rows[0];
    assert_eq!((row.basis, row.points, row.beyond_noise), (Basis::Measured, 12, 12));
    assert!((row.median.unwrap() - 1.25).abs() < 0.01, "{row:?}");
    assert!(row.changed);
    assert_eq!(slower.differences[0].fact, "device");
    // Slower than allowed and faster than allowed are both news.
    assert_eq!(compared(&b, &a, Some(0.05)).changed().len(), 1);
    assert_eq!(compared(&a, &b, Some(0.3)).changed().len(), 0);
    assert_eq!(compared(&a, &b, None).changed().len(), 0);
}

#[test]
fn few_points_and_disturbed_ones_are_no_evidence() {
    let a = side("few-a", &data_set("one", 10.0, octaves(20).take(4)));
    let b = side("few-b", &data_set("one", 5.0, octaves(20).take(4)));
    let comparison = compared(&a, &b, Some(0.05));
    let row = &comparison.rows[0];
    assert_eq!((row.points, row.changed, row.too_few), (4, false, true), "{row:?}");
    assert!(comparison.text().contains("too few points to tell"), "{}", comparison.text());

    let before = side("calm", &data_set("one", 10.0, octaves(20)));
    let mut after = data_set("one", 5.0, octaves(20));
    for (at, record) in after.records.iter_mut().enumerate() {
        if at < 10 {
            let flag = if at % 2 == 0 { Flag::Drift } else { Flag::Contended };
            record.flags.insert(flag);
        }
    }
    let comparison = compared(&before, &side("disturbed", &after), Some(0.05));
    let row = &comparison.rows[0];
    assert_eq!((row.points, row.left_out, comparison.left_out()), (2, 10, 10), "{row:?}");
    assert!(!row.changed && row.too_few, "{row:?}");
    // The times of both sides stand beside their ratio.
    assert!(row.b_us.unwrap() > 1.9 * row.a_us.unwrap(), "{row:?}");
}

#[test]
fn the_largest_change_comes_first() {
    let mut before = data_set("one", 10.0, octaves(20));
    let mut after = data_set("one", 9.0, octaves(20));
    for (data, rate) in [(&mut before, 10.0), (&mut after, 25.0)] {
        let mut cold = data_set("one", rate, octaves(20));
        cold.records.iter_mut().for_each(|record| record.conditions.cache = CacheState::Cold);
        data.records.extend(cold.records);
    }
    let comparison = compared(&side("sort-a", &before), &side("sort-b", &after), Some(0.05));
    let changed: Vec<CacheState> = comparison.changed().iter().map(|row| row.cache).collect();
    assert_eq!(changed, [CacheState::Cold, CacheState::Hot]);
    assert_eq!(comparison.rows[1].cache, CacheState::Cold);
}

#[test]
fn what_is_within_noise_is_no_news_whatever_the_threshold() {
    let a = side("noise-a", &data_set("one", 10.0, octaves(20)));
    let b = side("noise-b", &data_set("one", 9.7, octaves(20)));
    let comparison = compared(&a, &b, Some(0.01));
    let row = &comparison.rows[0];
    assert!(row.median.unwrap() > 1.02 && !row.changed, "{row:?}");
}

#[test]
fn without_a_common_point_the_models_are_compared_where_both_speak() {
    let a = side("models-a", &data_set("one", 10.0, octaves(20)));
    let between = octaves(20).map(|bytes| bytes + bytes / 2);
    let b = side("models-b", &data_set("one", 5.0, between));
    let comparison = compared(&a, &b, Some(0.05));
    let row = &comparison.rows[0];
    assert_eq!((row.basis, row.points), (Basis::Predicted, 22));
    assert!((row.median.unwrap() - 2.0).abs() < 0.1, "{row:?}");
    assert!(row.changed, "{row:?}");
    let text = comparison.text();
    assert!(text.contains("copy h2h/pageable hot   predicted"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
}

#[test]
fn a_variant_of_one_side_only_is_listed() {
    let a = side("only-a", &data_set("one", 10.0, octaves(20)));
    let mut cold = data_set("one", 10.0, octaves(20));
    cold.records.iter_mut().for_each(|record| record.conditions.cache = CacheState::Cold);
    let comparison = compared(&a, &side("only-b", &cold), None);
    let bases: Vec<Basis> = comparison.rows.iter().map(|row| row.basis).collect();
    assert_eq!(bases, [Basis::OnlyA, Basis::OnlyA, Basis::OnlyB]);
    assert!(!comparison.has_ratios());
}
