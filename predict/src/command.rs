//! The command `predict`: from arguments to an exit status.
//!
//! Left to others: what a question means (`question`), whom it is asked (`machine`), how an
//! answer looks (`render`) and questions in files (`batch`).

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};

use clap::Parser;
use kernelgauge_data::{BuildInfo, Diagnostic, ExitStatus};

use crate::args::{Arguments, Generate};
use crate::error::CommandError;
use crate::usage::Usage;

/// Runs the command: `arguments` begin with the program's name, answers go to `stdout`,
/// everything else to `stderr`.
pub fn run(
    arguments: impl Iterator<Item = OsString>,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
    build: &BuildInfo,
) -> ExitStatus {
    let mut stdout = BufWriter::new(stdout);
    let outcome = answer(arguments, &mut stdout, stderr, build)
        .and_then(|status| stdout.flush().map(|()| status).map_err(CommandError::from));
    match outcome {
        Ok(status) => status,
        Err(error) if error.is_broken_pipe() => ExitStatus::Success,
        Err(error) => {
            // Nobody is left to hear that standard error cannot be written.
            let _ = report(&error, stderr);
            error.exit_status()
        }
    }
}

fn answer(
    arguments: impl Iterator<Item = OsString>,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
    build: &BuildInfo,
) -> Result<ExitStatus, CommandError> {
    let arguments = match Arguments::try_parse_from(arguments).map_err(Usage::from) {
        Ok(arguments) => arguments,
        Err(Usage::Help(text)) => return print(stdout, &text),
        Err(Usage::Mistake { message, hint }) => return Err(CommandError::Usage { message, hint }),
    };
    if arguments.version {
        return print(stdout, &format!("predict {}\n", build.version_line()));
    }
    if let Some(what) = arguments.generate {
        return print(stdout, generated(what, build));
    }
    let _ = stderr;
    Err(CommandError::NothingAsked)
}

fn print(stdout: &mut dyn Write, text: &str) -> Result<ExitStatus, CommandError> {
    stdout.write_all(text.as_bytes())?;
    Ok(ExitStatus::Success)
}

fn generated(what: Generate, build: &BuildInfo) -> &'static str {
    match what {
        Generate::Man => build.man,
        Generate::CompleteBash => build.completions.bash,
        Generate::CompleteZsh => build.completions.zsh,
        Generate::CompleteFish => build.completions.fish,
    }
}

/// The two lines every error is.
fn report(error: &CommandError, stderr: &mut dyn Write) -> io::Result<()> {
    writeln!(stderr, "error: {error}")?;
    if let Some(hint) = error.hint() {
        writeln!(stderr, "hint: {hint}")?;
    }
    Ok(())
}
