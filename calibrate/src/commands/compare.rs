//! `calibrate compare`: the ratio of times of two data sets or models, and whether it is news.

use kernelgauge_data::{ExitStatus, Family};

use super::{Surroundings, families};
use crate::args::{CompareArguments, Format};
use crate::compare::{Comparison, ENOUGH, Side};
use crate::error::{CommandError, UsageError, print};
use crate::finish;

/// Variants that are named when they have changed.
const NAMED: usize = 5;

/// Runs the command.
///
/// # Errors
/// A path that is neither, data that cannot be fitted, sides with nothing in common.
pub fn run(
    arguments: &CompareArguments,
    around: &mut Surroundings<'_>,
) -> Result<ExitStatus, CommandError> {
    let (a, b) =
        (Side::read(&arguments.before, around.build)?, Side::read(&arguments.after, around.build)?);
    let mut present: Vec<Family> =
        a.points.keys().chain(b.points.keys()).map(|key| key.0).collect();
    present.sort_unstable();
    present.dedup();
    let chosen = families(&arguments.ops, &present)?;
    let comparison = Comparison::of(&a, &b, &chosen, arguments.threshold, arguments.seed);
    if !comparison.has_ratios() {
        return Err(nothing_in_common(&a, &b).into());
    }
    let text = match arguments.format {
        Format::Table => comparison.text(),
        Format::Markdown => comparison.markdown(),
        Format::Json => finish::json(&comparison)?,
    };
    print(around.stdout, &text)?;
    if comparison.left_out() > 0 {
        around.say(&format!(
            "note: {} points are left out: one side drifted or was shared when it measured them",
            comparison.left_out()
        ));
    }
    let too_few = comparison.rows.iter().filter(|row| row.too_few).count();
    if too_few > 0 {
        around.say(&format!(
            "note: {too_few} of the variants that differ have under {ENOUGH} points, too few to tell"
        ));
    }
    Ok(judge(&comparison, around))
}

fn judge(comparison: &Comparison, around: &mut Surroundings<'_>) -> ExitStatus {
    let Some(threshold) = comparison.threshold else { return ExitStatus::Success };
    let changed: Vec<String> = comparison
        .changed()
        .into_iter()
        .map(|row| format!("{} x {:.3}", row.label(), row.median.unwrap_or(1.0)))
        .collect();
    if changed.is_empty() {
        return ExitStatus::Success;
    }
    let more = match changed.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named: Vec<&str> = changed.iter().take(NAMED).map(String::as_str).collect();
    let (count, percent) = (changed.len(), threshold * 100.0);
    let plural = if count == 1 { " differs" } else { "s differ" };
    around.warn(
        &format!(
            "{count} variant{plural} by more than {percent} % and beyond noise: {}{more}",
            named.join(", ")
        ),
        Some("what differs about the two sides stands above the table"),
    );
    ExitStatus::Findings
}

fn nothing_in_common(a: &Side, b: &Side) -> UsageError {
    let has = |side: &Side| {
        let mut names: Vec<&str> = side.points.keys().map(|key| key.0.name()).collect();
        names.dedup();
        if names.is_empty() { "nothing measured".to_owned() } else { names.join(", ") }
    };
    UsageError::mistake(
        "the two sides have no point and no domain in common",
        format!("A has {}, B has {}: compare two of the same ops", has(a), has(b)),
    )
}
