//! `report.md`: everything a reader needs to judge a calibration.

use kernelgauge_data::quality::Finding;
use kernelgauge_data::{DataSet, Outcome, Record};
use kernelgauge_model::VariantError;

use crate::columns::Columns;
use crate::fastest;
use crate::findings;
use crate::launching;
use crate::peers;
use crate::plan::show::machine_line;
use crate::summary::{Summary, covers, errors, inside, percent};

/// Points listed per section.
const LISTED: usize = 40;

/// The report.
pub fn markdown(
    data: &DataSet,
    found: &[Finding],
    summary: &Summary,
    variants: &[VariantError],
) -> String {
    let sections = [
        format!("# Calibration of {}\n", summary.machine),
        format!("{}\n", machine_line(&data.manifest.machine)),
        summary.markdown(),
        "Errors are those on points held out of the fit: whole lines where a variant has several, \
         else single points. The row of a family averages its variants, weighted by points.\n"
            .to_owned(),
        fastest::markdown(data),
        of_variants(variants),
        clocks(&data.records),
        launching::markdown(&summary.launching),
        peers::markdown(&data.records),
        flagged(&data.records, found),
        without_time(&data.records),
        run(data),
    ];
    let present: Vec<&str> =
        sections.iter().map(String::as_str).filter(|section| !section.is_empty()).collect();
    present.join("\n")
}

fn of_variants(variants: &[VariantError]) -> String {
    if variants.is_empty() {
        return String::new();
    }
    let mut columns = Columns::new(&[
        "variant",
        "points>",
        "error (median / p90)>",
        "worst>",
        "analytical term alone (median)>",
        "90 % covers>",
        "correction",
        "domain",
    ]);
    for variant in variants {
        let region = inside(variant);
        let share = |of: Option<f64>| of.map_or("-".to_owned(), percent);
        columns.row([
            format!("{} {} {}", variant.family, variant.variant, variant.cache.name()),
            variant.points.to_string(),
            errors(region.map(|r| r.median), region.map(|r| r.p90), region.map_or(0, |r| r.points)),
            share(region.map(|r| r.worst)),
            share(variant.held_out.analytical.map(|r| r.median)),
            region.map_or("-".to_owned(), |r| covers(r.coverage, r.points)),
            variant.correction.clone(),
            variant.domain.clone(),
        ]);
    }
    format!("## Variants\n\n{}", columns.markdown())
}

/// The range of clocks and the highest temperature, where any point has them.
fn clocks(records: &[Record]) -> String {
    let measured = || {
        records.iter().filter_map(|record| match &record.outcome {
            Outcome::Measured(measurement) => Some(measurement),
            _ => None,
        })
    };
    let clocks = || measured().filter_map(|measurement| measurement.sm_clock_mhz);
    let (Some(lowest), Some(highest)) = (clocks().min(), clocks().max()) else {
        return String::new();
    };
    let temperature = measured().filter_map(|measurement| measurement.temperature_c).max();
    let warm = temperature.map_or(String::new(), |degrees| format!(", at most {degrees} °C"));
    format!("Clock of the multiprocessors: {lowest} to {highest} MHz from point to point{warm}.\n")
}

fn flagged(records: &[Record], found: &[Finding]) -> String {
    let mut lines = Vec::new();
    for (index, record) in records.iter().enumerate() {
        for flag in record.flags.iter() {
            let detail = findings::detail(records, found, index, flag);
            lines.push(format!("`{}` {detail}", flag.name()));
        }
    }
    list("## Flagged points", &lines)
}

fn without_time(records: &[Record]) -> String {
    let reason = |record: &Record| match &record.outcome {
        Outcome::Measured(_) => None,
        Outcome::Skipped(reason) => Some(format!("skipped, {reason}")),
        Outcome::Failed(failure) => Some(format!("failed, {failure}")),
    };
    let lines: Vec<String> = records
        .iter()
        .filter_map(|record| {
            Some(format!("{} {}: {}", record.point, cache(record), reason(record)?))
        })
        .collect();
    list("## Points without a time", &lines)
}

fn cache(record: &Record) -> &'static str {
    record.conditions.cache.name()
}

fn list(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut text = format!("{title}\n\n");
    for line in lines.iter().take(LISTED) {
        text.push_str(&format!("* {line}\n"));
    }
    if lines.len() > LISTED {
        text.push_str(&format!("* and {} more\n", lines.len() - LISTED));
    }
    text
}

fn run(data: &DataSet) -> String {
    let mut text = "## How it was measured\n\n".to_owned();
    if let Some(file) = data.manifest.files.first() {
        text.push_str(&format!("{}.\n\n", file.method));
    }
    let mut columns = Columns::new(&["fact", "value"]);
    if let Some(run) = &data.manifest.run {
        for (fact, value) in [
            ("tool", run.tool_version.clone()),
            ("seed", run.seed.to_string()),
            ("plan", run.plan_hash.clone()),
            ("started", run.started_utc.clone()),
            ("finished", run.finished_utc.clone()),
        ] {
            columns.row([fact.to_owned(), value]);
        }
    }
    for (fact, value) in data.manifest.environment.facts() {
        columns.row([fact.to_owned(), value.to_owned()]);
    }
    text.push_str(&columns.markdown());
    text
}
