//! `calibrate thin`: a smaller data set, and what that costs.

use std::path::Path;

use kernelgauge_data::units::four_digits;
use kernelgauge_data::{Bytes, DataSet, ExitStatus};

use super::Surroundings;
use crate::args::ThinArguments;
use crate::error::{CommandError, UsageError, print};
use crate::finish::data_folder;
use crate::thin::check::{self, Comparison, Split};
use crate::thin::{self, ThinOptions, Thinned};

/// A thinned family may be this much worse than the full one, in the mean.
const ALLOWED_RATIO: f64 = 1.2;

/// Runs the command.
///
/// # Errors
/// A folder that is no data set, one that is thinned over itself, a size that cannot be reached, data that cannot be fitted.
pub fn run(
    arguments: &ThinArguments,
    around: &mut Surroundings<'_>,
) -> Result<ExitStatus, CommandError> {
    let full = DataSet::read(&data_folder(&arguments.folder))?;
    if let Some(thinned) = &arguments.check {
        return compare(&full, thinned, arguments.seed, around);
    }
    let (Some(out), Some(size)) = (&arguments.out, &arguments.max_bytes) else {
        let hint = "`--out DIR --max-bytes SIZE` thins, `--check DIR` compares";
        return Err(UsageError::mistake("neither `--out` nor `--check` is given", hint).into());
    };
    let max_bytes: Bytes = size
        .parse()
        .map_err(|error| UsageError::mistake(format!("{error}"), "such as `--max-bytes 3MB`"))?;
    let options = ThinOptions {
        max_bytes,
        seed: arguments.seed,
        summarise_kernels: arguments.summarise_kernels,
    };
    let thinned = thin::thin(full, &options)?;
    if same(out, &arguments.folder) {
        let what = format!("{} would be thinned over itself", out.display());
        return Err(UsageError::mistake(what, "`--out` names another folder").into());
    }
    crate::folder::prepare(out)?;
    thinned.data.write(out)?;
    print(around.stdout, &account(&thinned))?;
    around.say(&format!("wrote {}", out.display()));
    Ok(ExitStatus::Success)
}

/// Whether both name one folder, or a data set within it.
fn same(out: &Path, folder: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let out = real(out);
    out.is_some() && (out == real(folder) || out == real(&data_folder(folder)))
}

fn account(thinned: &Thinned) -> String {
    let mut text = format!("{:<14}{:>10}{:>10}{:>9}\n", "family", "rows", "kept", "share");
    for rows in &thinned.rows {
        let share = 100.0 * rows.after as f64 / rows.before.max(1) as f64;
        let family = rows.family.name();
        text += &format!("{family:<14}{:>10}{:>10}{share:>7.0} %\n", rows.before, rows.after);
    }
    let (bytes, flagged) = (thinned.bytes.get() as f64 / 1e6, thinned.flagged);
    text += &format!("{} MB of CSV; {flagged} flagged rows are left out\n", four_digits(bytes));
    text
}

fn compare(
    full: &DataSet,
    thinned: &Path,
    seed: u64,
    around: &mut Surroundings<'_>,
) -> Result<ExitStatus, CommandError> {
    let thinned = DataSet::read(&data_folder(thinned))?;
    let mut comparisons = Vec::new();
    for split in Split::ALL {
        comparisons.extend(check::compare(full, &thinned, split, seed)?);
    }
    if comparisons.is_empty() {
        return Err(UsageError::mistake(
            "the two data sets have no variant in common, so there is nothing to compare",
            "give the thinned form of the full table: `calibrate thin FULL --check THINNED`",
        )
        .into());
    }
    print(around.stdout, &table(&comparisons))?;
    let worse = |comparison: &&Comparison| {
        comparison.is_family() && comparison.mean_ratio() > ALLOWED_RATIO
    };
    if let Some(worst) = comparisons.iter().find(worse) {
        let ratio = four_digits(worst.mean_ratio());
        let what = format!("{}: {ratio} times the error of the full table", worst.name);
        around.warn(&what, Some("thin less: raise `--max-bytes`"));
        return Ok(ExitStatus::Findings);
    }
    Ok(ExitStatus::Success)
}

/// Held-out errors in percent: median, mean and 90th percentile of both, and their ratios.
fn table(comparisons: &[Comparison]) -> String {
    let mut text = format!("{:<47}{:^22}  {:^20}  {:^13}\n", "", "full, %", "thinned, %", "ratio");
    text += &format!("{:<30}{:>10}{:>7}", "family and variant", "held out", "points");
    for _ in 0..2 {
        text += &format!("{:>8}{:>7}{:>7}", "median", "mean", "p90");
    }
    text += &format!("{:>9}{:>7}\n", "median", "mean");
    for comparison in comparisons {
        let Comparison { name, split, points, full, thinned } = comparison;
        text += &format!("{name:<30}{:>10}{points:>7}", split.name());
        for errors in [full, thinned] {
            let percent = [errors.median, errors.mean, errors.p90].map(|error| 100.0 * error);
            text += &format!("{:>8.2}{:>7.2}{:>7.1}", percent[0], percent[1], percent[2]);
        }
        let ratios = (comparison.median_ratio(), comparison.mean_ratio());
        text += &format!("{:>9.2}{:>7.2}\n", ratios.0, ratios.1);
    }
    text
}
