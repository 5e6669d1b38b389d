//! What is made of a data set: gate, files, model, report, summary.
//!
//! A family that cannot be fitted does not stop the others; a data set of which nothing can be
//! fitted is written all the same.

use std::io;
use std::path::{Path, PathBuf};

use kernelgauge_data::{DataSet, Diagnostic as _, ExitStatus, quality, whole_file};
use kernelgauge_model::{FitOptions, Model};
use serde::Serialize;

use crate::args::Format;
use crate::commands::Surroundings;
use crate::error::{CommandError, UsageError, print};
use crate::findings;
use crate::reasons;
use crate::report;
use crate::summary::Summary;

/// Name of the data set's folder inside a calibration.
pub const SAMPLES: &str = "samples";
/// Name of the model file.
pub const MODEL: &str = "model.json";
/// Name of the report.
pub const REPORT: &str = "report.md";

/// Where the result goes and how it is shown.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The calibration's folder.
    pub folder: &'a Path,
    /// Seed of the fit.
    pub seed: u64,
    /// Format of the summary.
    pub format: Format,
    /// Files to keep beside the data set, as name and text.
    pub beside: &'a [(String, String)],
}

/// Gates and fits `data`, writes data set, model and report, and prints the summary.
///
/// # Errors
/// What cannot be written.
pub fn run(
    mut data: DataSet,
    target: &Target<'_>,
    around: &mut Surroundings<'_>,
) -> Result<ExitStatus, CommandError> {
    let machine = data.manifest.machine.clone();
    let found = quality::gate(&mut data.records, &machine);
    data.write(&target.folder.join(SAMPLES))?;
    findings::warn(&data.records, &found, around);
    reasons::warn(&data.records, around);
    let model = match Model::fit(&data, &FitOptions { seed: target.seed, ..FitOptions::default() })
    {
        Ok(model) => Some(model),
        Err(error) => {
            // To measure is what was just done: why there is nothing to fit has been said.
            let measured = data.records.iter().any(|record| record.fit_time().is_some());
            let hint = if measured { error.hint() } else { None };
            around.warn(&format!("no model: {error}"), hint.as_deref());
            None
        }
    };
    let mut wrote = vec![format!("{SAMPLES}/")];
    if let Some(model) = &model {
        write(&target.folder.join(MODEL), &model.to_text())?;
        warn_of_gaps(model, around);
        wrote.insert(0, MODEL.to_owned());
    }
    let errors = model.as_ref().map(Model::errors).transpose()?.unwrap_or_default();
    let summary = Summary::new(&data, &errors, model.as_ref());
    let mut text = report::markdown(&data, &found, &summary, &errors);
    for (name, content) in target.beside {
        write(&target.folder.join(name), content)?;
        text.push_str(&format!("\nWhat a library says of its own choices is in `{name}`.\n"));
        wrote.insert(wrote.len() - 1, name.clone());
    }
    write(&target.folder.join(REPORT), &text)?;
    wrote.insert(wrote.len() - 1, REPORT.to_owned());
    show(&summary, &wrote, target, around)?;
    Ok(if model.is_some() { ExitStatus::Success } else { ExitStatus::Findings })
}

/// Says which variants have measurements but no model.
pub fn warn_of_gaps(model: &Model, around: &mut Surroundings<'_>) {
    let lacking = model.insufficient();
    let Some(first) = lacking.first() else { return };
    around.warn(
        &format!(
            "{} of {} variants have too little data for a model: {first}{}",
            lacking.len(),
            lacking.len()
                + model.families().iter().map(|f| model.variants(*f).len()).sum::<usize>(),
            if lacking.len() > 1 { ", and more" } else { "" }
        ),
        Some(first.remedy()),
    );
}

/// Prints the summary, what was written, and what can be asked now.
fn show(
    summary: &Summary,
    wrote: &[String],
    target: &Target<'_>,
    around: &mut Surroundings<'_>,
) -> Result<(), CommandError> {
    let text = match target.format {
        Format::Table => summary.text(),
        Format::Markdown => summary.markdown(),
        Format::Json => json(summary)?,
    };
    print(around.stdout, &text)?;
    around.say(&format!("wrote {}/{}", target.folder.display(), wrote.join(", ")));
    if let Some(question) = &summary.question {
        let model = target.folder.join(MODEL);
        around.say(&format!("try: {question} --machine {}", model.display()));
    }
    Ok(())
}

/// Replaces the file at `path`, whole or not at all.
///
/// # Errors
/// [`UsageError::System`] with the path.
pub fn write(path: &Path, text: &str) -> Result<(), UsageError> {
    whole_file::replace(path, text.as_bytes()).map_err(|source| cannot_write(path, source))
}

fn cannot_write(path: &Path, source: io::Error) -> UsageError {
    UsageError::System { what: format!("cannot write {}", path.display()), source }
}

/// One JSON document, indented, with a newline at its end.
///
/// # Errors
/// Never in practice: every document here has a JSON form.
pub fn json(document: &impl Serialize) -> Result<String, UsageError> {
    serde_json::to_string_pretty(document).map(|text| text + "\n").map_err(|error| {
        UsageError::System { what: "cannot write JSON".to_owned(), source: error.into() }
    })
}

/// The data set of a folder: the folder itself, or the samples of a calibration.
pub fn data_folder(folder: &Path) -> PathBuf {
    let samples = folder.join(SAMPLES);
    if samples.join(kernelgauge_data::dataset::MANIFEST).exists() {
        samples
    } else {
        folder.to_owned()
    }
}
