//! Runs every collective once with its result compared, on two ranks that share one GPU, and gives
//! up a rank that never comes. What a machine with a single GPU can show of NCCL.
//!
//! `NCCL_MULTI_RANK_GPU_ENABLE=1 cargo run -p kernelgauge-cuda --example nccl_checks` needs NCCL
//! 2.30 or newer; an older one gets a sentence. The times it prints are those of two ranks that
//! wait for each other on one GPU and say nothing about any link.
//!
//! `nccl_checks RANK RANKS FILE` is one of several processes, each with the GPU of its rank's
//! number; they find each other by the id that rank 0 writes to FILE, which is removed at the end.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use kernelgauge_cuda::nccl::{Library, UniqueId, Version};
use kernelgauge_cuda::nvidia::CudaDevice;
use kernelgauge_cuda::{Device, World};
use kernelgauge_data::{
    CacheState, Collective, CollectivePoint, Dtype, EVEN, Failure, Links, Point,
};

/// The first version that lets two ranks share a GPU (NCCL's documentation, environment
/// variables, `NCCL_MULTI_RANK_GPU_ENABLE`).
const SHARED_GPU: Version = Version::new(2, 30, 0);
const SHARE: &str = "NCCL_MULTI_RANK_GPU_ENABLE";
/// Sizes of the checks: one that is launch alone, one of every protocol's middle.
const BYTES: [u64; 2] = [1 << 12, 1 << 20];
/// Executions behind a time.
const EXECUTIONS: u32 = 20;
/// How long rank 0's id is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.as_slice() {
        [] => on_one_gpu(),
        [rank, ranks, file] => match (rank.parse(), ranks.parse()) {
            (Ok(rank), Ok(ranks)) => among_processes(rank, ranks, Path::new(file)),
            _ => Err("usage: nccl_checks [RANK RANKS FILE]".to_owned()),
        },
        _ => Err("usage: nccl_checks [RANK RANKS FILE]".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("error: {what}");
            ExitCode::FAILURE
        }
    }
}

fn on_one_gpu() -> Result<(), String> {
    let library = match Library::load() {
        Ok(library) => library,
        Err(error) => return skipped(&error.to_string()),
    };
    if library.version() < SHARED_GPU {
        let version = library.version();
        return skipped(&format!(
            "NCCL {version} lets no two ranks share a GPU, {SHARED_GPU} does"
        ));
    }
    if std::env::var(SHARE).ok().as_deref() != Some("1") {
        return skipped(&format!("{SHARE}=1 lets two ranks share a GPU, and it is not set"));
    }
    let mut device = CudaDevice::open(Some(&[0, 0])).map_err(|error| error.to_string())?;
    println!("NCCL {}, two ranks on GPU 0", library.version());
    let checked = check(&mut device, 2, 1);
    let began = Instant::now();
    let id = device.unique_id().map_err(words)?;
    let alone = World { id, ranks: 2, first_rank: 0, local_ranks: 1, nodes: 1 };
    match device.join(&alone) {
        Err(Failure::TimedOut(what)) => {
            println!("given up after {:.1} s: {what}", began.elapsed().as_secs_f64());
        }
        Err(other) => return Err(format!("a rank that never comes: {other}")),
        Ok(()) => return Err("a communicator formed without one of its ranks".to_owned()),
    }
    checked
}

fn skipped(why: &str) -> Result<(), String> {
    println!("skipped: {why}");
    Ok(())
}

fn among_processes(rank: u32, ranks: u32, file: &Path) -> Result<(), String> {
    let mut device = CudaDevice::open(Some(&[rank])).map_err(|error| error.to_string())?;
    let id = if rank == 0 {
        let bytes = device.unique_id().map_err(words)?;
        let id = bytes.as_slice().try_into().map(UniqueId::from_bytes);
        let text = id.map_err(|_| "an id of another length".to_owned())?.to_hex();
        let part = file.with_extension("part");
        fs::write(&part, text).and_then(|()| fs::rename(part, file)).map_err(|e| e.to_string())?;
        bytes
    } else {
        read_id(file)?
    };
    let world = World { id, ranks, first_rank: rank, local_ranks: 1, nodes: 1 };
    device.join(&world).map_err(words)?;
    let checked = check(&mut device, u64::from(ranks), 1);
    if rank == 0 {
        let _ = fs::remove_file(file);
    }
    checked
}

fn read_id(file: &Path) -> Result<Vec<u8>, String> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Ok(text) = fs::read_to_string(file) {
            let id: UniqueId = text.parse().map_err(|_| "the file holds no id".to_owned())?;
            return Ok(id.as_bytes().to_vec());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err("rank 0 wrote no id".to_owned())
}

/// Every collective in every size: a row each; the last failure, if any.
fn check(device: &mut CudaDevice, ranks: u64, nodes: u64) -> Result<(), String> {
    let mut failed = None;
    println!("{:<16} {:>10} {:>12}", "collective", "bytes", "time");
    for (index, collective) in Collective::ALL.into_iter().enumerate() {
        for bytes in BYTES {
            let unit = ranks * Dtype::F16.size();
            let point = Point::Collective(CollectivePoint {
                collective,
                dtype: Dtype::F16,
                ranks,
                nodes,
                links: Links::Unstated,
                bytes: bytes / unit * unit,
                imbalance: if collective == Collective::AllToAllV { 150 } else { EVEN },
            });
            let row = match one(device, &point, index as u64) {
                Ok(nanos) => format!("{:>9.1} µs", nanos / 1e3),
                Err(failure) => {
                    let row = format!("failed: {failure}");
                    failed = Some(format!("{point}: {failure}"));
                    row
                }
            };
            println!("{:<16} {bytes:>10} {row:>12}", collective.name());
        }
    }
    failed.map_or(Ok(()), Err)
}

fn one(device: &mut CudaDevice, point: &Point, seed: u64) -> Result<f64, Failure> {
    let mut workload = device.prepare(point, CacheState::Hot, seed)?;
    workload.verify()?;
    let timing = workload.time(EXECUTIONS)?;
    Ok(timing.elapsed.as_f64() / f64::from(timing.executions))
}

fn words(failure: Failure) -> String {
    failure.to_string()
}
