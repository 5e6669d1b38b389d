//! An inspection as CSV: one row per rank and step.

use std::io::{self, Write};

use kernelgauge_trace::Graph;
use kernelgauge_trace::graph::CollectiveKind;
use kernelgauge_trace::inspect::Inspection;

use super::table::host_bound;

pub fn write(graph: &Graph, inspection: &Inspection, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record([
        "rank",
        "step",
        "span_us",
        "compute_us",
        "copies_us",
        "communication_us",
        "exposed_communication_us",
        "transfer_us",
        "waiting_us",
        "idle_us",
        "idle_host_us",
        "idle_launch_us",
        "idle_stream_us",
        "idle_unexplained_us",
        "device_work",
        "host_bound",
    ])?;
    for rank in &inspection.ranks {
        let this = &graph.ranks[rank.place];
        for step in &rank.steps {
            let split = |time: kernelgauge_data::Nanos| match step.split_known {
                true => time.us().to_string(),
                false => String::new(),
            };
            let number = if this.steps_marked { step.number.to_string() } else { String::new() };
            writer.write_record([
                this.number.to_string(),
                number,
                step.timing.duration.us().to_string(),
                step.compute.us().to_string(),
                step.copies.us().to_string(),
                step.communication.us().to_string(),
                step.exposed_communication.us().to_string(),
                split(step.transfer),
                split(step.waiting),
                step.idle.total().us().to_string(),
                step.idle.host.us().to_string(),
                step.idle.launch.us().to_string(),
                step.idle.stream.us().to_string(),
                step.idle.unexplained.us().to_string(),
                step.device_work.to_string(),
                host_bound(step.host_bound).to_owned(),
            ])?;
        }
    }
    writer.flush()
}

/// A collective by the name the questions have for it.
pub fn kind_name(kind: Option<CollectiveKind>) -> &'static str {
    kind.map_or("unknown", CollectiveKind::name)
}
