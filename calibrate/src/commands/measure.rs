//! `calibrate`: plan, measure, and make a model of it.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kernelgauge_cuda::Device;
use kernelgauge_data::{ExitStatus, Machine, Nanos, Outcome, RunStatus, table};

use super::{Surroundings, families, traced};
use crate::args::{Format, MeasureArguments};
use crate::clock::Clock;
use crate::collect::{self, Provenance};
use crate::device_list::DeviceList;
use crate::error::{CommandError, UsageError, print};
use crate::finish::{self, Target};
use crate::folder;
use crate::interrupt::Interrupt;
use crate::journal::{self, Contents, FORMAT_VERSION, Header, Journal};
use crate::lock::DeviceLock;
use crate::measure::MeasureOptions;
use crate::open::{self, Opening};
use crate::plan::show::{self, Overview};
use crate::plan::{DEEPEST, Plan, Selection};
use crate::progress::Progress;
use crate::ranks;
use crate::remote::Deadlines;
use crate::sweep::{self, End, Setting};

/// Longest time to sample one point.
const LONGEST_POINT: Duration = Duration::from_secs(5);
/// Under a budget a point gets at most this share of it, and never less than a tenth of a
/// second.
const POINT_SHARE: u32 = 300;
const SHORTEST_POINT_LIMIT: Duration = Duration::from_millis(100);
/// What is left of a budget for fit and report: this share, and at most a minute.
const KEPT_FOR_FIT: f64 = 0.25;
const LONGEST_FIT: Duration = Duration::from_secs(60);

/// What a run measures, decided before anything is touched.
struct Run {
    plan: Plan,
    selected: Vec<usize>,
    measuring: MeasureOptions,
    folder: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from its end, with the remedy.
pub fn run(
    arguments: &MeasureArguments,
    around: &mut Surroundings<'_>,
) -> Result<ExitStatus, CommandError> {
    let list: DeviceList = arguments.device.parse()?;
    families(&arguments.ops, &Plan::FAMILIES)?;
    refuse_what_has_no_effect(arguments, &list)?;
    let opening = Opening {
        threads: arguments.threads,
        gemm_tune: arguments.gemm_tune,
        deadlines: Deadlines { least: arguments.deadline },
        tool: &around.tool_version(),
        began: around.began,
    };
    let place = place(arguments, &list)?;
    // Rank 0 plans for all.
    let plans = place.as_ref().is_none_or(|place| place.rank == 0);
    let ops = if plans { traced::ops(arguments, around)? } else { None };
    let opened = match place {
        None => open::open(&list, &opening)?,
        Some(place) => {
            let within = arguments.join_within.unwrap_or(ranks::JOIN_WITHIN);
            match open::open_ranks(&list, &opening, &place, within)? {
                Some(opened) => opened,
                // Another rank: rank 0 has measured with it, and says everything.
                None => return Ok(ExitStatus::Success),
            }
        }
    };
    let open::Opened { mut device, clock, catalogue } = opened;
    let chosen = families(&arguments.ops, catalogue.families())?;
    let machine = device.machine();
    let plan = match ops {
        None => Plan::of(catalogue, arguments.seed),
        Some(ops) => {
            let workload = traced::workload(&ops, catalogue, device.as_ref(), around)?;
            Plan::of_workload(workload, catalogue, arguments.seed)
        }
    };
    let deepest = if arguments.quick { 0 } else { DEEPEST };
    let run = Run {
        selected: plan.select(&Selection { families: chosen, deepest }),
        plan,
        measuring: measuring(arguments),
        folder: folder_of(arguments, &machine),
    };
    traced::refuse_nothing(&run.plan, &run.selected, arguments)?;
    if arguments.plan {
        let time = arguments.budget.map(for_measuring);
        return show_plan(arguments.format, &run, time, device.as_ref(), around);
    }
    measure(arguments, &run, device.as_mut(), &clock, around)
}

/// Flags for another kind of device are mistakes: whoever gave them counts on them.
fn refuse_what_has_no_effect(
    arguments: &MeasureArguments,
    list: &DeviceList,
) -> Result<(), UsageError> {
    let gpus = matches!(list, DeviceList::AllGpus | DeviceList::Gpus(_));
    let of_gpus = "leave it out, or name GPUs: `--device 0`";
    let ranks = arguments.rank.is_some() || arguments.ranks.is_some();
    let stated = [
        (!gpus && arguments.gemm_tune.is_some(), "--gemm-tune", of_gpus),
        (!gpus && arguments.deadline.is_some(), "--deadline", of_gpus),
        (!gpus && (ranks || arguments.master.is_some()), "--rank", of_gpus),
        (gpus && arguments.threads.is_some(), "--threads", "leave it out, or `--device cpu`"),
    ];
    match stated.into_iter().find(|(wrong, ..)| *wrong) {
        None => check_collective_timeout(),
        Some((_, flag, hint)) => {
            let what = format!("{flag} has no effect on `--device {}`", arguments.device);
            Err(UsageError::mistake(what, hint))
        }
    }
}

/// The process that measures reads it too, and has no way to complain.
fn check_collective_timeout() -> Result<(), UsageError> {
    const NAME: &str = "KERNELGAUGE_COLLECTIVE_TIMEOUT";
    let Ok(text) = std::env::var(NAME) else { return Ok(()) };
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds.is_finite() => Ok(()),
        _ => {
            let what = format!("{NAME} is `{}`, no number of seconds", table::shorten(&text));
            Err(UsageError::mistake(what, "such as 30, or unset it"))
        }
    }
}

/// The place of this process, where GPUs are measured by several.
fn place(
    arguments: &MeasureArguments,
    list: &DeviceList,
) -> Result<Option<ranks::Place>, CommandError> {
    if !matches!(list, DeviceList::AllGpus | DeviceList::Gpus(_)) {
        return Ok(None);
    }
    let MeasureArguments { rank, ranks, master, .. } = arguments;
    let flags = ranks::Flags { rank: *rank, ranks: *ranks, master: master.as_deref() };
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Ok(ranks::detect(flags, &variable)?)
}

fn measuring(arguments: &MeasureArguments) -> MeasureOptions {
    let usual = arguments.budget.map_or(LONGEST_POINT, |budget| {
        (budget / POINT_SHARE).clamp(SHORTEST_POINT_LIMIT, LONGEST_POINT)
    });
    let limit = arguments.max_time_per_point.unwrap_or(usual);
    MeasureOptions {
        time_limit: Nanos::saturating(limit.as_secs_f64() * 1e9),
        samples: arguments.samples,
    }
}

/// What of a budget is measured in.
fn for_measuring(budget: Duration) -> Duration {
    budget - budget.mul_f64(KEPT_FOR_FIT).min(LONGEST_FIT)
}

fn folder_of(arguments: &MeasureArguments, machine: &Machine) -> PathBuf {
    arguments.out.clone().unwrap_or_else(|| Path::new("calibrations").join(&machine.name))
}

fn show_plan(
    format: Format,
    run: &Run,
    time: Option<Duration>,
    device: &dyn Device,
    around: &mut Surroundings<'_>,
) -> Result<ExitStatus, CommandError> {
    let limit = run.measuring.time_limit;
    let mut overview = Overview::new(&run.plan, &run.selected, device, limit, &run.folder);
    overview.in_budget =
        time.map(|time| show::fitting(&run.plan, &run.selected, device, limit, time));
    let text = match format {
        Format::Table => overview.text(&device.machine()),
        Format::Markdown => overview.columns().markdown(),
        Format::Json => finish::json(&overview)?,
    };
    print(around.stdout, &text)?;
    Ok(ExitStatus::Success)
}

fn measure(
    arguments: &MeasureArguments,
    run: &Run,
    device: &mut dyn Device,
    clock: &Clock,
    around: &mut Surroundings<'_>,
) -> Result<ExitStatus, CommandError> {
    folder::is_free_for_a_run(&run.folder)?;
    folder::prepare(&run.folder)?;
    folder::prepare(&run.folder.join(finish::SAMPLES))?;
    let _locks = DeviceLock::take_all(&device.lock_keys())?;
    let interrupt = Interrupt::listen().map_err(|source| UsageError::System {
        what: "cannot listen for Ctrl-C".to_owned(),
        source,
    })?;
    let header = header(arguments, run, device, around);
    let journal::Opened { mut journal, mut contents } =
        Journal::open(&run.folder, header, arguments.new_run)?;
    let setting = Setting {
        plan: &run.plan,
        selected: &run.selected,
        measuring: run.measuring,
        until: arguments.budget.map(for_measuring),
        retry_failed: arguments.retry_failed,
        clock,
        interrupt: &interrupt,
    };
    say_what_is_there(&setting, &contents, around);
    let terminal = std::io::stderr().is_terminal();
    let mut progress = Progress::new(around.stderr, terminal);
    let end = sweep::run(&setting, device, &mut journal, &mut contents, &mut progress)?;
    progress.clear();
    drop(journal);
    conclude(arguments, &setting, &end, &contents, device, &run.folder, around)
}

fn header(
    arguments: &MeasureArguments,
    run: &Run,
    device: &dyn Device,
    around: &Surroundings<'_>,
) -> Header {
    Header {
        format_version: FORMAT_VERSION,
        tool_version: around.build.version.to_owned(),
        machine: device.machine().name,
        plan: run.plan.hash(),
        seed: run.plan.seed,
        samples: arguments.samples,
        started_utc: crate::utc::now(),
        environment: device.environment(),
    }
}

fn say_what_is_there(setting: &Setting<'_>, contents: &Contents, around: &mut Surroundings<'_>) {
    let total = setting.selected.len();
    let done = total - sweep::left_to_do(setting, contents).len();
    if done > 0 {
        let begun = &contents.header.started_utc;
        around.say(&format!("continuing the run begun {begun}: {done} of {total} points are done"));
    }
    if contents.torn {
        around.warn("the last line of the journal was torn and is measured again", None);
    }
}

/// Says how the sweep ended and, unless the user wants out, makes a model of what there is.
fn conclude(
    arguments: &MeasureArguments,
    setting: &Setting<'_>,
    end: &End,
    contents: &Contents,
    device: &dyn Device,
    folder: &Path,
    around: &mut Surroundings<'_>,
) -> Result<ExitStatus, CommandError> {
    let left = sweep::missing(setting, contents);
    let (total, done) = (setting.selected.len(), setting.selected.len() - left.len());
    let resume = resume_command(arguments, folder);
    match end {
        End::Interrupted => {
            around.say(&format!(
                "stopped after {done} of {total} points; everything measured is kept. \
                 Continue with: {resume}"
            ));
            return Ok(ExitStatus::Partial);
        }
        End::DeviceLost(failure) => {
            let what = format!("the device failed point after point ({failure})");
            return Err(device_lost(&what, done, total, &resume).into());
        }
        End::DeviceGone(failure) => {
            let what = format!("the device is lost ({failure})");
            return Err(device_lost(&what, done, total, &resume).into());
        }
        End::BudgetUsed => around.say(&format!(
            "measured {done} of {total} planned points in the time given; the rest would refine \
             the model: {}",
            resume_command(&MeasureArguments { budget: None, ..arguments.clone() }, folder)
        )),
        End::Finished => {}
    }
    let provenance = Provenance {
        machine: device.machine(),
        origin: device.origin(),
        environment: device.environment(),
        tool_version: around.tool_version(),
        status: if left.is_empty() { RunStatus::Complete } else { RunStatus::Partial },
    };
    let data = collect::data_set(contents, &provenance);
    let beside = device.attachments();
    let target = Target { folder, seed: arguments.seed, format: arguments.format, beside: &beside };
    let finished = finish::run(data, &target, around)?;
    traced::say_what_is_covered(setting.plan, contents, around);
    // Reaching the budget is what was asked for, unless not even the first pass fitted in it.
    let first_pass = left.iter().filter(|index| setting.plan.points[**index].level == 0).count();
    if first_pass > 0 {
        around.warn(
            &format!("the first pass is not complete: {first_pass} of its points are missing"),
            Some(&format!("it continues with: {}", resume_command(arguments, folder))),
        );
        return Ok(ExitStatus::Partial);
    }
    let failed = contents.records().values().any(|r| matches!(r.outcome, Outcome::Failed(_)));
    Ok(if failed { ExitStatus::Findings } else { finished })
}

fn device_lost(what: &str, done: usize, total: usize, resume: &str) -> UsageError {
    UsageError::DeviceLost {
        what: format!("{what}: stopped at {done} of {total}"),
        hint: format!("once it works again, continue with: {resume} --retry-failed"),
    }
}

/// The command that continues this run.
fn resume_command(arguments: &MeasureArguments, folder: &Path) -> String {
    let mut words = vec!["calibrate".to_owned(), format!("--device {}", arguments.device)];
    let mut flag = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.push(format!("--{name} {value}"));
        }
    };
    flag("threads", arguments.threads.map(|threads| threads.to_string()));
    flag("ops", (!arguments.ops.is_empty()).then(|| arguments.ops.join(",")));
    flag("budget", arguments.budget.map(|budget| format!("{}s", budget.as_secs_f64())));
    flag("seed", (arguments.seed != 0).then(|| arguments.seed.to_string()));
    flag("gemm-tune", arguments.gemm_tune.map(|count| count.to_string()));
    flag("samples", arguments.samples.map(|samples| samples.to_string()));
    let seconds = |time: Duration| format!("{}s", time.as_secs_f64());
    flag("deadline", arguments.deadline.map(seconds));
    flag("rank", arguments.rank.map(|rank| rank.to_string()));
    flag("ranks", arguments.ranks.map(|ranks| ranks.to_string()));
    flag("master", arguments.master.clone());
    flag("join-within", arguments.join_within.map(seconds));
    for (given, name) in [
        (arguments.quick, "--quick"),
        (arguments.allow_truncated, "--allow-truncated"),
        (arguments.allow_unknown_schema, "--allow-unknown-schema"),
    ] {
        words.extend(given.then(|| name.to_owned()));
    }
    if !arguments.from_trace.is_empty() {
        words.push("--from-trace".to_owned());
        words.extend(arguments.from_trace.iter().map(|path| quoted(path)));
    }
    words.push(format!("--out {}", quoted(folder)));
    words.join(" ")
}

/// The path as a shell reads it back.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::Arguments;

    fn parsed(line: &str) -> MeasureArguments {
        Arguments::try_parse_from(line.split(' ')).unwrap().measure
    }

    #[test]
    fn the_resume_command_says_what_matters_and_no_more() {
        let line = "calibrate --device cpu --threads 2 --ops gemm,copy --budget 90s --seed 3 \
                    --samples 9 --quick --out calibrations/x";
        let line = line.replace("                    ", "");
        assert_eq!(resume_command(&parsed(&line), Path::new("calibrations/x")), line);
        let tuned = "calibrate --device 0 --gemm-tune 8 --out a";
        assert_eq!(resume_command(&parsed(tuned), Path::new("a")), tuned);
        let traced =
            "calibrate --device cpu --quick --allow-truncated --from-trace a.json b --out a";
        assert_eq!(resume_command(&parsed(traced), Path::new("a")), traced);
        let one_of_many = "calibrate --device 0 --deadline 1s --rank 0 --ranks 3 --master n0:29600 \
                           --join-within 5s --out a";
        let one_of_many = one_of_many.replace("                           ", "");
        assert_eq!(resume_command(&parsed(&one_of_many), Path::new("a")), one_of_many);
        let short = parsed("calibrate --device cpu --retry-failed --new-run");
        assert_eq!(resume_command(&short, Path::new("a b")), "calibrate --device cpu --out 'a b'");
    }

    #[test]
    fn flags_without_effect_on_the_device_are_refused() {
        let refused = |line: &str| {
            let arguments = parsed(line);
            let list = arguments.device.parse().unwrap();
            refuse_what_has_no_effect(&arguments, &list).err().map(|error| error.to_string())
        };
        for line in ["calibrate --device cpu --threads 2", "calibrate --device 0 --deadline 1s"] {
            assert_eq!(refused(line), None, "{line}");
        }
        let what = "--gemm-tune has no effect on `--device cpu`";
        assert_eq!(refused("calibrate --device cpu --gemm-tune 4").unwrap(), what);
        assert!(refused("calibrate --device cpu --deadline 1s").is_some());
        assert!(refused("calibrate --device 0..7 --threads 4").is_some());
        assert!(refused("calibrate --device cpu --rank 0 --ranks 2").is_some());
    }

    #[test]
    fn a_budget_bounds_the_time_of_a_point() {
        let limit = |line| measuring(&parsed(line)).time_limit.seconds();
        assert_eq!(limit("calibrate"), 5.0);
        assert_eq!(limit("calibrate --budget 60s"), 0.2);
        assert_eq!(limit("calibrate --budget 1s"), 0.1);
        assert_eq!(limit("calibrate --budget 5h"), 5.0);
        assert_eq!(limit("calibrate --budget 60s --max-time-per-point 2s"), 2.0);
    }
}
