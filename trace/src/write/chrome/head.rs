//! What stands before the events: rank, groups and devices.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::graph::{Device, Graph};
use crate::time::Moment;

/// Opens the document and writes everything up to the list of events.
pub(super) fn write(
    graph: &Graph,
    place: u32,
    origin: Moment,
    out: &mut impl Write,
) -> io::Result<()> {
    let rank = graph.ranks.get(place as usize);
    let devices: Vec<Value> =
        rank.and_then(|rank| rank.device.as_ref()).map(device).into_iter().collect();
    let number = rank.map_or(place, |rank| rank.number);
    let world = rank.and_then(|rank| rank.world_size).unwrap_or(graph.ranks.len() as u32);
    let groups: Vec<Value> = graph
        .groups
        .iter()
        .map(|group| {
            json!({
                "pg_name": graph.names.text(group.name),
                "pg_desc": graph.names.text(group.description),
                "pg_size": group.size,
                "ranks": group.ranks,
            })
        })
        .collect();
    let distributed = json!({
        "backend": "nccl",
        "rank": number,
        "world_size": world,
        "pg_count": groups.len(),
        "pg_config": groups,
    });
    write!(out, "{{\n\"schemaVersion\": 1,\n\"deviceProperties\": {},\n", Value::from(devices))?;
    write!(out, "\"distributedInfo\": {distributed},\n\"displayTimeUnit\": \"ms\",\n")?;
    writeln!(out, "\"baseTimeNanoseconds\": {},", origin.get())
}

fn device(device: &Device) -> Value {
    let mut stated = json!({"id": device.id, "name": device.name});
    let mut state = |key: &str, value: Option<Value>| {
        if let (Some(value), Some(fields)) = (value, stated.as_object_mut()) {
            fields.insert(key.to_owned(), value);
        }
    };
    state("numSms", device.multiprocessors.map(Value::from));
    state("totalGlobalMem", device.memory_bytes.map(Value::from));
    state("computeMajor", device.compute_capability.map(|(major, _)| Value::from(major)));
    state("computeMinor", device.compute_capability.map(|(_, minor)| Value::from(minor)));
    stated
}
