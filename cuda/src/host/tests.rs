//! The host device through the trait, as a sweep uses it.

use std::fs;

use kernelgauge_data::{
    Collective, CollectivePoint, CopyDirection, CopyPoint, Distribution, EmbeddingPoint,
    GemmLayout, GemmPoint, MemoryOp, MemoryPoint, Nanos, Optimizer,
};

use super::*;

/// A device whose cold operands rotate through little memory, so that tests fill little.
fn device(threads: usize) -> HostDevice {
    let mut device = HostDevice::with_threads(threads).unwrap();
    device.cold_bytes = 1 << 20;
    device
}

fn gemm(dtype: Dtype, size: u64) -> Point {
    Point::Gemm(GemmPoint {
        dtype,
        batch: 1,
        m: size,
        n: size,
        k: size,
        layout: GemmLayout::Unstated,
    })
}

fn copy(direction: CopyDirection, pinned: bool, bytes: u64) -> Point {
    Point::Copy(CopyPoint { direction, pinned, bytes })
}

fn bag(direction: Direction, rows: u64) -> Point {
    Point::Embedding(EmbeddingPoint {
        direction,
        optimizer: Optimizer::RowWiseAdagrad,
        dtype: Dtype::F64,
        tables: 2,
        rows,
        dim: 12,
        batch: 30,
        pooling: 9,
        distribution: Distribution::Uniform,
    })
}

fn memory(op: MemoryOp, dtype: Dtype) -> Point {
    Point::Memory(MemoryPoint { op, dtype, rows: 31, columns: 51 })
}

fn every_family() -> Vec<(Point, CacheState)> {
    let softmax = MemoryPoint { op: MemoryOp::Softmax, dtype: Dtype::F32, rows: 30, columns: 50 };
    vec![
        (gemm(Dtype::F32, 33), CacheState::Hot),
        (gemm(Dtype::F64, 65), CacheState::Hot),
        (bag(Direction::Forward, 500), CacheState::Hot),
        (bag(Direction::Backward, 500), CacheState::Hot),
        (Point::Memory(softmax), CacheState::Hot),
        (Point::Memory(softmax), CacheState::Cold),
        (memory(MemoryOp::LayerNormBackward, Dtype::F32), CacheState::Hot),
        (memory(MemoryOp::LayerNormBackward, Dtype::F64), CacheState::Cold),
        (memory(MemoryOp::Cast, Dtype::F32), CacheState::Cold),
        (memory(MemoryOp::Cast, Dtype::F64), CacheState::Hot),
        (memory(MemoryOp::Triangle, Dtype::F32), CacheState::Cold),
        (memory(MemoryOp::Dropout, Dtype::F32), CacheState::Cold),
        (copy(CopyDirection::HostToHost, false, 1), CacheState::Hot),
        (copy(CopyDirection::HostToHost, false, 1_000_003), CacheState::Cold),
    ]
}

#[test]
fn every_family_verifies_and_takes_time() {
    for threads in [1, 2] {
        let mut device = device(threads);
        for (point, cache) in every_family() {
            assert_eq!(device.supports(&point, cache), Ok(()), "{point}");
            assert!(device.memory_needed(&point, cache) < device.free_memory(), "{point}");
            let mut workload = device.prepare(&point, cache, 11).unwrap();
            assert_eq!(workload.verify(), Ok(()), "{point} on {threads} threads");
            let timing = workload.time(100).unwrap();
            assert!(timing.elapsed > Nanos::new(0), "{point}");
            assert_eq!((timing.executions, timing.throttled), (100, false));
            assert_eq!(workload.verify(), Ok(()), "{point} after timing");
        }
    }
}

#[test]
fn what_the_processor_lacks_is_refused_with_a_reason() {
    let mut device = device(1);
    let ring = Point::Collective(CollectivePoint {
        collective: Collective::AllReduce,
        dtype: Dtype::F32,
        ranks: 2,
        nodes: 1,
        links: Links::Unstated,
        bytes: 1 << 20,
        imbalance: 100,
    });
    let odd = MemoryPoint { op: MemoryOp::Concat, dtype: Dtype::F32, rows: 2, columns: 3 };
    let (hot, cold) = (CacheState::Hot, CacheState::Cold);
    for (point, cache, word) in [
        (gemm(Dtype::Bf16, 8), hot, "bf16"),
        (gemm(Dtype::F32, 8), cold, "cold"),
        (gemm(Dtype::F32, 8), CacheState::Unstated, "hot or cold"),
        (gemm(Dtype::F32, 0), hot, "`m` is 0"),
        (copy(CopyDirection::HostToDevice, false, 8), hot, "h2d"),
        (copy(CopyDirection::HostToHost, true, 8), hot, "pinned"),
        (ring, hot, "collective"),
        (Point::Memory(odd), hot, "halve"),
        (bag(Direction::Forward, 1 << 33), hot, "2^32"),
    ] {
        let Err(SkipReason::Unsupported(what)) = device.supports(&point, cache) else {
            panic!("{point} is supported")
        };
        assert!(what.contains(word), "{point}: {what}");
        assert!(device.prepare(&point, cache, 0).is_err(), "{point}");
    }
}

#[test]
fn huge_points_are_refused_before_any_allocation() {
    let mut device = device(1);
    let large = 1 << 20;
    let add = MemoryPoint { op: MemoryOp::Add, dtype: Dtype::F64, rows: large, columns: large };
    for point in [
        gemm(Dtype::F64, 1 << 24),
        Point::Memory(add),
        copy(CopyDirection::HostToHost, false, 1 << 60),
        bag(Direction::Backward, 1 << 31),
    ] {
        let needs = device.memory_needed(&point, CacheState::Hot);
        assert!(needs > device.free_memory(), "{point} needs {needs}");
        let Err(Failure::Device(what)) = device.prepare(&point, CacheState::Hot, 0).map(drop)
        else {
            panic!("{point} was prepared")
        };
        assert!(what.contains("free"), "{what}");
        assert_eq!(device.arena.bytes(), Bytes::new(0), "{point}");
    }
}

#[test]
fn memory_needed_covers_what_preparing_takes() {
    for (point, cache) in every_family() {
        let mut device = device(1);
        let needs = device.memory_needed(&point, cache).get();
        device.prepare(&point, cache, 0).map(drop).unwrap();
        let taken = device.arena.bytes().get();
        assert!(taken <= needs + 128, "{point}: {needs} stated, {taken} taken");
        assert!(2 * taken >= needs, "{point}: {needs} stated, only {taken} taken");
    }
}

#[test]
fn the_machine_is_named_after_its_architecture_and_nothing_private() {
    let device = device(2);
    let machine = device.machine();
    assert!(machine.name.starts_with("host-") && !machine.name.contains('_'), "{}", machine.name);
    assert_eq!(machine.hardware.units, Some(2));
    assert!(machine.hardware.peak_tflop_s.is_empty());
    assert_eq!(device.lock_keys(), [machine.name]);
    let environment = device.environment();
    assert_eq!(environment.get("threads"), Some("2"));
    let hostname = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    for (fact, value) in environment.facts() {
        assert!(fact.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'));
        assert!(hostname.trim().is_empty() || value != hostname.trim(), "{fact} is the host name");
    }
}

#[test]
fn no_threads_and_more_than_there_are_get_a_hint() {
    use kernelgauge_data::{Diagnostic, ExitStatus};
    for threads in [0, 1_000_000] {
        let error = HostDevice::new(Some(threads)).unwrap_err();
        assert!(error.to_string().contains(&threads.to_string()), "{error}");
        assert!(error.hint().is_some());
        assert_eq!(error.exit_status(), ExitStatus::Input);
    }
    assert!(HostDevice::new(Some(1)).is_ok());
}

#[test]
fn the_recorded_gemm_version_is_the_one_built() {
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock")).unwrap();
    let entry = format!("name = \"gemm\"\nversion = \"{GEMM_VERSION}\"");
    assert!(lock.contains(&entry), "GEMM_VERSION is not what Cargo.lock has");
}
