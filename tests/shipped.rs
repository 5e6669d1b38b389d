//! The models inside the binary are those of the shipped data, and small.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::fs;
use std::path::{Path, PathBuf};

use kernelgauge_data::{DataSet, Dtype, GemmPoint, Nanos, Origin, Point};
use kernelgauge_model::{Basis, Model};
use kernelgauge_predict::Predictor;
use kernelgauge_predict::shipped::MODELS;

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

#[test]
fn a_published_measurement_is_answered_as_published() {
    let h200 = Predictor::shipped("h200").unwrap();
    let shape = GemmPoint { dtype: Dtype::Bf16, batch: 1, m: 4096, n: 4096, k: 4096 };
    let points = [Point::Gemm(shape), Point::Gemm(GemmPoint { k: 4100, ..shape })];
    let answers = h200.predict_many(&points);
    let [measured, other] = &answers[..] else { panic!("{answers:?}") };
    let measured = measured.as_ref().unwrap();
    assert_eq!((measured.time, measured.basis), (Nanos::new(168_069), Basis::Measured));
    assert!(other.as_ref().unwrap().time > measured.time);
}
