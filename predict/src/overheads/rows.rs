//! Overheads as CSV and JSON; times in microseconds.

use std::io::{self, Write};

use kernelgauge_data::Nanos;
use kernelgauge_trace::Graph;
use kernelgauge_trace::overheads::{Distribution, Overheads};
use serde_json::{Value, json};

use crate::render::SCHEMA_VERSION;

pub fn write_csv(found: &Overheads, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record([
        "overhead",
        "name",
        "shapes",
        "count",
        "set_aside",
        "mean_us",
        "deviation_us",
        "lower_quartile_us",
        "median_us",
        "upper_quartile_us",
    ])?;
    let mut row = |overhead: &str, name: &str, shapes: &str, times: &Distribution| {
        let time =
            |time: Nanos| if times.count == 0 { String::new() } else { time.us().to_string() };
        writer.write_record([
            overhead.to_owned(),
            name.to_owned(),
            shapes.to_owned(),
            times.count.to_string(),
            times.set_aside.to_string(),
            time(times.mean),
            time(times.deviation),
            time(times.lower_quartile),
            time(times.median),
            time(times.upper_quartile),
        ])
    };
    row("T1", "", "", &found.between_ops)?;
    for (name, times) in &found.calls {
        row("T4", name, "", times)?;
    }
    for op in &found.ops {
        for (overhead, times) in [("T2", &op.before), ("T3", &op.after), ("T5", &op.between)] {
            if times.count > 0 {
                row(overhead, &op.name, &op.shapes, times)?;
            }
        }
    }
    writer.flush()
}

pub fn write_json(graph: &Graph, found: &Overheads, out: &mut dyn Write) -> io::Result<()> {
    let ops: Vec<Value> = found
        .ops
        .iter()
        .map(|op| {
            json!({
                "op": op.name,
                "shapes": op.shapes,
                "calls": op.calls,
                "launches": op.launches,
                "t2": times(&op.before),
                "t3": times(&op.after),
                "t5": times(&op.between),
            })
        })
        .collect();
    let calls: Vec<Value> =
        found.calls.iter().map(|(name, t4)| json!({ "function": name, "t4": times(t4) })).collect();
    let ranks: Vec<Value> = graph
        .ranks
        .iter()
        .map(|rank| {
            json!({
                "rank": rank.number,
                "launch_latency_us": rank.launching.latency.map(|time| time.us()),
                "stream_gap_us": rank.launching.gap.map(|time| time.us()),
            })
        })
        .collect();
    let document = json!({
        "schema_version": SCHEMA_VERSION,
        "t1": times(&found.between_ops),
        "runtime_calls": calls,
        "ranks": ranks,
        "ops": ops,
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

/// A distribution; none without samples.
fn times(times: &Distribution) -> Value {
    if times.count == 0 {
        return Value::Null;
    }
    json!({
        "count": times.count,
        "set_aside": times.set_aside,
        "mean_us": times.mean.us(),
        "deviation_us": times.deviation.us(),
        "lower_quartile_us": times.lower_quartile.us(),
        "median_us": times.median.us(),
        "upper_quartile_us": times.upper_quartile.us(),
    })
}
