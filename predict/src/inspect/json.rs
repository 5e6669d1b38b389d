//! An inspection as one JSON document; times in microseconds.

use std::io::{self, Write};

use kernelgauge_data::Nanos;
use kernelgauge_trace::Graph;
use kernelgauge_trace::graph::Rank;
use kernelgauge_trace::inspect::{CollectiveLine, Inspection, OpLine, Skew, StepReport};
use serde_json::{Value, json};

use super::rows::kind_name;
use super::table::host_bound;
use crate::render::SCHEMA_VERSION;

pub fn write(graph: &Graph, inspection: &Inspection, out: &mut dyn Write) -> io::Result<()> {
    let ranks: Vec<Value> = inspection
        .ranks
        .iter()
        .map(|rank| {
            let this = &graph.ranks[rank.place];
            let steps: Vec<Value> = rank.steps.iter().map(|one| step(this, one)).collect();
            json!({
                "rank": this.number,
                "source": this.source,
                "device": this.device.as_ref().map(|device| &device.name),
                "world_size": this.world_size,
                "steps_marked": this.steps_marked,
                "launch_latency_us": optional(this.launching.latency),
                "stream_gap_us": optional(this.launching.gap),
                "steps": steps,
            })
        })
        .collect();
    let collectives: Vec<Value> = inspection.collectives.iter().map(collective).collect();
    let ops: Vec<Value> = inspection.ops.iter().map(op).collect();
    let advice: Vec<Value> = inspection
        .advice
        .iter()
        .map(|one| json!({ "code": one.code, "finding": one.finding, "hint": one.hint }))
        .collect();
    let document = json!({
        "schema_version": SCHEMA_VERSION,
        "ranks": ranks,
        "collectives": collectives,
        "skew": inspection.skew.as_ref().map(skew),
        "ops": ops,
        "coverage": coverage(graph),
        "advice": advice,
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

fn us(time: Nanos) -> Value {
    Value::from(time.us())
}

fn optional(time: Option<Nanos>) -> Value {
    time.map_or(Value::Null, us)
}

fn step(rank: &Rank, step: &StepReport) -> Value {
    let known = |time: Nanos| if step.split_known { us(time) } else { Value::Null };
    let streams: Vec<Value> = step
        .streams
        .iter()
        .map(|one| {
            json!({ "device": one.device, "stream": one.stream, "busy_us": us(one.busy),
                    "work": one.work })
        })
        .collect();
    json!({
        "step": rank.steps_marked.then_some(step.number),
        "span_us": us(step.timing.duration),
        "compute_us": us(step.compute),
        "copies_us": us(step.copies),
        "communication_us": us(step.communication),
        "exposed_communication_us": us(step.exposed_communication),
        "transfer_us": known(step.transfer),
        "waiting_us": known(step.waiting),
        "idle_us": {
            "total": us(step.idle.total()),
            "host": us(step.idle.host),
            "launch": us(step.idle.launch),
            "stream": us(step.idle.stream),
            "unexplained": us(step.idle.unexplained),
        },
        "device_work": step.device_work,
        "host_bound": host_bound(step.host_bound),
        "streams": streams,
    })
}

fn collective(line: &CollectiveLine) -> Value {
    json!({
        "collective": kind_name(line.kind),
        "dtype": line.dtype,
        "bytes_in": line.bytes_in,
        "bytes_out": line.bytes_out,
        "ranks": line.ranks,
        "group": line.group,
        "count": line.count,
        "partial": line.partial,
        "transfer_us": optional(line.transfer),
        "time_us": us(line.time),
        "waiting_us": optional(line.waiting),
        "arrivals_spread_us": optional(line.spread),
    })
}

fn skew(skew: &Skew) -> Value {
    let steps = skew.steps.map(|one| {
        json!({
            "step": one.number,
            "shortest": { "rank": one.shortest.0, "span_us": us(one.shortest.1) },
            "longest": { "rank": one.longest.0, "span_us": us(one.longest.1) },
        })
    });
    let last = skew
        .last
        .map(|(rank, count, all)| json!({ "rank": rank, "collectives": count, "of": all }));
    json!({ "steps": steps, "comes_last": last, "largest_spread_us": optional(skew.largest_spread) })
}

fn op(line: &OpLine) -> Value {
    json!({ "op": line.name, "calls": line.calls, "work": line.work, "device_us": us(line.device),
            "host_us": us(line.host) })
}

fn coverage(graph: &Graph) -> Value {
    let links = &graph.links;
    json!({
        "device_work": links.device_work,
        "linked_to_launch": links.launched,
        "launched_before_recording": links.launched_before,
        "linked_to_op": links.within_op,
        "ops": links.ops,
        "collectives": links.collectives,
        "described_collectives": links.described_collectives,
        "whole_collectives": graph.rendezvous.iter().filter(|one| one.is_whole()).count(),
        "recorded_syncs": links.recorded_syncs,
        "waiting_calls": links.waiting_calls,
        "overlaps": links.overlaps,
        "execution_trace_operators": links.nodes_wanted,
        "execution_trace_operators_found": links.nodes,
    })
}
