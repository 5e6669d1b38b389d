//! Collectives asked of a machine that was measured at few sizes, ranks and dtypes.

use std::fs;
use std::path::PathBuf;

use kernelgauge_data::{
    Collective, CollectivePoint, DataSet, Dtype, Measurement, Nanos, Outcome, Point, Record,
};
use kernelgauge_model::{FitOptions, Model};

use crate::command::predict;
use crate::made_up_machine::{data_set, folder};

/// All-to-all at 2 and 8 ranks, in f16 at every fourth size and in int8 between these.
fn exchanges(test: &str) -> PathBuf {
    let whole = data_set();
    let template = whole.records[0].clone();
    let mut records = Vec::new();
    for ranks in [2_u64, 8] {
        for octave in 10..27 {
            let dtype = match octave % 4 {
                0 => Dtype::F16,
                2 => Dtype::Int8,
                _ => continue,
            };
            let bytes = 1_u64 << octave;
            // A slower protocol in the middle, which f16 alone does not show.
            let slower = if (1 << 17..1 << 20).contains(&bytes) { 1.3 } else { 1.0 };
            let us = slower * (4.0 + ranks as f64) + bytes as f64 / 1e5;
            records.push(Record {
                point: Point::Collective(CollectivePoint {
                    collective: Collective::AllToAll,
                    dtype,
                    ranks,
                    nodes: 1,
                    links: whole.manifest.machine.links,
                    bytes,
                    imbalance: 100,
                }),
                outcome: Outcome::Measured(Measurement::stated(Nanos::saturating(us * 1e3))),
                ..template.clone()
            });
        }
    }
    let data = DataSet { records, ..whole };
    let path = folder(test).join("model.json");
    let model = Model::fit(&data, &FitOptions::default()).unwrap();
    fs::write(&path, model.to_text()).unwrap();
    path
}

fn answer(model: &str, line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    words.extend(["--machine", model, "--explain"]);
    let said = predict(&words);
    assert_eq!(said.code, 0, "{}", said.stderr);
    said.stdout.replace("\n          ", " ")
}

fn has(text: &str, part: &str) {
    assert!(text.contains(part), "`{part}` is not in:\n{text}");
}

#[test]
fn sizes_ranks_and_imbalances_between_those_measured_are_answered_and_explained() {
    let model = exchanges("collectives-between").display().to_string();
    let borrowed = answer(&model, "all-to-all --bytes 256K --ranks 8 --dtype f16");
    assert!(borrowed.starts_with("18.2"), "{borrowed}");
    has(&borrowed, "point of 256 KiB (borrowed)");
    let between = answer(&model, "all-to-all --bytes 64K --ranks 4 --dtype f16");
    has(&between, "interpolated");
    has(&between, "curves of 2 and 8 ranks, their knees shifted");
    let beyond = answer(&model, "all-to-all --bytes 1G --ranks 8 --dtype f16 --extrapolate");
    has(&beyond, "saturating beyond 64 MiB");
    let uneven = answer(&model, "all-to-all-v --bytes 512K --imbalance 200 --ranks 8 --dtype f16");
    has(&uneven, "interpolated");
    has(&uneven, "bytes=1048576: what the rank that sends most sends");
    let even = answer(&model, "all-to-all-v --bytes 1M --ranks 8 --dtype f16");
    has(&even, "basis     interpolated");
    let time = |text: &str| text.split(" µs").next().unwrap_or_default().to_owned();
    assert_eq!(time(&uneven), time(&even));
}
