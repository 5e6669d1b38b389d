//! The command `predict`: from arguments to an exit status.
//!
//! Left to others: what a question means (`question`), whom it is asked (`machine`), how an
//! answer looks (`render`) and questions in files (`batch`).

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use clap::Parser;
use kernelgauge_data::{BuildInfo, CacheState, Diagnostic, ExitStatus, Family, Point};
use kernelgauge_model::BasisChoice;
use kernelgauge_model::prediction::ReferenceModel;

use crate::args::{
    Arguments, BasisName, CacheName, Command, EmbeddingArguments, Generate, ModelOptions,
};
use crate::error::CommandError;
use crate::predictor::{Ask, Predictor};
use crate::question::{Asked, Subject, TablesError, shapes, tables};
use crate::render::{Answer, TableSet};
use crate::terminal::harmless;
use crate::usage::Usage;
use crate::{batch, convert, inspect, listing, notes, ops, overheads};

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
    match arguments.command {
        None => Err(CommandError::NothingAsked),
        Some(Command::Machines(machines)) => listing::write(machines.format, stdout),
        Some(Command::Batch(batch)) => batch::run(&batch, ask(&batch.model), stdout, stderr),
        Some(Command::Inspect(traces)) => inspect::run(&traces, stdout, stderr),
        Some(Command::Convert(convert)) => convert::run(&convert, stdout, stderr),
        Some(Command::Ops(arguments)) => {
            ops::run(&arguments, ask(&arguments.model), stdout, stderr)
        }
        Some(Command::Overheads(arguments)) => overheads::run(&arguments, stdout, stderr),
        Some(Command::Embedding(bags)) if bags.tables_file.is_some() => {
            answer_set(&bags, stdout, stderr)
        }
        Some(command) => match Asked::of(&command)? {
            Some(asked) => answer_one(&asked, stdout, stderr),
            None => Err(CommandError::NothingAsked),
        },
    }
}

fn answer_one(
    asked: &Asked<'_>,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Result<ExitStatus, CommandError> {
    let options = asked.options();
    let predictor = Predictor::named(options.model.machine.as_deref())?;
    let machine = predictor.machine();
    let variants = predictor.model().variants(asked.family());
    let ask = ask(&options.model);
    let subject = Subject {
        machine: &machine.name,
        links: machine.links,
        variants: &variants,
        described: ask.basis == BasisChoice::Described,
    };
    let point = asked.point(&subject)?;
    let (prediction, stand_in) = predictor.answer(&point, ask)?;
    let explanation = match options.explain {
        true => {
            let other = predictor.stand_in(&point).map(|(other, _)| other);
            Some(predictor.explain(other.as_ref().unwrap_or(&point), ask)?)
        }
        false => None,
    };
    let answered_by = stand_in.map(|(_, asked, used)| (asked, used));
    Answer { point: &point, prediction, machine, explanation, answered_by }
        .write(options.format, stdout)?;
    // The answer is out before anything about it is said.
    stdout.flush()?;
    if let Some((collective, asked, used)) = stand_in {
        notes::stood_in(stderr, collective, asked, used, None)?;
    }
    notes::of_model(stderr, &predictor)?;
    Ok(ExitStatus::Success)
}

/// Largest file of tables that is read: a million lines.
const TABLES_LIMIT: u64 = 64 << 20;

/// One embedding op over the tables of a file.
fn answer_set(
    bags: &EmbeddingArguments,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Result<ExitStatus, CommandError> {
    let options = &bags.ask;
    let predictor = Predictor::named(options.model.machine.as_deref())?;
    let machine = predictor.machine();
    let variants = predictor.model().variants(Family::Embedding);
    let ask = ask(&options.model);
    let subject = Subject {
        machine: &machine.name,
        links: machine.links,
        variants: &variants,
        described: ask.basis == BasisChoice::Described,
    };
    let common = shapes::bag(bags, &subject)?;
    let path = Path::new(bags.tables_file.as_deref().unwrap_or_default());
    let mut text = String::new();
    let file = File::open(path).map(|file| file.take(TABLES_LIMIT));
    file.and_then(|mut file| file.read_to_string(&mut text))
        .map_err(|source| TablesError::Read { path: path.display().to_string(), source })?;
    let tables = tables::read(&text, bags, common)?;
    let points: Vec<(u64, Point)> =
        tables.iter().map(|alike| (alike.count, Point::Embedding(alike.bag))).collect();
    let (prediction, shares) = predictor
        .predict_set(&points, ask)
        .map_err(|(kind, source)| CommandError::Table { line: tables[kind].line, source })?;
    TableSet { tables: &tables, shares: &shares, prediction, machine, explain: options.explain }
        .write(options.format, stdout)?;
    stdout.flush()?;
    notes::of_model(stderr, &predictor)?;
    Ok(ExitStatus::Success)
}

fn ask(options: &ModelOptions) -> Ask {
    let cache = match options.cache {
        None => CacheState::Unstated,
        Some(CacheName::Hot) => CacheState::Hot,
        Some(CacheName::Cold) => CacheState::Cold,
    };
    let basis = match options.basis {
        BasisName::Best => BasisChoice::Best,
        BasisName::Analytical => BasisChoice::Analytical,
        BasisName::Learned => BasisChoice::Learned,
        BasisName::Hybrid => BasisChoice::Hybrid,
        BasisName::Described => BasisChoice::Described,
        BasisName::Roofline => BasisChoice::Reference(ReferenceModel::Roofline),
        BasisName::Plain => BasisChoice::Reference(ReferenceModel::EmbeddingPlain),
        BasisName::CacheAware => BasisChoice::Reference(ReferenceModel::EmbeddingCache),
        BasisName::Sigmoid => BasisChoice::Reference(ReferenceModel::Sigmoid),
    };
    Ask { cache, basis, extrapolate: options.extrapolate }
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
    writeln!(stderr, "error: {}", harmless(&error.to_string()))?;
    if let Some(hint) = error.hint() {
        writeln!(stderr, "hint: {}", harmless(&hint))?;
    }
    Ok(())
}
