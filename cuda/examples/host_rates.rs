//! Prints what rate the host device reaches at a few points: `cargo run --release -p
//! kernelgauge-cuda --example host_rates [threads [words of the point]]`.
//!
//! Each point is verified first, then timed for a quarter of a second; the best of the samples
//! is shown, as this asks what the kernels can do, not what they usually do.

use std::error::Error;
use std::io::Write;
use std::time::Instant;

use kernelgauge_cuda::host::HostDevice;
use kernelgauge_cuda::{Device, Workload};
use kernelgauge_data::units::four_digits;
use kernelgauge_data::{
    Bytes, CacheState, CopyDirection, CopyPoint, Direction, Distribution, Dtype, EmbeddingPoint,
    GemmLayout, GemmPoint, MemoryOp, MemoryPoint, Nanos, Optimizer, Point,
};

/// Nanoseconds each point is timed for.
const PATIENCE: u64 = 250_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let threads = std::env::args().nth(1).map(|text| text.parse()).transpose()?;
    let mut device = HostDevice::new(threads)?;
    let mut out = std::io::stdout().lock();
    for (name, value) in device.environment().facts() {
        writeln!(out, "{name:<24} {value}")?;
    }
    let timer = device.timer();
    writeln!(out, "timer                    {} apart, {} a pair", timer.resolution, timer.cost)?;
    let words = std::env::args().nth(2).unwrap_or_default();
    for (point, cache) in points() {
        if !point.to_string().contains(&words) {
            continue;
        }
        let begin = Instant::now();
        let named = |failure| format!("{point}: {failure}");
        let mut workload = device.prepare(&point, cache, 1).map_err(named)?;
        let made = Nanos::saturating(begin.elapsed().as_nanos() as f64);
        workload.verify().map_err(named)?;
        let best = best(workload.as_mut()).map_err(named)?;
        let (gb_s, gflop_s) = rates(&point, best);
        let best = Nanos::saturating(best);
        writeln!(out, "{point} {}", cache.name())?;
        writeln!(out, "  {best:<9} {gb_s:>6} GB/s {gflop_s:>6} GFLOP/s   operands made in {made}")?;
    }
    Ok(())
}

/// Least nanoseconds of one execution.
fn best(workload: &mut dyn Workload) -> Result<f64, kernelgauge_data::Failure> {
    let first = workload.time(1)?.elapsed.get().max(1);
    let executions = (2_000_000 / first).clamp(1, 100_000) as u32;
    let (mut best, mut spent) = (f64::INFINITY, 0);
    while spent < PATIENCE {
        let elapsed = workload.time(executions)?.elapsed;
        spent += elapsed.get().max(1);
        best = best.min(elapsed.as_f64() / f64::from(executions));
    }
    Ok(best)
}

fn rates(point: &Point, nanos: f64) -> (String, String) {
    let work = point.work();
    let bytes = Bytes::new(work.bytes() as u64).get() as f64;
    (four_digits(bytes / nanos), four_digits(work.flops / nanos))
}

fn points() -> Vec<(Point, CacheState)> {
    let mut points = Vec::new();
    for dtype in [Dtype::F32, Dtype::F64] {
        for size in [64, 256, 1024, 2048] {
            let gemm = GemmPoint {
                dtype,
                batch: 1,
                m: size,
                n: size,
                k: size,
                layout: GemmLayout::Unstated,
            };
            points.push((Point::Gemm(gemm), CacheState::Hot));
        }
    }
    let batched = GemmPoint {
        dtype: Dtype::F32,
        batch: 64,
        m: 64,
        n: 64,
        k: 64,
        layout: GemmLayout::Unstated,
    };
    points.push((Point::Gemm(batched), CacheState::Hot));
    for (bytes, cache) in [
        (16 << 10, CacheState::Hot),
        (1 << 20, CacheState::Hot),
        (1 << 20, CacheState::Cold),
        (256 << 20, CacheState::Hot),
        (256 << 20, CacheState::Cold),
    ] {
        let direction = CopyDirection::HostToHost;
        points.push((Point::Copy(CopyPoint { direction, pinned: false, bytes }), cache));
    }
    for op in MemoryOp::ALL {
        for (rows, columns, cache) in [
            (64, 256, CacheState::Hot),
            (1024, 1024, CacheState::Hot),
            (1024, 1024, CacheState::Cold),
            (8192, 8192, CacheState::Hot),
        ] {
            let memory = MemoryPoint { op, dtype: Dtype::F32, rows, columns };
            points.push((Point::Memory(memory), cache));
        }
    }
    points.extend(embedding_points().map(|point| (Point::Embedding(point), CacheState::Hot)));
    points
}

fn embedding_points() -> impl Iterator<Item = EmbeddingPoint> {
    use Direction::{Backward, Forward};
    [(Forward, Optimizer::Sgd), (Backward, Optimizer::Sgd), (Backward, Optimizer::RowWiseAdagrad)]
        .into_iter()
        .flat_map(|(direction, optimizer)| {
            [(100_000, 64), (1_000_000, 16), (1_000_000, 64), (1_000_000, 128)]
                .into_iter()
                .flat_map(move |(rows, dim)| {
                    [Distribution::Uniform, Distribution::Zipf { exponent_milli: 1050 }].map(
                        |distribution| EmbeddingPoint {
                            direction,
                            optimizer,
                            dtype: Dtype::F32,
                            tables: 4,
                            rows,
                            dim,
                            batch: 512,
                            pooling: 32,
                            distribution,
                        },
                    )
                })
        })
}
