//! `calibrate import`: measurements of others as a data set folder.
//!
//! Left to others: what files mean (`kernelgauge_data::import`) and what is wrong with the
//! times (`kernelgauge_data::quality`).

use std::path::Path;

use kernelgauge_data::dataset::{self, MANIFEST};
use kernelgauge_data::import::{
    self, ConditionError, ImportOptions, ImportSummary, Imported, MachineFacts,
};
use kernelgauge_data::table::shorten;
use kernelgauge_data::{
    DataSet, Diagnostic, ExitStatus, FileEntry, Hardware, Links, Machine, Manifest, Origin, quality,
};

use super::Surroundings;
use crate::args::ImportArguments;
use crate::error::{CommandError, UsageError, print};
use crate::findings;
use crate::finish::data_folder;
use crate::folder;
use crate::merge;

/// Runs the command. Nothing is written unless every file can be imported.
///
/// # Errors
/// The first file that is refused, and why; a folder of another machine; what cannot be written.
pub fn run(
    arguments: &ImportArguments,
    around: &mut Surroundings<'_>,
) -> Result<ExitStatus, CommandError> {
    let options = options(arguments)?;
    if let Some(name) = &arguments.machine {
        check_name(name)?;
    }
    let target = data_folder(&arguments.out);
    let mut data = existing(&target)?;
    let mut text = String::new();
    for path in &arguments.files {
        let mut imported = import::import(path, &options)?;
        let set = match &mut data {
            Some(set) => {
                same_machine(set, &imported.machine, arguments, path)?;
                set
            }
            None => data.insert(fresh(arguments, &imported.machine, options.links)),
        };
        add_software(&mut set.manifest.machine, &imported.machine);
        name_sources(&mut set.manifest, &imported, arguments, path);
        // Flagged by itself for the account; the merged set is gated again below.
        quality::gate(&mut imported.records, &set.manifest.machine);
        imported.summary.count(&imported.records);
        text.push_str(&account(path, &imported.summary));
        let merged = merge::into(&mut set.records, imported.records);
        text.push_str(&merged.text());
    }
    let Some(mut data) = data else { return Ok(ExitStatus::Success) };
    let machine = data.manifest.machine.clone();
    let found = quality::gate(&mut data.records, &machine);
    folder::prepare(&target)?;
    data.write(&target)?;
    findings::warn(&data.records, &found, around);
    print(around.stdout, &text)?;
    around.say(&format!("wrote {} ({} records)", target.display(), data.records.len()));
    Ok(ExitStatus::Success)
}

/// Names of machines are names of folders and of files.
fn check_name(name: &str) -> Result<(), UsageError> {
    /// As long as a file name may be almost everywhere, with room for what follows it.
    const LONGEST: usize = 200;
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && name.len() <= LONGEST;
    if is_plain {
        return Ok(());
    }
    let reason = format!("--machine: `{}` is not the name of a machine", shorten(name));
    Err(UsageError::mistake(reason, "letters, digits, `-`, `_` and `.`, such as `h200-sxm`"))
}

fn options(arguments: &ImportArguments) -> Result<ImportOptions, UsageError> {
    let usual = ImportOptions::default();
    let read = |text: &Option<String>| text.as_deref().map(str::trim).map(str::to_owned);
    let max_bytes = match &arguments.max_bytes {
        None => usual.max_bytes,
        Some(size) => size
            .parse::<kernelgauge_data::Bytes>()
            .map_err(|error| UsageError::mistake(error.to_string(), "such as `--max-bytes 1GiB`"))?
            .get(),
    };
    let condition = |text: &String| {
        text.parse().map_err(|error: ConditionError| {
            UsageError::mistake(error.to_string(), error.hint().unwrap_or_default())
        })
    };
    Ok(ImportOptions {
        conditions: arguments.conditions.iter().map(condition).collect::<Result<_, _>>()?,
        dtype: read(&arguments.dtype).map(|name| name.parse()).transpose()?,
        op: read(&arguments.op),
        input: read(&arguments.input),
        family: read(&arguments.family).map(|name| name.parse()).transpose()?,
        collective: read(&arguments.collective).map(|name| name.parse()).transpose()?,
        ranks: arguments.ranks,
        nodes: arguments.nodes,
        links: read(&arguments.links).map(|name| name.parse()).transpose()?.unwrap_or(usual.links),
        strict: arguments.strict,
        max_bytes,
    })
}

/// The data set that is already in `folder`.
fn existing(folder: &Path) -> Result<Option<DataSet>, CommandError> {
    if !folder.join(MANIFEST).exists() {
        return Ok(None);
    }
    let data = DataSet::read(folder)?;
    if data.manifest.origin != Origin::Imported {
        return Err(UsageError::mistake(
            format!("{} holds measurements of this tool", folder.display()),
            "import into another folder: a data set is either measured here or imported",
        )
        .into());
    }
    Ok(Some(data))
}

/// An empty data set for the machine the first file was measured on.
fn fresh(arguments: &ImportArguments, facts: &MachineFacts, links: Links) -> DataSet {
    let folder_name = || {
        let absolute = std::path::absolute(&arguments.out).unwrap_or_default();
        absolute.file_name().unwrap_or_default().to_string_lossy().into_owned()
    };
    let name = arguments.machine.clone().unwrap_or_else(folder_name);
    let device = arguments.device_name.clone().or_else(|| facts.device.clone());
    let machine = Machine {
        device: device.unwrap_or_else(|| name.clone()),
        name,
        count: arguments.count.or(facts.count).unwrap_or(1),
        links,
        software: Default::default(),
        hardware: Hardware::default(),
    };
    DataSet { manifest: Manifest::new(machine, Origin::Imported), records: Vec::new() }
}

/// Refuses to mix machines: what was asked for and what the file says must be what is there.
fn same_machine(
    set: &DataSet,
    facts: &MachineFacts,
    arguments: &ImportArguments,
    path: &Path,
) -> Result<(), UsageError> {
    let machine = &set.manifest.machine;
    let other = |what: &str, here: &str, there: &str| {
        UsageError::mistake(
            format!("{}: {what} is {there}, but the data set is of {here}", path.display()),
            "import it into a folder of its own",
        )
    };
    if let Some(name) = arguments.machine.as_ref().filter(|name| **name != machine.name) {
        return Err(other("the machine", &machine.name, name));
    }
    let device = arguments.device_name.as_ref().or(facts.device.as_ref());
    match device {
        Some(device) if *device != machine.device && machine.device != machine.name => {
            Err(other("the device", &machine.device, device))
        }
        _ => Ok(()),
    }
}

fn add_software(machine: &mut Machine, facts: &MachineFacts) {
    for (name, version) in &facts.software {
        let known = machine.software.entry(name.clone()).or_default();
        let mut versions: Vec<&str> = known.split(", ").filter(|v| !v.is_empty()).collect();
        if !versions.contains(&version.as_str()) {
            versions.push(version);
            *known = versions.join(", ");
        }
    }
}

/// Notes for every family of the records which file they come from, without its folder.
fn name_sources(
    manifest: &mut Manifest,
    imported: &Imported,
    arguments: &ImportArguments,
    path: &Path,
) {
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let source = arguments.source.clone().unwrap_or(file);
    for name in dataset::file_names(&imported.records) {
        if manifest.file(&name).is_none() {
            manifest.files.push(FileEntry { name: name.clone(), ..FileEntry::default() });
        }
        let entry = manifest.files.iter_mut().filter(|entry| entry.name == name);
        for entry in entry {
            append(&mut entry.source, &source);
            append(&mut entry.licence, arguments.licence.as_deref().unwrap_or_default());
            append(&mut entry.method, arguments.method.as_deref().unwrap_or_default());
            for (software, version) in &imported.machine.software {
                append(&mut entry.software, &format!("{software} {version}"));
            }
        }
    }
}

/// Adds `part` to a list separated by `; `, once.
fn append(list: &mut String, part: &str) {
    if part.is_empty() || list.split("; ").any(|known| known == part) {
        return;
    }
    if !list.is_empty() {
        list.push_str("; ");
    }
    list.push_str(part);
}

/// What was kept, flagged and dropped of one file.
fn account(path: &Path, summary: &ImportSummary) -> String {
    let flagged: usize = summary.flagged.values().sum();
    let mut text = format!(
        "{}: {} kept ({} skipped, {} failed), {flagged} flagged, {} dropped\n",
        path.display(),
        summary.kept,
        summary.skipped,
        summary.failed,
        summary.dropped_rows()
    );
    for (flag, count) in &summary.flagged {
        text.push_str(&format!("  flagged  {count} {}\n", flag.name()));
    }
    for dropped in &summary.dropped {
        let lines: Vec<String> = dropped.lines.iter().map(usize::to_string).collect();
        let more = if dropped.count > dropped.lines.len() { ", ..." } else { "" };
        let word = if dropped.count == 1 { "line" } else { "lines" };
        text.push_str(&format!(
            "  dropped  {} {word}: {} ({word} {}{more})\n",
            dropped.count,
            dropped.reason,
            lines.join(", ")
        ));
    }
    if summary.rounded > 0 {
        let times = if summary.rounded == 1 { "time" } else { "times" };
        text.push_str(&format!(
            "  rounded  {} {times} by more than 1 %: times are kept in whole nanoseconds\n",
            summary.rounded
        ));
    }
    for note in &summary.notes {
        text.push_str(&format!("  note     {note}\n"));
    }
    text
}
