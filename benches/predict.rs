//! Time of one answer and of a batch, on the shipped h200-sxm model.
//!
//! `cargo bench --bench predict`; `benches/peers.sh` runs it beside aiconfigurator.

#![allow(clippy::unwrap_used, missing_docs, reason = "a bench may fail where it stands")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;
use std::{fs, io};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kernelgauge_data::{Dtype, GemmLayout, GemmPoint, Point};
use kernelgauge_predict::{BuildInfo, Predictor};

const MACHINE: &str = "h200-sxm";

/// Rows of the batch: several blocks of input.
const ROWS: u64 = 500_000;

fn gemm(m: u64, n: u64, k: u64) -> Point {
    Point::Gemm(GemmPoint { dtype: Dtype::Bf16, batch: 1, m, n, k, layout: GemmLayout::Unstated })
}

/// A measured point, a point between measured ones, and a site that was never measured.
fn one(criterion: &mut Criterion) {
    let predictor = Predictor::shipped(MACHINE).unwrap();
    let mut group = criterion.benchmark_group("one gemm prediction");
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    for (name, point) in [
        ("measured point", gemm(4096, 4096, 4096)),
        ("measured line", gemm(3000, 4096, 4096)),
        ("unseen line", gemm(3000, 5000, 7000)),
    ] {
        predictor.predict(&point).unwrap();
        group.bench_function(name, |bencher| {
            bencher.iter(|| predictor.predict(black_box(&point)).unwrap());
        });
    }
    group.finish();
}

/// `predict batch` from file to nowhere: reading, parsing, answering, formatting.
fn batch(criterion: &mut Criterion) {
    let path = std::env::temp_dir().join(format!("kernelgauge-bench-{}.csv", std::process::id()));
    let mut rows = String::from("dtype,m,n,k\n");
    for row in 0..ROWS {
        // Two primes walk m over the domain and n, k over many sites, few of them measured.
        let (m, site) = (1 + row * 7919 % 16_384, row * 104_729);
        let (n, k) = (256 + 64 * (site % 128), 256 + 64 * (site / 128 % 128));
        writeln!(rows, "bf16,{m},{n},{k}").unwrap();
    }
    fs::write(&path, rows).unwrap();
    let mut group = criterion.benchmark_group("batch of gemm rows");
    group.throughput(Throughput::Elements(ROWS)).sample_size(10);
    group.bench_function("csv", |bencher| {
        bencher.iter(|| {
            let arguments = ["predict", "batch", path.to_str().unwrap(), "--machine", MACHINE];
            let arguments = arguments.into_iter().map(Into::into);
            let build = BuildInfo::plain();
            let (mut out, mut err) = (io::sink(), io::stderr());
            let status = kernelgauge_predict::run(arguments, &mut out, &mut err, &build);
            assert_eq!(status.code(), 0);
        });
    });
    group.finish();
    fs::remove_file(&path).unwrap();
}

criterion_group!(benches, one, batch);
criterion_main!(benches);
