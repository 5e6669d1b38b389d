//! The curve that `Detail::STANDARD` is the knee of: error against trees, time and room.
//!
//! `cargo bench --bench detail` prints it for the bf16 products of the shipped h200-sxm, held out
//! on the band [0.4, 0.6), on which the level was chosen. `KERNELGAUGE_DETAIL_FOLDER` names
//! another data set, `KERNELGAUGE_DETAIL_LEVELS` other levels (`60x31,standard`),
//! `KERNELGAUGE_DETAIL_BAND` another band (`0.2,0.4`).

#![allow(clippy::print_stdout, reason = "a table is what this is for")]
#![allow(clippy::unwrap_used, missing_docs, reason = "a bench may fail where it stands")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use kernelgauge_data::{CacheState, DataSet, Dtype, Family, GemmLayout, GemmPoint, Point};
use kernelgauge_model::{
    BasisChoice, Detail, EvaluateOptions, FitOptions, Model, Query, Split, evaluate,
};

/// Levels from a seventh of the standard to the full one.
const LEVELS: &str = "60x31,120x31,120x63,120x127,175x127,350x127,350x255,700x255";

/// Products that no table has, asked one after the other.
const ASKED: u64 = 2_000;

fn variable(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

/// The bf16 products of the data set.
fn products() -> DataSet {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/machines/h200-sxm");
    let folder = std::env::var_os("KERNELGAUGE_DETAIL_FOLDER").map_or(shipped, PathBuf::from);
    let mut data = DataSet::read(&folder).unwrap();
    data.records.retain(|record| {
        record.point.family() == Family::Gemm && record.point.variant().as_str() == "bf16"
    });
    data
}

/// Microseconds per answer at sites that were never measured.
fn time_per_answer(model: &Model) -> f64 {
    let points: Vec<Point> = (0..ASKED)
        .map(|index| {
            let (m, n, k) = (
                1 + index * 7919 % 4096,
                257 + index * 104_729 % 8000,
                263 + index * 611_953 % 8000,
            );
            let (dtype, layout) = (Dtype::Bf16, GemmLayout::Unstated);
            Point::Gemm(GemmPoint { dtype, batch: 1, m, n, k, layout })
        })
        .collect();
    let ask = || {
        for point in &points {
            let (cache, basis) = (CacheState::Unstated, BasisChoice::Best);
            black_box(model.predict(&Query { point, cache, basis, extrapolate: true }).unwrap());
        }
    };
    ask();
    let best = (0..5)
        .map(|_| {
            let began = Instant::now();
            ask();
            began.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    best * 1e6 / ASKED as f64
}

fn main() {
    let data = products();
    let band = variable("KERNELGAUGE_DETAIL_BAND", "0.4,0.6");
    let (low, high) = band.split_once(',').unwrap();
    let band = (low.parse().unwrap(), high.parse().unwrap());
    println!(
        "| level | point MAPE / median % | line MAPE / median % | frontier MAPE / median % | us per unseen answer | model kB | fit s |"
    );
    println!("|---|---|---|---|---:|---:|---:|");
    for level in variable("KERNELGAUGE_DETAIL_LEVELS", LEVELS).split(',') {
        let detail: Detail = level.parse().unwrap();
        let splits = vec![Split::Point, Split::Line, Split::Frontier];
        let options =
            EvaluateOptions { bands: vec![band], splits, detail, ..EvaluateOptions::default() };
        let evaluation = evaluate(&data, &options);
        let errors: Vec<String> = evaluation
            .rows
            .iter()
            .map(|row| format!("{:.2} / {:.2}", row.model.mape * 100.0, row.model.median * 100.0))
            .collect();
        let began = Instant::now();
        let model = Model::fit(&data, &FitOptions { detail, ..FitOptions::default() }).unwrap();
        let took = began.elapsed().as_secs_f64();
        let bytes = model.to_text().len();
        let us = time_per_answer(&model);
        println!("| {level} | {} | {us:.2} | {} | {took:.1} |", errors.join(" | "), bytes / 1000);
    }
}
