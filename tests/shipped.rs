//! The models inside the binary are those of the shipped data, and small.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kernelgauge_data::{DataSet, Dtype, Family, GemmLayout, GemmPoint, Nanos, Origin, Point};
use kernelgauge_model::{Basis, BasisChoice, Model, ReferenceModel, Step};
use kernelgauge_predict::shipped::MODELS;
use kernelgauge_predict::{Ask, Predictor};

/// Bytes that all models together may add to the binary.
const MOST_MODEL_BYTES: usize = 6_000_000;

/// Bytes of CSV that the repository may hold.
const MOST_CSV_BYTES: u64 = 12_000_000;

fn machines() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/machines")
}

#[test]
fn every_machine_folder_ships() {
    let entries = fs::read_dir(machines()).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<String> = entries
        .filter(|folder| folder.is_dir())
        .map(|folder| folder.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    folders.sort();
    let shipped: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
    assert_eq!(shipped, folders);
}

#[test]
fn the_models_are_whole_and_speak_for_their_data() {
    for shipped in MODELS {
        let model = Model::from_text(shipped.text).unwrap();
        let data = DataSet::read(&machines().join(shipped.name)).unwrap();
        assert_eq!(model.machine(), &data.manifest.machine, "{}", shipped.name);
        assert_eq!(model.machine().name, shipped.name);
        assert_eq!(model.data_sha256(), data.digest(), "{}: refit it", shipped.name);
        assert_ne!(model.origin(), Origin::Synthetic, "{}", shipped.name);
    }
}

#[test]
fn models_and_tables_stay_small() {
    let models: usize = MODELS.iter().map(|model| model.text.len()).sum();
    println!("{} models, {models} bytes", MODELS.len());
    assert!(models <= MOST_MODEL_BYTES, "{models} bytes of models");
    let mut tables = 0;
    for model in MODELS {
        for entry in fs::read_dir(machines().join(model.name)).unwrap() {
            let entry = entry.unwrap();
            if entry.path().extension().is_some_and(|ending| ending == "csv") {
                tables += entry.metadata().unwrap().len();
            }
        }
    }
    println!("{tables} bytes of tables");
    assert!(tables <= MOST_CSV_BYTES, "{tables} bytes of tables");
}

/// Up to two dozen measured points of each variant, and as many just off them.
fn points_of(data: &DataSet) -> Vec<Point> {
    let mut variants: BTreeMap<(Family, String), Vec<Point>> = BTreeMap::new();
    for record in data.records.iter().filter(|record| record.fit_time().is_some()) {
        let point = &record.point;
        let key = (point.family(), point.variant().as_str().to_owned());
        variants.entry(key).or_default().push(point.clone());
    }
    let mut chosen = Vec::new();
    for points in variants.into_values() {
        for point in points.iter().step_by(points.len().div_ceil(24)) {
            chosen.extend([point.clone(), beside(point)]);
        }
    }
    chosen
}

/// The point with sizes that nobody measured, and for a collective other ranks.
fn beside(point: &Point) -> Point {
    let more = |value: u64| value + value / 3 + 1;
    let mut point = point.clone();
    match &mut point {
        Point::Gemm(gemm) => (gemm.m, gemm.k) = (more(gemm.m), gemm.k + 8),
        Point::Embedding(bag) => bag.batch = more(bag.batch),
        Point::Memory(memory) => memory.columns = more(memory.columns),
        Point::Copy(copy) => copy.bytes = more(copy.bytes),
        Point::Collective(collective) => {
            (collective.bytes, collective.ranks) = (more(collective.bytes), 3);
        }
        Point::Attention(attention) => attention.batch = more(attention.batch),
        Point::Custom(custom) => {
            custom.parameters.iter_mut().for_each(|(_, value)| *value = more(*value));
        }
    }
    point
}

#[test]
fn the_steps_of_every_explanation_end_at_its_answer() {
    let bases = [
        BasisChoice::Best,
        BasisChoice::Hybrid,
        BasisChoice::Analytical,
        BasisChoice::Learned,
        BasisChoice::Reference(ReferenceModel::Roofline),
    ];
    let mut explained = 0;
    for shipped in MODELS {
        let predictor = Predictor::shipped(shipped.name).unwrap();
        for point in points_of(&DataSet::read(&machines().join(shipped.name)).unwrap()) {
            for basis in bases {
                let ask = Ask { basis, extrapolate: true, ..Ask::default() };
                let Ok(explanation) = predictor.explain(&point, ask) else { continue };
                let sum: i64 = explanation.steps.iter().map(|step| step.shift.get()).sum();
                let place = format!("{} {point} {basis:?}: {explanation:#?}", shipped.name);
                assert_eq!(sum as u64, explanation.prediction.time.get(), "{place}");
                // Nothing is swept under a last step that explains nothing.
                let unexplained = |step: &Step| {
                    matches!(step.name, "rounded" | "not overlapped") && step.shift.get().abs() > 1
                };
                assert!(!explanation.steps.iter().any(unexplained), "{place}");
                explained += 1;
            }
        }
    }
    assert!(explained > 5_000, "only {explained} explanations");
}

#[test]
fn no_interval_reaches_below_what_can_be_believed() {
    for shipped in MODELS {
        let predictor = Predictor::shipped(shipped.name).unwrap();
        let data = DataSet::read(&machines().join(shipped.name)).unwrap();
        let mut fastest: BTreeMap<(Family, String), Nanos> = BTreeMap::new();
        let key = |point: &Point| (point.family(), point.variant().as_str().to_owned());
        for record in &data.records {
            let Some(time) = record.fit_time() else { continue };
            let least = fastest.entry(key(&record.point)).or_insert(time);
            *least = time.min(*least);
        }
        for point in points_of(&data) {
            let ask = Ask { extrapolate: true, ..Ask::default() };
            let Ok(explanation) = predictor.explain(&point, ask) else { continue };
            let answer = explanation.prediction;
            assert!(answer.low <= answer.time && answer.time <= answer.high, "{point}: {answer:?}");
            if answer.basis == Basis::Measured || shipped.name == "host-x86-64" {
                continue;
            }
            let floor = explanation.steps[0].shift.size().min(fastest[&key(&point)]);
            // The first step of a collective is the latency of one protocol of several.
            let floor =
                if point.family() == Family::Collective { floor.min(answer.low) } else { floor };
            assert!(answer.low >= floor.min(answer.time), "{}: {point}: {answer:?}", shipped.name);
        }
    }
}

#[test]
fn a_published_measurement_is_answered_as_published() {
    let h200 = Predictor::shipped("h200").unwrap();
    let shape = GemmPoint {
        dtype: Dtype::Bf16,
        batch: 1,
        m: 4096,
        n: 4096,
        k: 4096,
        layout: GemmLayout::Unstated,
    };
    let points = [Point::Gemm(shape), Point::Gemm(GemmPoint { k: 4100, ..shape })];
    let answers = h200.predict_many(&points);
    let [measured, other] = &answers[..] else { panic!("{answers:?}") };
    let measured = measured.as_ref().unwrap();
    assert_eq!((measured.time, measured.basis), (Nanos::new(168_069), Basis::Measured));
    assert!(other.as_ref().unwrap().time > measured.time);
}
