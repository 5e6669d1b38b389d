//! Time of a fit: a slice of the shipped h200-sxm GEMM table, and a whole data set of choice.
//!
//! `cargo bench --bench fit`. With `KERNELGAUGE_FIT_FOLDER=<data set folder>` that folder is
//! fitted too, once per sample, which is how the time for a table of 100 000 rows is taken.

#![allow(clippy::unwrap_used, missing_docs, reason = "a bench may fail where it stands")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use kernelgauge_data::{DataSet, Family};
use kernelgauge_model::{FitOptions, Model};

/// Rows of the slice.
const SLICE: usize = 2_000;

fn slice(criterion: &mut Criterion) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/machines/h200-sxm");
    let mut data = DataSet::read(&folder).unwrap();
    data.records.retain(|record| {
        record.point.family() == Family::Gemm && record.point.variant().as_str() == "bf16"
    });
    let every = data.records.len().div_ceil(SLICE);
    let mut row = 0;
    data.records.retain(|_| {
        row += 1;
        row % every == 0
    });
    bench(criterion, &format!("{} gemm rows", data.records.len()), &data);
}

fn whole(criterion: &mut Criterion) {
    let Some(folder) = std::env::var_os("KERNELGAUGE_FIT_FOLDER").map(PathBuf::from) else {
        return;
    };
    let data = DataSet::read(&folder).unwrap();
    bench(criterion, &format!("{} rows of {}", data.records.len(), folder.display()), &data);
}

fn bench(criterion: &mut Criterion, name: &str, data: &DataSet) {
    let mut group = criterion.benchmark_group("fit");
    // A fit takes long and varies little: one for warming up, one for each sample.
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.warm_up_time(Duration::from_millis(1)).measurement_time(Duration::from_millis(1));
    group.bench_function(name, |bencher| {
        bencher.iter(|| Model::fit(data, &FitOptions::default()).unwrap());
    });
    group.finish();
}

criterion_group!(benches, slice, whole);
criterion_main!(benches);
