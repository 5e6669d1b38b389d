//! Overheads for people, 100 columns wide.

use std::io::{self, Write};

use kernelgauge_trace::Graph;
use kernelgauge_trace::overheads::{Distribution, Overheads};

use crate::terminal::plain;

pub fn write(graph: &Graph, found: &Overheads, top: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "T1 between ops         {:>10} (sd {}, {} gaps, {} set aside)",
        mean(&found.between_ops),
        found.between_ops.deviation,
        found.between_ops.count,
        found.between_ops.set_aside,
    )?;
    for (name, times) in &found.calls {
        writeln!(
            out,
            "T4 {:<20} {:>9} (median {}, {} calls)",
            plain(name, 20),
            mean(times),
            times.median,
            times.count
        )?;
    }
    for rank in &graph.ranks {
        let time = |time: Option<kernelgauge_data::Nanos>| {
            time.map_or("not seen".to_owned(), |time| time.to_string())
        };
        writeln!(
            out,
            "rank {:<4} launch to start on an idle stream {} · between kernels of a busy one {}",
            rank.number,
            time(rank.launching.latency),
            time(rank.launching.gap),
        )?;
    }
    writeln!(
        out,
        "\n{:<46} {:>7} {:>8} {:>11} {:>11} {:>11}",
        "op", "calls", "launches", "T2 before", "T3 after", "T5 between"
    )?;
    for op in found.ops.iter().take(top) {
        let name = match op.shapes.as_str() {
            "" => op.name.clone(),
            shapes => format!("{} {shapes}", op.name),
        };
        writeln!(
            out,
            "{:<46} {:>7} {:>8} {:>11} {:>11} {:>11}",
            plain(&name, 46),
            op.calls,
            op.launches,
            mean(&op.before),
            mean(&op.after),
            mean(&op.between),
        )?;
    }
    match found.ops.len().checked_sub(top) {
        Some(more) if more > 0 => writeln!(out, "and {more} more ops (--top, --format csv)"),
        _ => Ok(()),
    }
}

fn mean(times: &Distribution) -> String {
    if times.count == 0 { "-".to_owned() } else { times.mean.to_string() }
}
