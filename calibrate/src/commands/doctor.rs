//! `calibrate doctor`: prints what was found; the exit status derives from it.

use kernelgauge_data::ExitStatus;
use serde::Serialize;

use super::Surroundings;
use crate::args::DoctorArguments;
use crate::doctor::{self, Finding};
use crate::error::{CommandError, print};
use crate::finish;

/// The JSON document.
#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    findings: &'a [Finding],
}

/// Runs the command.
///
/// # Errors
/// When standard output cannot be written to.
pub fn run(
    arguments: &DoctorArguments,
    around: &mut Surroundings<'_>,
) -> Result<ExitStatus, CommandError> {
    let findings = doctor::examine(&arguments.out);
    let text = if arguments.json {
        finish::json(&Document { schema_version: 1, findings: &findings })?
    } else {
        doctor::text(&findings)
    };
    print(around.stdout, &text)?;
    Ok(doctor::exit_status(&findings, arguments.strict))
}
