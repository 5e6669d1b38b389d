//! An inspection for people, 100 columns wide.

use std::io::{self, Write};

use kernelgauge_data::Nanos;
use kernelgauge_data::units::Bytes;
use kernelgauge_trace::Graph;
use kernelgauge_trace::graph::Rank;
use kernelgauge_trace::inspect::{CollectiveLine, HostBound, Inspection, OpLine, Skew, StepReport};

use super::rows::kind_name;
use crate::terminal::plain;

/// Steps of a rank that are listed before the rest is counted.
const STEPS_SHOWN: usize = 6;

pub fn write(
    graph: &Graph,
    inspection: &Inspection,
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    heading(graph, inspection, out)?;
    steps(graph, inspection, out)?;
    idle(graph, inspection, out)?;
    collectives(&inspection.collectives, top, out)?;
    if let Some(skew) = &inspection.skew {
        write_skew(skew, out)?;
    }
    ops(&inspection.ops, top, out)?;
    coverage(graph, out)
}

fn heading(graph: &Graph, inspection: &Inspection, out: &mut dyn Write) -> io::Result<()> {
    let ranks = graph.ranks.len();
    let steps: Vec<usize> = inspection.ranks.iter().map(|rank| rank.steps.len()).collect();
    let steps = match (steps.iter().min(), steps.iter().max()) {
        (Some(1), Some(1)) => "1 step".to_owned(),
        (Some(least), Some(most)) if least == most => format!("{most} steps"),
        (Some(least), Some(most)) => format!("{least} to {most} steps"),
        _ => "no step".to_owned(),
    };
    let each = if ranks > 1 { " each" } else { "" };
    let plural = if ranks == 1 { "" } else { "s" };
    write!(out, "{ranks} rank{plural}, {steps}{each}")?;
    let mut devices: Vec<&str> =
        graph.ranks.iter().filter_map(|rank| Some(rank.device.as_ref()?.name.as_str())).collect();
    let count = devices.len();
    devices.sort_unstable();
    devices.dedup();
    if !devices.is_empty() {
        let names: Vec<String> = devices.iter().map(|name| plain(name, 40)).collect();
        write!(out, ", {count} x {}", names.join(" and "))?;
    }
    writeln!(out)
}

fn steps(graph: &Graph, inspection: &Inspection, out: &mut dyn Write) -> io::Result<()> {
    if inspection.ranks.iter().all(|rank| rank.steps.is_empty()) {
        return Ok(());
    }
    writeln!(
        out,
        "\n{:<5} {:>5} {:>10} {:>10} {:>10} {:>10} {:>21} {:>10}  host-bound",
        "rank", "step", "span", "compute", "copies", "exposed", "transfer / waiting", "idle"
    )?;
    for rank in &inspection.ranks {
        let this = &graph.ranks[rank.place];
        for step in rank.steps.iter().take(STEPS_SHOWN) {
            step_row(this, step, out)?;
        }
        if let Some(more) = rank.steps.len().checked_sub(STEPS_SHOWN).filter(|&more| more > 0) {
            writeln!(out, "{:<5} and {more} more steps (--format csv lists all)", this.number)?;
        }
    }
    Ok(())
}

fn step_row(rank: &Rank, step: &StepReport, out: &mut dyn Write) -> io::Result<()> {
    let number = if rank.steps_marked { step.number.to_string() } else { "whole".to_owned() };
    let split = match (step.split_known, step.communication.get()) {
        (_, 0) => "-".to_owned(),
        (true, _) => format!("{} / {}", step.transfer, step.waiting),
        (false, _) => format!("{} in all", step.communication),
    };
    writeln!(
        out,
        "{:<5} {number:>5} {:>10} {:>10} {:>10} {:>10} {split:>21} {:>10}  {}",
        rank.number,
        text(step.timing.duration),
        text(step.compute),
        text(step.copies),
        text(step.exposed_communication),
        text(step.idle.total()),
        host_bound(step.host_bound),
    )
}

pub fn host_bound(bound: HostBound) -> &'static str {
    match bound {
        HostBound::No => "no",
        HostBound::Partly => "partly",
        HostBound::Yes => "yes",
        HostBound::Unknown => "unknown",
    }
}

fn text(time: Nanos) -> String {
    if time.get() == 0 { "-".to_owned() } else { time.to_string() }
}

/// Idle time of the device by cause, all ranks and steps together.
fn idle(graph: &Graph, inspection: &Inspection, out: &mut dyn Write) -> io::Result<()> {
    let steps = || inspection.ranks.iter().flat_map(|rank| &rank.steps);
    let span: f64 = steps().map(|step| step.timing.duration.as_f64()).sum();
    if span == 0.0 || graph.links.device_work == 0 {
        return Ok(());
    }
    let share = |of: fn(&StepReport) -> Nanos| {
        let sum: f64 = steps().map(|step| of(step).as_f64()).sum();
        format!("{:.1} %", 100.0 * sum / span)
    };
    writeln!(
        out,
        "\nidle, of all steps   host not ready {} · launch on its way {} · other stream {} · \
         unexplained {}",
        share(|step| step.idle.host),
        share(|step| step.idle.launch),
        share(|step| step.idle.stream),
        share(|step| step.idle.unexplained),
    )
}

fn collectives(lines: &[CollectiveLine], top: usize, out: &mut dyn Write) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{:<16} {:>5} {:>10} {:>10} {:>6} {:>10} {:>10} {:>10} {:>10}",
        "collective",
        "count",
        "bytes in",
        "bytes out",
        "ranks",
        "transfer",
        "time",
        "waiting",
        "spread"
    )?;
    for line in lines.iter().take(top) {
        let bytes = |bytes: Option<u64>| {
            bytes.map_or("?".to_owned(), |bytes| Bytes::new(bytes).to_string())
        };
        let time = |time: Option<Nanos>| time.map_or("?".to_owned(), text);
        writeln!(
            out,
            "{:<16} {:>5} {:>10} {:>10} {:>6} {:>10} {:>10} {:>10} {:>10}",
            kind_name(line.kind),
            line.count,
            bytes(line.bytes_in),
            bytes(line.bytes_out),
            line.ranks.map_or("?".to_owned(), |ranks| ranks.to_string()),
            time(line.transfer),
            text(line.time),
            time(line.waiting),
            time(line.spread),
        )?;
    }
    more(lines.len(), top, "collectives", out)
}

fn write_skew(skew: &Skew, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "\nskew      ")?;
    if let Some(steps) = skew.steps {
        write!(
            out,
            "step {}: rank {} {} .. rank {} {}",
            steps.number, steps.shortest.0, steps.shortest.1, steps.longest.0, steps.longest.1
        )?;
    }
    if let Some((rank, count, all)) = skew.last {
        write!(out, " · rank {rank} comes last to {count} of {all} collectives")?;
    }
    if let Some(spread) = skew.largest_spread {
        write!(out, " · arrivals up to {spread} apart")?;
    }
    writeln!(out)
}

fn ops(lines: &[OpLine], top: usize, out: &mut dyn Write) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let all: f64 = lines.iter().map(|line| line.device.as_f64()).sum();
    writeln!(
        out,
        "\n{:<54} {:>7} {:>8} {:>10} {:>7} {:>9}",
        "op", "calls", "kernels", "device", "share", "host"
    )?;
    for line in lines.iter().take(top) {
        let share = if all > 0.0 { 100.0 * line.device.as_f64() / all } else { 0.0 };
        writeln!(
            out,
            "{:<54} {:>7} {:>8} {:>10} {share:>5.1} % {:>9}",
            plain(&line.name, 54),
            line.calls,
            line.work,
            text(line.device),
            text(line.host),
        )?;
    }
    more(lines.len(), top, "ops", out)
}

fn more(all: usize, top: usize, what: &str, out: &mut dyn Write) -> io::Result<()> {
    match all.checked_sub(top) {
        Some(rest) if rest > 0 => writeln!(out, "and {rest} more {what} (--top)"),
        _ => Ok(()),
    }
}

fn coverage(graph: &Graph, out: &mut dyn Write) -> io::Result<()> {
    let links = &graph.links;
    let share = |part: u64, whole: u64| match whole {
        0 => "none".to_owned(),
        _ if part == whole => "100 %".to_owned(),
        _ => format!("{:.2} %", 100.0 * part as f64 / whole as f64),
    };
    write!(
        out,
        "\ncoverage  kernels linked to a launch {} · to an op {}",
        share(links.launched, links.launchable()),
        if links.ops == 0 {
            "none recorded".to_owned()
        } else {
            share(links.within_op, links.launched)
        },
    )?;
    if links.launched_before > 0 {
        write!(out, " ({} launched before the recording)", links.launched_before)?;
    }
    if links.collectives > 0 {
        write!(
            out,
            " · collectives with sizes {} of {}",
            links.described_collectives, links.collectives
        )?;
    }
    let syncs = match links.recorded_syncs {
        0 => "not recorded".to_owned(),
        count => count.to_string(),
    };
    writeln!(out, " · synchronisation events: {syncs}")?;
    if links.nodes_wanted > 0 {
        let found = share(links.nodes, links.nodes_wanted);
        writeln!(out, "          operators of the execution traces found {found}")?;
    }
    Ok(())
}
