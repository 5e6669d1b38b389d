//! `calibrate fit`: a model from a data set folder.

use kernelgauge_data::{DataSet, ExitStatus};
use kernelgauge_model::{FitOptions, Model};

use super::Surroundings;
use crate::args::FitArguments;
use crate::error::{CommandError, print};
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
    let model = Model::fit(&data, &options)?;
    let path = arguments.out.clone().unwrap_or_else(|| arguments.folder.join(MODEL));
    finish::write(&path, &model.to_text())?;
    finish::warn_of_gaps(&model, around);
    let summary = Summary::new(&data, &model.errors()?, Some(&model));
    print(around.stdout, &summary.text())?;
    around.say(&format!("wrote {}", path.display()));
    Ok(ExitStatus::Success)
}
