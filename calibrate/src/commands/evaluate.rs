//! `calibrate evaluate`: how good the model of a data set is.

use kernelgauge_data::{DataSet, ExitStatus};
use kernelgauge_model::{FitOptions, Model};

use super::Surroundings;
use crate::args::EvaluateArguments;
use crate::error::{CommandError, print};
use crate::finish;
use crate::summary::Summary;

/// Runs the command.
///
/// # Errors
/// A folder that is no data set, or data that cannot be fitted.
pub fn run(
    arguments: &EvaluateArguments,
    around: &mut Surroundings<'_>,
) -> Result<ExitStatus, CommandError> {
    let data = DataSet::read(&finish::data_folder(&arguments.folder))?;
    let model = Model::fit(&data, &FitOptions { seed: arguments.seed })?;
    let summary = Summary::new(&data, &model.errors()?, Some(&model));
    print(around.stdout, &summary.text())?;
    Ok(ExitStatus::Success)
}
