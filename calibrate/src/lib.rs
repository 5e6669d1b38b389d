//! The command `calibrate`: plan, sweep, journal, gate, fit and report.
//!
//! A run goes through the rooms in this order: [`plan`] decides which points are measured,
//! purely; [`open`] finds the device; [`sweep`] takes the points one by one with [`measure`] and
//! writes each to the [`journal`]; [`collect`] makes a data set of the journal; [`finish`] gates
//! and fits it and writes the report. The other commands reuse the later rooms. GPUs are measured
//! by another process ([`remote`]).
//!
//! Left to others: operands and timing (`kernelgauge-cuda`), what a data set is and what is
//! wrong with it (`kernelgauge-data`), fitting (`kernelgauge-model`).

#![forbid(unsafe_code)]

pub mod args;
pub mod choice;
mod clock;
pub mod collect;
pub mod columns;
pub mod commands;
pub mod compare;
pub mod device_list;
pub mod doctor;
pub mod elapsed;
pub mod error;
pub mod fastest;
pub mod findings;
pub mod finish;
pub mod folder;
pub mod fresh;
pub mod interrupt;
pub mod journal;
pub mod launching;
pub mod lock;
pub mod measure;
pub mod merge;
pub mod open;
pub mod peers;
pub mod plan;
pub mod progress;
mod question;
pub mod ranks;
mod reasons;
pub mod remote;
pub mod report;
pub mod summary;
pub mod sweep;
pub mod thin;
pub mod usage;
pub mod utc;

use std::ffi::OsString;
use std::io::Write;
use std::time::Instant;

use clap::Parser as _;
pub use kernelgauge_data::{BuildInfo, Completions, ExitStatus};

use args::{Arguments, Command, Generated};
use commands::Surroundings;
use error::{CommandError, print};

/// Runs `calibrate` with `arguments`, the first of which is its own name.
///
/// Data goes to `stdout`, everything else to `stderr`. A reader of `stdout` that has seen
/// enough ends the command without a word.
pub fn run(
    arguments: impl Iterator<Item = OsString>,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
    build: &BuildInfo,
) -> ExitStatus {
    let mut around = Surroundings { stdout, stderr, build, began: Instant::now() };
    match dispatch(arguments, &mut around) {
        Ok(status) => status,
        Err(error) => error.report(around.stderr),
    }
}

fn dispatch(
    arguments: impl Iterator<Item = OsString>,
    around: &mut Surroundings<'_>,
) -> Result<ExitStatus, CommandError> {
    let arguments: Vec<OsString> = arguments.collect();
    if arguments.get(1).is_some_and(|first| first == remote::worker::NAME) {
        return Ok(remote::worker::run(&around.tool_version(), around.stderr));
    }
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => return Err(usage::mistake(&error).into()),
        Err(help) => {
            print(around.stdout, &help.render().to_string())?;
            return Ok(ExitStatus::Success);
        }
    };
    if arguments.version {
        print(around.stdout, &format!("calibrate {}\n", around.build.version_line()))?;
        return Ok(ExitStatus::Success);
    }
    if let Some(wanted) = arguments.generate {
        print(around.stdout, generated(around.build, wanted))?;
        return Ok(ExitStatus::Success);
    }
    match &arguments.command {
        None => commands::measure::run(&arguments.measure, around),
        Some(Command::Import(import)) => commands::import::run(import, around),
        Some(Command::Fit(fit)) => commands::fit::run(fit, around),
        Some(Command::Evaluate(evaluate)) => commands::evaluate::run(evaluate, around),
        Some(Command::Compare(compare)) => commands::compare::run(compare, around),
        Some(Command::Thin(thin)) => commands::thin::run(thin, around),
        Some(Command::Doctor(doctor)) => commands::doctor::run(doctor, around),
    }
}

fn generated(build: &BuildInfo, wanted: Generated) -> &'static str {
    match wanted {
        Generated::Man => build.man,
        Generated::CompleteBash => build.completions.bash,
        Generated::CompleteZsh => build.completions.zsh,
        Generated::CompleteFish => build.completions.fish,
    }
}
