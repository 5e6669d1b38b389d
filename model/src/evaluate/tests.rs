//! Whole evaluations of small tables.

use std::collections::BTreeMap;

use kernelgauge_data::{
    Collective, CollectivePoint, Conditions, DataSet, Dtype, FileEntry, Flags, Hardware, Links,
    Machine, Manifest, Measurement, Nanos, Origin, Outcome, Point, Record,
};

use super::*;

/// An all-reduce that follows a knee, with 2 % of noise.
fn data_set() -> DataSet {
    let machine = Machine {
        name: "synthetic-links".to_owned(),
        device: "synthetic".to_owned(),
        count: 8,
        links: Links::Nvlink,
        software: BTreeMap::new(),
        hardware: Hardware::default(),
    };
    let mut noise = crate::math::Stream::new(3);
    let mut records = Vec::new();
    for ranks in [2, 4, 8] {
        for log in 9..30 {
            let bytes = 1_u64 << log;
            let knee = |ns: f64, rate: f64| (ns.sqrt() + (bytes as f64 / rate).sqrt()).powi(2);
            let wobble = 1.0 + 0.02 * ((noise.next() % 2001) as f64 / 1000.0 - 1.0);
            let time = knee(6000.0 + 2000.0 * ranks as f64, 200.0) * wobble;
            records.push(Record {
                point: Point::Collective(CollectivePoint {
                    collective: Collective::AllReduce,
                    dtype: Dtype::F16,
                    ranks,
                    nodes: 1,
                    links: Links::Nvlink,
                    bytes,
                    imbalance: 100,
                }),
                conditions: Conditions::default(),
                outcome: Outcome::Measured(Measurement::stated(Nanos::saturating(time))),
                flags: Flags::NONE,
            });
        }
    }
    DataSet { manifest: Manifest::new(machine, Origin::Synthetic), records }
}

#[test]
fn a_clean_curve_is_predicted_within_its_noise_and_beats_a_lookup() {
    let evaluation = evaluate(&data_set(), &EvaluateOptions::default());
    let of = |split: Split| evaluation.rows.iter().find(|row| row.split == split).unwrap();
    let every_second = of(Split::EverySecond);
    assert_eq!((every_second.model.points, every_second.fitted), (30, 33));
    assert!(every_second.model.mape < 0.03, "{:?}", every_second.model);
    assert!(every_second.model.mape < every_second.interpolation.unwrap().mape);
    assert!(every_second.coverage > 0.75);
    assert!(of(Split::Frontier).model.mape < 0.1);
    assert!(of(Split::Point).width < 0.3);
}

#[test]
fn tables_keep_to_a_hundred_columns_and_say_the_same() {
    let options = EvaluateOptions { splits: vec![Split::Point], ..EvaluateOptions::default() };
    let evaluation = evaluate(&data_set(), &options);
    let table = evaluation.table();
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    let mape = format!("{:.2}", evaluation.rows[0].model.mape * 100.0);
    assert!(table.contains(&mape) && evaluation.markdown().contains(&mape));
    assert!(evaluation.json().contains("\"split\": \"point\""));
}

#[test]
fn of_a_few_points_the_number_is_told_not_a_share() {
    let options = EvaluateOptions { splits: vec![Split::Frontier], ..EvaluateOptions::default() };
    let mut evaluation = evaluate(&data_set(), &options);
    let row = &mut evaluation.rows[0];
    (row.model.points, row.coverage) = (4, 0.0);
    let table = evaluation.table();
    assert!(table.contains("0 of 4") && !table.contains("p90"), "{table}");
    assert!(evaluation.markdown().contains("| - |"), "{}", evaluation.markdown());
}

#[test]
fn rank_counts_between_others_are_held_out_and_families_are_summed_up() {
    let mut data = data_set();
    let sister: Vec<Record> = data
        .records
        .iter()
        .map(|record| {
            let mut record = record.clone();
            if let Point::Collective(point) = &mut record.point {
                point.dtype = Dtype::Int8;
            }
            record
        })
        .collect();
    data.records.extend(sister);
    let options = EvaluateOptions { splits: vec![Split::Ranks], ..EvaluateOptions::default() };
    let evaluation = evaluate(&data, &options);
    let points: Vec<(&str, usize)> =
        evaluation.rows.iter().map(|row| (row.variant.as_str(), row.model.points)).collect();
    assert_eq!(points, [("all_reduce/f16", 21), ("all_reduce/int8", 21), (ALL_VARIANTS, 42)]);
}

#[test]
fn bands_are_fitted_apart_and_another_measurement_stands_beside() {
    let data = data_set();
    let mut slower = data.clone();
    for record in &mut slower.records {
        if let Outcome::Measured(measurement) = &mut record.outcome {
            measurement.time = Nanos::saturating(measurement.time.as_f64() * 1.1);
        }
    }
    let options = EvaluateOptions {
        splits: vec![Split::Point],
        repeat: Some(&slower),
        ..EvaluateOptions::default()
    };
    let evaluation = evaluate(&data, &options);
    let row = &evaluation.rows[0];
    assert_eq!(row.bands.len(), 3);
    assert_eq!(row.bands.iter().map(|band| band.model.points).sum::<usize>(), row.model.points);
    let repeat = row.repeat.unwrap();
    assert!((repeat.median - 0.1).abs() < 1e-3, "{repeat:?}");
    assert!(row.above_20_us.is_some_and(|long| long.points < row.model.points));
}

#[test]
fn a_machine_never_measured_is_asked_about_only_where_others_lend() {
    let data = crate::tests::gemm_table();
    let mut lender = data.clone();
    lender.manifest.machine.name = "lender".to_owned();
    let lenders = [lender];
    let splits = vec![Split::FewShot, Split::UnseenMachine];
    let alone = EvaluateOptions { splits, ..EvaluateOptions::default() };
    let of = |options: &EvaluateOptions<'_>| -> Vec<(Split, usize)> {
        let rows = evaluate(&data, options).rows;
        rows.iter().map(|row| (row.split, row.model.points)).collect()
    };
    // A twentieth of this table is too little for a model of its own.
    assert!(of(&alone).iter().all(|(split, _)| *split == Split::FewShot));
    let lent = of(&EvaluateOptions { lenders: &lenders, ..alone });
    assert!(lent.contains(&(Split::UnseenMachine, data.records.len())), "{lent:?}");
    assert!(lent.iter().any(|(split, _)| *split == Split::FewShot));
}

/// An all-gather in two dtypes whose time steps up by a third at a size in the middle of each
/// second octave: chords cannot see it, the other dtype can.
fn stepping() -> DataSet {
    let mut data = data_set();
    let dtypes = [Dtype::F16, Dtype::Int8];
    let records: Vec<Record> = data
        .records
        .iter()
        .flat_map(|record| dtypes.map(|dtype| (record, dtype)))
        .map(|(record, dtype)| {
            let Point::Collective(point) = record.point else { return record.clone() };
            let stepped = (point.bytes.trailing_zeros() % 4 == 1) && point.bytes < 1 << 24;
            let factor = if stepped { 1.3 } else { 1.0 };
            let time = record.fit_time().unwrap().as_f64() * factor;
            Record {
                point: Point::Collective(CollectivePoint {
                    collective: Collective::AllGather,
                    dtype,
                    ..point
                }),
                outcome: Outcome::Measured(Measurement::stated(Nanos::saturating(time))),
                ..record.clone()
            }
        })
        .collect();
    data.records = records;
    data
}

#[test]
fn another_dtype_at_the_same_bytes_tells_what_chords_cannot() {
    let splits = vec![Split::EverySecond, Split::SisterDtype];
    let options = EvaluateOptions { splits, ..EvaluateOptions::default() };
    let evaluation = evaluate(&stepping(), &options);
    let of = |split: Split| {
        let row = evaluation.rows.iter().find(|row| row.split == split);
        row.map(|row| row.model).unwrap()
    };
    let (sister, alone) = (of(Split::SisterDtype), of(Split::EverySecond));
    assert!(sister.mape < 0.01 && alone.mape > 3.0 * sister.mape, "{sister:?} {alone:?}");
}

#[test]
fn sixteen_times_the_largest_size_and_ranks_between_are_within_a_few_percent() {
    let splits = vec![Split::FarFrontier, Split::Ranks];
    let options = EvaluateOptions { splits, ..EvaluateOptions::default() };
    let evaluation = evaluate(&data_set(), &options);
    for (row, most) in evaluation.rows.iter().zip([0.12, 0.025]) {
        assert!(row.model.median < most, "{} {:?}", row.split.name(), row.model);
    }
    assert_eq!(evaluation.rows.len(), 2);
}

#[test]
fn a_machine_of_one_kind_guides_the_curves_of_another() {
    let mut other = stepping();
    other.manifest.machine.name = "of-one-kind".to_owned();
    for record in &mut other.records {
        let time = record.fit_time().unwrap().as_f64() * 1.2;
        record.outcome = Outcome::Measured(Measurement::stated(Nanos::saturating(time)));
    }
    let lenders = [other];
    let splits = vec![Split::EverySecond];
    let alone = EvaluateOptions { splits, ..EvaluateOptions::default() };
    let mape = |options: &EvaluateOptions<'_>| evaluate(&stepping(), options).rows[0].model.mape;
    let guided = mape(&EvaluateOptions { lenders: &lenders, ..alone.clone() });
    assert!(guided < 0.01 && mape(&alone) > 3.0 * guided, "{guided}");
}

/// Machines of one kind: the stepping all-gather at several speeds, each from a source of its own.
fn fleet() -> Vec<DataSet> {
    [1.0, 1.1, 1.25, 1.4]
        .into_iter()
        .enumerate()
        .map(|(number, slower)| {
            let mut data = stepping();
            data.manifest.machine.name = format!("machine-{number}");
            for record in &mut data.records {
                let time = record.fit_time().unwrap().as_f64() * slower;
                record.outcome = Outcome::Measured(Measurement::stated(Nanos::saturating(time)));
            }
            data
        })
        .collect()
}

#[test]
fn of_each_curve_three_sizes_are_known_and_machines_lend_the_rest() {
    let splits = vec![Split::FewPoints];
    let options = EvaluateOptions { splits, ..EvaluateOptions::default() };
    let machines = fleet();
    let alone = evaluate(&machines[0], &options);
    // Three rank counts of 21 sizes, three of them known, in either dtype: no sister tells.
    assert_eq!((alone.rows[0].model.points, alone.rows[0].fitted), (54, 9));
    let all = evaluate_among(&machines, &options);
    let names: Vec<&str> = all.rows.iter().map(|row| row.variant.as_str()).collect();
    assert_eq!(names, ["machine-0", "machine-1", "machine-2", "machine-3", "all"]);
    let pooled = all.rows.last().unwrap();
    assert_eq!(pooled.model.points, 4 * 108);
    assert!(pooled.model.median < 0.02, "{:?}", pooled.model);
    assert!(alone.rows[0].model.median > 3.0 * pooled.model.median, "{:?}", alone.rows[0].model);
    assert!((0.8..=1.0).contains(&pooled.coverage), "{}", pooled.coverage);
}

#[test]
fn machines_from_one_source_do_not_lend_to_each_other() {
    let splits = vec![Split::FewPoints];
    let options = EvaluateOptions { splits, ..EvaluateOptions::default() };
    let mut machines = fleet();
    let median = |machines: &[DataSet]| evaluate_among(machines, &options).rows[0].model.median;
    let apart = median(&machines);
    let source = "a repository".to_owned();
    let file = FileEntry { name: "collective.csv".to_owned(), source, ..FileEntry::default() };
    for data in &mut machines {
        data.manifest.origin = Origin::Imported;
        data.manifest.files = vec![file.clone()];
    }
    assert!(median(&machines) > 3.0 * apart, "{apart}");
}
