//! Reads a Kineto trace, plain or gzipped, and prints how fast: the example behind the table of
//! `benches/traces.sh`.

use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::time::Instant;

use flate2::read::MultiGzDecoder;
use kernelgauge_trace::{ReadOptions, kineto};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: read FILE")?;
    let file = File::open(&path)?;
    let start = Instant::now();
    let mut counted = Counted { reader: file, bytes: 0 };
    let recording = if path.ends_with(".gz") {
        let mut counted = Counted { reader: MultiGzDecoder::new(counted.reader), bytes: 0 };
        let recording = kineto::read(&path, &mut counted, &ReadOptions::default())?;
        return report(&recording, counted.bytes, start);
    } else {
        kineto::read(&path, &mut counted, &ReadOptions::default())?
    };
    report(&recording, counted.bytes, start)
}

fn report(
    recording: &kernelgauge_trace::Recording,
    bytes: u64,
    start: Instant,
) -> Result<(), Box<dyn Error>> {
    let wall = start.elapsed().as_secs_f64();
    // Nanoseconds on a processor: what others on the machine do is not in it.
    let on_processor = std::fs::read_to_string("/proc/self/schedstat").ok();
    let seconds = on_processor
        .and_then(|text| text.split(' ').next()?.parse::<f64>().ok())
        .map_or(wall, |nanos| nanos / 1e9);
    let megabytes = bytes as f64 / 1e6;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("?").trim();
    #[allow(clippy::print_stdout)]
    {
        println!(
            "{megabytes:.1} MB, {} events, {wall:.3} s, {seconds:.3} s on a processor, {:.0} MB/s of that, peak {peak}",
            recording.events.len(),
            megabytes / seconds
        );
        let mut counts = std::collections::BTreeMap::new();
        for event in &recording.events {
            *counts.entry(event.category).or_insert(0u64) += 1;
        }
        println!("{counts:?} {} arrows {:?}", recording.flows.len(), recording.oddities);
    }
    Ok(())
}

struct Counted<R> {
    reader: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.bytes += count as u64;
        Ok(count)
    }
}
