//! `calibrate evaluate`: how good the model of a data set is, on points held out of the fit or
//! on points measured anew.

mod comparison;
mod figures;
mod fresh;
mod held_out;
mod sweep;

use kernelgauge_data::{DataSet, ExitStatus, Family};
use kernelgauge_model::{EvaluateOptions, FitOptions, Model};

use super::{Surroundings, families};
use crate::args::Format;
use crate::args::evaluate::EvaluateArguments;
use crate::device_list::DeviceList;
use crate::error::{CommandError, UsageError, print};
use crate::finish::{self, MODEL};
use crate::open::{self, Opening};
use crate::remote::Deadlines;

/// Runs the command.
///
/// # Errors
/// A folder that is no data set, data that cannot be fitted, a device that cannot be had.
pub fn run(
    arguments: &EvaluateArguments,
    around: &mut Surroundings<'_>,
) -> Result<ExitStatus, CommandError> {
    let data = DataSet::read(&finish::data_folder(&arguments.folder))?;
    let mut present: Vec<Family> = data.records.iter().map(|r| r.point.family()).collect();
    present.sort_unstable();
    present.dedup();
    let chosen = families(&arguments.ops, &present)?;
    if arguments.sweep {
        return how_few(&chosen, data, arguments, around);
    }
    match arguments.fresh {
        Some(count) => against_fresh(count as usize, &chosen, &data, arguments, around),
        None => held_out::run(&chosen, data, arguments, around),
    }
}

fn against_fresh(
    count: usize,
    chosen: &[Family],
    data: &DataSet,
    arguments: &EvaluateArguments,
    around: &mut Surroundings<'_>,
) -> Result<ExitStatus, CommandError> {
    let list: DeviceList = arguments.device.parse()?;
    let threads = arguments.threads.or_else(|| fresh::threads_of(data));
    let opening = Opening {
        threads,
        gemm_tune: fresh::gemm_tune_of(data),
        deadlines: Deadlines { least: arguments.deadline },
        tool: &around.tool_version(),
        began: around.began,
    };
    let open::Opened { mut device, clock, .. } = open::open(&list, &opening)?;
    fresh::same_device(data, device.as_ref())?;
    let model = model_of(data, arguments)?;
    let request = fresh::Request { count, families: chosen, seed: arguments.seed, clock: &clock };
    let (comparison, interrupted) =
        fresh::compare(&request, data, &model, device.as_mut(), around)?;
    let text = match arguments.format {
        Format::Table => comparison.columns().text(),
        Format::Markdown => comparison.columns().markdown(),
        Format::Json => finish::json(&comparison)?,
    };
    if comparison.points.is_empty() && !interrupted {
        return Err(nothing_fresh(chosen).into());
    }
    print(around.stdout, &text)?;
    if interrupted {
        around.say(&format!("stopped after {} points", comparison.points.len()));
        return Ok(ExitStatus::Partial);
    }
    Ok(ExitStatus::Success)
}

/// No point could be drawn, or none had a time.
fn nothing_fresh(chosen: &[Family]) -> UsageError {
    let names: Vec<&str> = chosen.iter().map(|family| family.name()).collect();
    UsageError::mistake(
        "no fresh point was measured, so there is nothing to compare",
        format!("of {}; name families that this device measures with `--ops`", names.join(", ")),
    )
}

/// The model beside the data if it was fitted on exactly these data, else a new fit.
fn model_of(data: &DataSet, arguments: &EvaluateArguments) -> Result<Model, CommandError> {
    let stored = std::fs::read_to_string(arguments.folder.join(MODEL)).ok();
    let model = stored.and_then(|text| Model::from_text(&text).ok());
    match model {
        Some(model) if model.data_sha256() == data.digest() => Ok(model),
        _ => {
            let detail = arguments.detail.parse()?;
            Ok(Model::fit(data, &FitOptions { seed: arguments.seed, detail })?)
        }
    }
}

fn how_few(
    chosen: &[Family],
    mut data: DataSet,
    arguments: &EvaluateArguments,
    around: &mut Surroundings<'_>,
) -> Result<ExitStatus, CommandError> {
    data.records.retain(|record| chosen.contains(&record.point.family()));
    let options = EvaluateOptions {
        seed: arguments.seed,
        bands: arguments.bands.clone(),
        detail: arguments.detail.parse()?,
        ..EvaluateOptions::default()
    };
    let report = sweep::evaluate(&data, &options);
    let text = match arguments.format {
        Format::Table => report.columns().text(),
        Format::Markdown => report.columns().markdown(),
        Format::Json => finish::json(&report)?,
    };
    if report.variants.is_empty() {
        around.warn(
            "no variant has enough points to tell how few would be enough",
            Some("a thousand outside the lines held out; see what there is with `calibrate fit`"),
        );
        return Ok(ExitStatus::Findings);
    }
    print(around.stdout, &text)?;
    Ok(ExitStatus::Success)
}
