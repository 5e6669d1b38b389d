//! `predict machines`: what ships with the project, and what each machine has.

use std::collections::BTreeMap;
use std::io::Write;

use kernelgauge_data::{ExitStatus, Family, Machine, Origin};
use kernelgauge_model::Model;
use serde::Serialize;

use crate::args::Format;
use crate::error::CommandError;
use crate::machine::{self, MachineError};
use crate::render::SCHEMA_VERSION;
use crate::shipped;

/// A machine as it is listed.
#[derive(Debug, Serialize)]
struct Listed {
    name: &'static str,
    device: String,
    count: u32,
    links: &'static str,
    origin: Origin,
    /// Measured points behind the model.
    rows: usize,
    /// Variants by family: what can be asked.
    families: BTreeMap<Family, Vec<String>>,
    software: BTreeMap<String, String>,
}

/// Writes the list.
///
/// # Errors
/// A shipped model that cannot be read, or what the writer says.
pub fn write(format: Format, out: &mut dyn Write) -> Result<ExitStatus, CommandError> {
    let machines = shipped::names().map(listed).collect::<Result<Vec<Listed>, _>>()?;
    match format {
        Format::Table => write_table(&machines, out)?,
        Format::Json => {
            let document =
                serde_json::json!({ "schema_version": SCHEMA_VERSION, "machines": machines });
            serde_json::to_writer_pretty(&mut *out, &document).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
        Format::Csv => write_csv(&machines, out)?,
    }
    Ok(ExitStatus::Success)
}

fn listed(name: &'static str) -> Result<Listed, MachineError> {
    let model = machine::shipped(name)?;
    let errors =
        model.errors().map_err(|source| MachineError::Store { label: name.to_owned(), source })?;
    let families = model.families().into_iter().map(|family| (family, variants(&model, family)));
    let families = families.collect();
    let Machine { device, count, links, software, .. } = model.machine().clone();
    let rows = errors.iter().map(|error| error.points).sum();
    let (links, origin) = (links.name(), model.origin());
    Ok(Listed { name, device, count, links, origin, rows, families, software })
}

fn variants(model: &Model, family: Family) -> Vec<String> {
    let mut names = model.variants(family);
    names.sort();
    names.dedup();
    names
}

fn write_table(machines: &[Listed], out: &mut dyn Write) -> std::io::Result<()> {
    for (index, machine) in machines.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let Listed { name, device, count, links, rows, .. } = machine;
        let device =
            if *count > 1 { format!("{count} x {device}, {links}") } else { device.clone() };
        let origin = match machine.origin {
            Origin::Measured => "measured by this tool",
            Origin::Imported => "measured by others",
            Origin::Synthetic => "synthetic",
        };
        writeln!(out, "{name}   {device}   {rows} rows, {origin}{}", software(machine))?;
        for (family, variants) in &machine.families {
            writeln!(out, "  {:<11} {}", family.name(), short(*family, variants))?;
        }
    }
    Ok(())
}

fn software(machine: &Listed) -> String {
    let parts: Vec<String> =
        machine.software.iter().map(|(name, version)| format!("{name} {version}")).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// Variants with what they share said once: `all_reduce f16 int8 · all_gather f16 int8`.
fn short(family: Family, variants: &[String]) -> String {
    if family == Family::Gemm || family == Family::Custom {
        return variants.join(" ");
    }
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for variant in variants {
        let (op, rest) = variant.split_once('/').unwrap_or((variant, ""));
        match groups.last_mut() {
            Some((known, rests)) if *known == op => rests.push(rest),
            _ => groups.push((op, vec![rest])),
        }
    }
    let groups: Vec<String> =
        groups.iter().map(|(op, rests)| format!("{op} {}", rests.join(" "))).collect();
    groups.join(" · ")
}

fn write_csv(machines: &[Listed], out: &mut dyn Write) -> std::io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record([
        "name", "device", "count", "links", "origin", "rows", "families", "variants", "software",
    ])?;
    for machine in machines {
        let families: Vec<&str> = machine.families.keys().map(|family| family.name()).collect();
        let variants: Vec<&str> = machine.families.values().flatten().map(String::as_str).collect();
        let software: Vec<String> =
            machine.software.iter().map(|(name, version)| format!("{name}={version}")).collect();
        let origin = format!("{:?}", machine.origin).to_lowercase();
        writer.write_record([
            machine.name,
            &machine.device,
            &machine.count.to_string(),
            machine.links,
            &origin,
            &machine.rows.to_string(),
            &families.join(";"),
            &variants.join(";"),
            &software.join(";"),
        ])?;
    }
    writer.flush()
}
