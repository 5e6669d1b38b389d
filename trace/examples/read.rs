//! Reads one Kineto trace, plain or packed with gzip, and prints how fast; with `--counts`, what
//! is in it as JSON. `benches/traces.sh` runs it beside other readers.
//!
//!     cargo run --release -p kernelgauge-trace --example read -- FILE [--counts]

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::Read;
use std::time::Instant;

use flate2::read::MultiGzDecoder;
use kernelgauge_trace::{ReadOptions, Recording, kineto};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (path, counts) = match arguments.as_slice() {
        [path] => (path, false),
        [path, flag] if flag == "--counts" => (path, true),
        _ => return Err("usage: read FILE [--counts]".into()),
    };
    let begin = Instant::now();
    let file = File::open(path)?;
    let mut bytes = 0;
    let recording = if path.ends_with(".gz") {
        let reader = Counted { of: MultiGzDecoder::new(file), bytes: &mut bytes };
        kineto::read(path, reader, &ReadOptions::default())
    } else {
        kineto::read(path, Counted { of: file, bytes: &mut bytes }, &ReadOptions::default())
    }?;
    let seconds = begin.elapsed().as_secs_f64();
    if counts {
        println!("{}", describe(&recording)?);
        return Ok(());
    }
    let on_core = seconds_on_core()?;
    let megabytes = bytes as f64 / 1e6;
    println!(
        "{megabytes:.1} MB of JSON, {seconds:.2} s, {on_core:.2} s of a core, {:.0} MB/s of a \
         core, peak {:.0} MB, {} events",
        megabytes / on_core,
        peak_bytes()? as f64 / 1e6,
        recording.events.len(),
    );
    Ok(())
}

/// Seconds that this process had a core to itself: what else runs on the machine is not in it.
fn seconds_on_core() -> Result<f64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/self/schedstat")?;
    Ok(text.split(' ').next().unwrap_or_default().parse::<f64>()? / 1e9)
}

/// The most memory that this process ever held.
fn peak_bytes() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}

/// What is in a recording, so that another reader can be held against it.
fn describe(recording: &Recording) -> Result<String, serde_json::Error> {
    let mut categories = BTreeMap::new();
    for event in &recording.events {
        let (count, nanos) =
            categories.entry(format!("{:?}", event.category)).or_insert((0u64, 0u64));
        *count += 1;
        *nanos += event.duration.get();
    }
    serde_json::to_string(&serde_json::json!({
        "categories": categories,
        "first": recording.events.iter().map(|event| event.start.get()).min(),
        "flows": recording.flows.len(),
        "tracks": recording.tracks.len(),
        "names": recording.names.len(),
        "ops": recording.ops.rows().len(),
        "device_facts": recording.device_facts.rows().len(),
        "syncs": recording.syncs.rows().len(),
        "collectives": recording.collectives.rows().len(),
        "devices": recording.devices.len(),
        "groups": recording.groups.len(),
        "rank": recording.rank.map(|stated| stated.rank),
        "world_size": recording.world_size,
        "oddities": format!("{:?}", recording.oddities),
    }))
}

/// Counts what is read.
struct Counted<'bytes, R> {
    of: R,
    bytes: &'bytes mut u64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.of.read(buffer)?;
        *self.bytes += read as u64;
        Ok(read)
    }
}
