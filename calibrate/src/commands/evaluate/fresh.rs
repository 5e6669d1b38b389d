//! `calibrate evaluate --fresh`: predicted against freshly measured.
//!
//! The points are new to the model, drawn over its whole domain (`crate::fresh`), and measured
//! in shuffled order, families interleaved, so that drift of the machine spares none of them.

use std::collections::VecDeque;
use std::io::IsTerminal as _;
use std::time::Duration;

use kernelgauge_cuda::random::Random;
use kernelgauge_cuda::{Condition, Device};
use kernelgauge_data::{DataSet, Failure, Family, Nanos};
use kernelgauge_model::{BasisChoice, DomainStatus, Model, Prediction, Query};

use super::comparison::{Compared, Comparison};
use crate::clock::Clock;
use crate::commands::Surroundings;
use crate::error::{CommandError, UsageError};
use crate::fresh::{self, Fresh};
use crate::interrupt::Interrupt;
use crate::lock::DeviceLock;
use crate::measure::{MeasureOptions, NotTaken, Taken, Watch, measure};
use crate::plan::order::shuffle;
use crate::progress::{Progress, Standing};
use crate::sweep;

/// Time to sample one point.
pub(super) const LIMIT: Nanos = Nanos::new(1_000_000_000);

/// What to measure and with what.
pub struct Request<'a> {
    /// Points per family.
    pub count: usize,
    /// Families.
    pub families: &'a [Family],
    /// Seed of the draw and of the operands.
    pub seed: u64,
    /// Time since the command began.
    pub clock: &'a Clock,
}

/// Measures fresh points on `device` and compares them with `model`.
///
/// # Errors
/// A device that is taken. A point that fails is left out and said so.
pub fn compare(
    request: &Request<'_>,
    data: &DataSet,
    model: &Model,
    device: &mut dyn Device,
    around: &mut Surroundings<'_>,
) -> Result<(Comparison, bool), CommandError> {
    warn_of_differences(data, device, around);
    let _locks = DeviceLock::take_all(&device.lock_keys())?;
    let interrupt = Interrupt::listen().map_err(|source| UsageError::System {
        what: "cannot listen for Ctrl-C".to_owned(),
        source,
    })?;
    let points = draw(request, data, model, device, around);
    let mut comparison = Comparison::new(&data.manifest.machine.name, request.seed);
    let mut progress = Progress::new(around.stderr, std::io::stderr().is_terminal());
    let mut interrupted = false;
    let mut queue: VecDeque<(usize, bool)> = (0..points.len()).map(|at| (at, false)).collect();
    let (mut contended, mut failing) = (0, Failing::default());
    while let Some((done, again)) = queue.pop_front() {
        let (fresh, predicted) = &points[done];
        let now = fresh.0.family().to_string();
        let mut watch = FreshWatch {
            interrupt: &interrupt,
            progress: &mut progress,
            clock: request.clock,
            place: (done, points.len()),
            now: &now,
        };
        let seed = Random::stream(request.seed, done as u64).bits();
        match take(device, fresh, seed, &mut watch) {
            // Other programs had the processor: they may be gone a little later.
            Ok(taken) if taken.contended && !again => queue.push_back((done, true)),
            Ok(taken) => {
                failing = Failing::default();
                contended += usize::from(taken.contended);
                let (measured, noise) = summary(&taken);
                comparison.add(Compared::new(fresh, predicted, measured, noise));
            }
            Err(NotTaken::Interrupted) => {
                interrupted = true;
                break;
            }
            Err(NotTaken::Failed(failure)) => {
                failing.note(&failure, device)?;
                progress.say(&format!("warning: {} has no time: {failure}", fresh.0));
            }
        }
    }
    progress.clear();
    if contended > 0 {
        around.warn(
            &format!("other programs had the processor during {contended} of the fresh points"),
            Some("errors include what they took; repeat on a quieter machine"),
        );
    }
    Ok((comparison, interrupted))
}

/// Device failures since the last point that had a time.
#[derive(Default)]
struct Failing(u32);

impl Failing {
    /// Notes a failure.
    ///
    /// # Errors
    /// The device is lost, or fails point after point: the rest would fail as well.
    fn note(&mut self, failure: &Failure, device: &mut dyn Device) -> Result<(), UsageError> {
        self.0 += u32::from(sweep::is_of_device(failure));
        let lost = matches!(device.condition(), Condition::Lost(_));
        if !lost && self.0 < sweep::LOST_AFTER {
            return Ok(());
        }
        Err(UsageError::DeviceLost {
            what: format!("the device fails ({failure}): nothing can be compared"),
            hint: "see `calibrate doctor`, and what `nvidia-smi` says".to_owned(),
        })
    }
}

/// Fresh points of every family with their predictions, shuffled.
fn draw(
    request: &Request<'_>,
    data: &DataSet,
    model: &Model,
    device: &dyn Device,
    around: &mut Surroundings<'_>,
) -> Vec<(Fresh, Prediction)> {
    let mut random = Random::new(request.seed);
    let inside = |fresh: &Fresh| {
        predict(model, fresh).is_some_and(|answer| answer.domain == DomainStatus::Inside)
    };
    let mut points = Vec::new();
    for family in request.families {
        let count = request.count;
        let drawn = fresh::draw(&data.records, *family, count, device, &mut random, &inside);
        if drawn.len() < count {
            let only = drawn.len();
            around.warn(&format!("{family}: only {only} of {count} fresh points found"), None);
        }
        points.extend(drawn.into_iter().filter_map(|f| predict(model, &f).map(|p| (f, p))));
    }
    shuffle(&mut points, &mut random);
    points
}

fn predict(model: &Model, (point, cache): &Fresh) -> Option<Prediction> {
    let query = Query { point, cache: *cache, basis: BasisChoice::Best, extrapolate: false };
    model.predict(&query).ok()
}

/// Measures a fresh point.
fn take(
    device: &mut dyn Device,
    (point, cache): &Fresh,
    seed: u64,
    watch: &mut dyn Watch,
) -> Result<Taken, NotTaken> {
    let timer = device.timer();
    let mut workload = device.prepare(point, *cache, seed)?;
    let options = MeasureOptions { time_limit: LIMIT, samples: None };
    measure(workload.as_mut(), timer, options, watch)
}

/// The median of a fresh point, and half its quartile range relative to the median.
fn summary(Taken { measurement, .. }: &Taken) -> (Nanos, f64) {
    let noise = measurement.spread.map_or(0.0, |spread| {
        (spread.q3.as_f64() - spread.q1.as_f64()) / 2.0 / measurement.time.as_f64()
    });
    (measurement.time, noise)
}

/// Refuses a device that is not the one the data set was measured on: every error would be the
/// difference between the two.
///
/// # Errors
/// Names both.
pub fn same_device(data: &DataSet, device: &dyn Device) -> Result<(), UsageError> {
    let (measured, here) = (&data.manifest.machine, device.machine());
    if measured.device == here.device {
        return Ok(());
    }
    Err(UsageError::mistake(
        format!(
            "{} was measured on {}, and this is {}",
            measured.name, measured.device, here.device
        ),
        "leave `--fresh` out to evaluate on points held out of the fit, or measure this device \
         first: `calibrate --device cpu`",
    ))
}

/// Fresh measurements under other conditions say less about the model.
fn warn_of_differences(data: &DataSet, device: &dyn Device, around: &mut Surroundings<'_>) {
    let differences: Vec<String> = data
        .manifest
        .environment
        .differences(&device.environment())
        .into_iter()
        .map(|fact| {
            let or_nothing = |value: Option<String>| value.unwrap_or("not recorded".to_owned());
            format!("{} was {}, is {}", fact.fact, or_nothing(fact.before), or_nothing(fact.now))
        })
        .collect();
    if !differences.is_empty() {
        around.warn(
            &format!("this is not what the data set was measured on: {}", differences.join("; ")),
            Some("errors include the difference between the machines"),
        );
    }
}

/// Progress and interrupt of the fresh points.
struct FreshWatch<'a, 'w> {
    interrupt: &'a Interrupt,
    progress: &'a mut Progress<'w>,
    clock: &'a Clock,
    place: (usize, usize),
    now: &'a str,
}

impl Watch for FreshWatch<'_, '_> {
    fn tick(&mut self) {
        let (done, total) = self.place;
        let elapsed = self.clock.elapsed();
        let each = elapsed.checked_div(done as u32).unwrap_or(Duration::ZERO);
        let left = each * (total - done) as u32;
        self.progress.show(&Standing { now: self.now, done, total, elapsed, left });
    }

    fn interrupted(&self) -> bool {
        self.interrupt.requested()
    }
}

/// The number of threads a data set was measured with.
pub fn threads_of(data: &DataSet) -> Option<usize> {
    data.manifest.environment.get("threads")?.parse().ok()
}

/// The number of algorithms of each matrix product that were timed, where any were.
pub fn gemm_tune_of(data: &DataSet) -> Option<u32> {
    data.manifest.environment.get("gemm_tune")?.parse().ok()
}
