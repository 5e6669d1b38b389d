//! Machines that lend to each other, with times of one law at different figures.

use kernelgauge_data::{
    CacheState, DataSet, Dtype, GemmLayout, GemmPoint, Hardware, MemoryOp, MemoryPoint, Point,
    Record,
};

use crate::tests::{data_set, record};
use crate::{Basis, BasisChoice, FitError, FitOptions, Model, Prediction, Query};

/// A machine: units, sustained GFLOP/s over a thousand, GB/s, and what it states of both.
struct Made {
    name: &'static str,
    units: u32,
    flops: f64,
    bytes: f64,
    capability: f64,
}

const SMALL: Made = Made { name: "small", units: 40, flops: 100e3, bytes: 300.0, capability: 8.0 };
const LARGE: Made = Made { name: "large", units: 80, flops: 300e3, bytes: 900.0, capability: 8.0 };
const NEW: Made = Made { name: "new", units: 120, flops: 600e3, bytes: 1500.0, capability: 8.0 };

impl Made {
    fn set(&self, records: Vec<Record>) -> DataSet {
        let mut data = data_set(records);
        data.manifest.machine.name = self.name.to_owned();
        data.manifest.machine.hardware = Hardware {
            units: Some(self.units),
            // Every machine reaches four fifths of what it states.
            memory_gb_s: Some(self.bytes / 0.8),
            cache_bytes: Some(40_000_000),
            compute_capability: Some(self.capability),
            peak_tflop_s: [("bf16".to_owned(), self.flops / 1e3 / 0.8)].into(),
            ..Hardware::default()
        };
        data
    }

    fn gemm_us(&self, point: &Point) -> f64 {
        let work = point.work();
        4.0 + work.flops / self.flops / 1e3 + work.bytes() / self.bytes / 1e3
    }

    fn table(&self) -> DataSet {
        let mut records: Vec<Record> =
            gemms().iter().map(|point| record(point.clone(), self.gemm_us(point))).collect();
        for log in 8..28 {
            let point = memory(MemoryOp::Add, 1, 1 << log);
            let us = 4.0 + point.work().bytes() / self.bytes / 1e3;
            records.push(record(point, us));
        }
        self.set(records)
    }
}

fn gemm(m: u64, n: u64, k: u64) -> Point {
    Point::Gemm(GemmPoint { dtype: Dtype::Bf16, batch: 1, m, n, k, layout: GemmLayout::Unstated })
}

fn memory(op: MemoryOp, rows: u64, columns: u64) -> Point {
    Point::Memory(MemoryPoint { op, dtype: Dtype::F32, rows, columns })
}

fn gemms() -> Vec<Point> {
    let mut points = Vec::new();
    for n in [512, 1024, 2048, 8192] {
        for k in [512, 1024, 2048, 8192] {
            points.extend((0..14).map(|log| gemm(1 << log, n, k)));
        }
    }
    points
}

fn ask(model: &Model, point: &Point) -> Prediction {
    let (cache, basis) = (CacheState::Unstated, BasisChoice::Best);
    model.predict(&Query { point, cache, basis, extrapolate: false }).unwrap()
}

fn borrowed(data: &DataSet, sources: &[DataSet]) -> Model {
    Model::fit_borrowing(data, sources, &FitOptions::default()).unwrap()
}

fn worst_error(model: &Model, truth: impl Fn(&Point) -> f64, points: &[Point]) -> f64 {
    let error = |point| (ask(model, point).time.us() / truth(point) - 1.0).abs();
    points.iter().map(error).fold(0.0, f64::max)
}

#[test]
fn a_machine_that_is_only_described_answers_from_the_others_and_says_so() {
    let model = borrowed(&NEW.set(Vec::new()), &[SMALL.table(), LARGE.table()]);
    let names: Vec<&str> = model.lenders().iter().map(|lender| &*lender.machine).collect();
    assert_eq!(names, ["small", "large"]);
    let answer = ask(&model, &gemm(4096, 8192, 8192));
    assert_eq!(answer.basis, Basis::Borrowed);
    // The law behind these times is not of our form: that is what is left.
    let worst = worst_error(&model, |point| NEW.gemm_us(point), &gemms());
    assert!(worst < 0.4, "{worst}");
    let alone = worst_error(&model, |point| LARGE.gemm_us(point), &gemms());
    assert!(alone > 0.45, "a lender's own time would do as well: {alone}");
    assert!(answer.low < answer.time && answer.time < answer.high);
    let explained = model
        .explain(&Query {
            point: &gemm(4096, 8192, 8192),
            cache: CacheState::Unstated,
            basis: BasisChoice::Best,
            extrapolate: false,
        })
        .unwrap();
    assert!(explained.domain.contains("borrowed from small, large"), "{}", explained.domain);
}

#[test]
fn one_measured_point_tells_what_a_machine_sustains() {
    // Held at half of what it states, as some are by their power.
    let held = Made { flops: NEW.flops / 2.0, bytes: NEW.bytes, ..NEW };
    let peak = gemm(8192, 8192, 8192);
    let mut described = NEW.set(Vec::new());
    let sources = [SMALL.table(), LARGE.table()];
    let large = [gemm(4096, 8192, 8192), gemm(8192, 2048, 8192)];
    let blind = borrowed(&described, &sources);
    assert!(worst_error(&blind, |point| held.gemm_us(point), &large) > 0.3);
    described.records.push(record(peak.clone(), held.gemm_us(&peak)));
    let told = borrowed(&described, &sources);
    let worst = worst_error(&told, |point| held.gemm_us(point), &large);
    assert!(worst < 0.2, "{worst}");
    assert_eq!(ask(&told, &peak).basis, Basis::Measured);
}

#[test]
fn a_bandwidth_carries_over_to_ops_that_the_machine_never_ran() {
    let rows = |op, made: &Made| {
        let sizes = (4..14).flat_map(|r| [256_u64, 1024, 4096].map(|c| memory(op, 1 << r, c)));
        let us = |point: &Point| 4.0 + point.work().bytes() / made.bytes / 1e3;
        sizes.map(|point| record(point.clone(), us(&point))).collect::<Vec<_>>()
    };
    let source = |made: &Made| {
        let mut data = made.table();
        data.records.extend(rows(MemoryOp::Sum, made));
        data
    };
    let held = Made { bytes: NEW.bytes / 2.0, ..NEW };
    let add = memory(MemoryOp::Add, 1, 1 << 27);
    let us = 4.0 + add.work().bytes() / held.bytes / 1e3;
    let model = borrowed(&NEW.set(vec![record(add, us)]), &[source(&SMALL), source(&LARGE)]);
    let asked = memory(MemoryOp::Sum, 8192, 4096);
    let truth = 4.0 + asked.work().bytes() / held.bytes / 1e3;
    let answer = ask(&model, &asked);
    assert_eq!(answer.basis, Basis::Borrowed);
    assert!((answer.time.us() / truth - 1.0).abs() < 0.15, "{} for {truth}", answer.time);
}

#[test]
fn sizes_that_only_a_lender_measured_are_answered_and_own_ones_stay_the_machines_own() {
    let mut short = NEW.table();
    short.records.retain(|record| record.point.parameters()[1] <= 2048);
    let model = borrowed(&short, &[LARGE.table()]);
    for point in [gemm(300, 2048, 8192), gemm(700, 512, 512)] {
        let answer = ask(&model, &point);
        assert_ne!(answer.basis, Basis::Borrowed);
        assert!((answer.time.us() / NEW.gemm_us(&point) - 1.0).abs() < 0.1, "{}", answer.time);
    }
    let beyond = gemm(8192, 2048, 8192);
    let answer = ask(&model, &beyond);
    assert_eq!(answer.basis, Basis::Borrowed);
    assert!((answer.time.us() / NEW.gemm_us(&beyond) - 1.0).abs() < 0.2, "{}", answer.time);
}

#[test]
fn what_was_borrowed_survives_the_file_and_the_same_data_give_the_same_file() {
    let (data, sources) = (NEW.set(Vec::new()), [SMALL.table(), LARGE.table()]);
    let model = borrowed(&data, &sources);
    let text = model.to_text();
    assert_eq!(borrowed(&data, &sources).to_text(), text);
    let again = Model::from_text(&text).unwrap();
    assert_eq!(again.to_text(), text);
    assert_eq!(again.lenders(), model.lenders());
    let point = gemm(777, 2048, 8192);
    assert_eq!(ask(&again, &point), ask(&model, &point));
    let broken = text.replacen("\"band\":[-", "\"band\":[", 1);
    assert!(Model::from_text(&broken).is_err());
}

#[test]
fn a_machine_that_states_nothing_cannot_borrow() {
    let mut bare = NEW.set(Vec::new());
    bare.manifest.machine.hardware = Hardware::default();
    let error = Model::fit_borrowing(&bare, &[LARGE.table()], &FitOptions::default()).unwrap_err();
    assert!(matches!(error, FitError::NothingToBorrow { .. }), "{error}");
}
