//! `calibrate fit`: a model from a data set folder.

use std::path::PathBuf;

use kernelgauge_data::{DataSet, ExitStatus};
use kernelgauge_model::{FitOptions, Model};

use super::Surroundings;
use crate::args::FitArguments;
use crate::error::{CommandError, UsageError, print};
use crate::finish::{self, MODEL};
use crate::summary::Summary;

/// Runs the command. The flags in the files decide what is fitted; the gate is not run again.
///
/// # Errors
/// A folder that is no data set, data that cannot be fitted, a file that cannot be written.
pub fn run(
    arguments: &FitArguments,
    around: &mut Surroundings<'_>,
) -> Result<ExitStatus, CommandError> {
    let options = FitOptions { seed: arguments.seed, detail: arguments.detail.parse()? };
    let data = DataSet::read(&finish::data_folder(&arguments.folder))?;
    let model = fitted(&data, arguments, &options)?;
    let path = arguments.out.clone().unwrap_or_else(|| arguments.folder.join(MODEL));
    finish::write(&path, &model.to_text())?;
    finish::warn_of_gaps(&model, around);
    let summary = Summary::new(&data, &model.errors()?, Some(&model));
    print(around.stdout, &summary.text())?;
    if let Some(borrowed) = borrowed_text(&model) {
        around.say(&borrowed);
    }
    around.say(&format!("wrote {}", path.display()));
    Ok(ExitStatus::Success)
}

fn fitted(
    data: &DataSet,
    arguments: &FitArguments,
    options: &FitOptions,
) -> Result<Model, CommandError> {
    if arguments.borrow.is_empty() {
        return Ok(Model::fit(data, options)?);
    }
    let sources = lenders(data, &arguments.borrow)?;
    Ok(Model::fit_borrowing(data, &sources, options)?)
}

/// The data sets in `folders`, each of another machine than the rest and than `data`.
///
/// # Errors
/// A folder that is no data set, a machine named twice, the data set itself.
pub(crate) fn lenders(data: &DataSet, folders: &[PathBuf]) -> Result<Vec<DataSet>, CommandError> {
    different("--borrow", data, folders)
}

/// The data sets in `folders`, all different from each other and from `data`, for an evaluation
/// of all of them.
pub(crate) fn others(data: &DataSet, folders: &[PathBuf]) -> Result<Vec<DataSet>, CommandError> {
    different("--among", data, folders)
}

fn different(
    flag: &str,
    data: &DataSet,
    folders: &[PathBuf],
) -> Result<Vec<DataSet>, CommandError> {
    let mut sources: Vec<DataSet> = Vec::new();
    for folder in folders {
        let source = DataSet::read(&finish::data_folder(folder))?;
        let name = &source.manifest.machine.name;
        if source.digest() == data.digest() && !data.records.is_empty() {
            let what = format!("{} is the data set itself", folder.display());
            return Err(UsageError::mistake(what, "borrow from other machines").into());
        }
        if sources.iter().any(|known| known.manifest.machine.name == *name) {
            let what = format!("`{flag}` names {name} twice");
            return Err(UsageError::mistake(what, "name each machine once").into());
        }
        sources.push(source);
    }
    Ok(sources)
}

/// `borrowed from h100-sxm, a100-sxm`
fn borrowed_text(model: &Model) -> Option<String> {
    let names: Vec<&str> = model.lenders().iter().map(|lender| &*lender.machine).collect();
    (!names.is_empty()).then(|| format!("borrowed from {}", names.join(", ")))
}
