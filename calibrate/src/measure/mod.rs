//! Measures one point: verified once, warmed up until it is steady, sampled until its median
//! is known.
//!
//! A sample during which other programs had the processor says nothing about the work. It is set
//! aside as long as others can be had in the time allowed; if hardly any can, all are used and
//! the point says so.
//!
//! Left to others: operands and timing (the device), the order of points and what becomes of
//! the result (`sweep`).

mod sampler;
mod stop;

use kernelgauge_cuda::{Timer, Workload};
use kernelgauge_data::{Failure, Measurement, Nanos, StopReason, statistics};

use sampler::Sampler;
use stop::StopRule;

/// Timings of a warm-up window, and how far the medians of two successive windows may differ.
const WINDOW: usize = 3;
const STEADY: f64 = 0.02;
/// Warm-up takes at most this share of the time of a point.
const WARM_UP_SHARE: f64 = 0.2;
/// A point that was interrupted with this many samples is kept; with fewer it is measured
/// again.
const KEPT_WHEN_INTERRUPTED: usize = 10;
/// From this share of throttled samples on, the point is flagged.
const THROTTLED_SHARE: f64 = 0.1;
/// The same of contended samples, where an exact number was asked for.
const CONTENDED_SHARE: f64 = 0.1;
/// Share of the time of a point after which samples during which nothing else ran are given up,
/// if hardly any came.
const PATIENCE: f64 = 0.2;
/// So many samples during which nothing else ran are enough to do without the others.
const LEAST_CLEAN: usize = 3;

/// How long and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasureOptions {
    /// Longest time of warm-up and samples; three samples are taken whatever it is.
    pub time_limit: Nanos,
    /// Exactly this many samples, whatever their noise and the time limit.
    pub samples: Option<u32>,
}

/// Whoever watches a point being measured.
pub trait Watch {
    /// Called between samples, for a progress line that keeps ticking.
    fn tick(&mut self);
    /// Whether the user asked to stop.
    fn interrupted(&self) -> bool;
}

/// A measured point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Its samples, summarised.
    pub measurement: Measurement,
    /// Whether the device lowered its clock in a tenth of the samples or more.
    pub throttled: bool,
    /// Whether other programs had the processor in so many samples that these had to be used.
    pub contended: bool,
}

/// Why a point was not measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotTaken {
    /// It failed.
    Failed(Failure),
    /// The user stopped the run before it had enough samples.
    Interrupted,
}

impl From<Failure> for NotTaken {
    fn from(failure: Failure) -> Self {
        NotTaken::Failed(failure)
    }
}

/// Measures `workload`.
///
/// # Errors
/// [`NotTaken::Failed`] with what the device says, a wrong result, or a time below what the
/// timer resolves; [`NotTaken::Interrupted`].
pub fn measure(
    workload: &mut dyn Workload,
    timer: Timer,
    options: MeasureOptions,
    watch: &mut dyn Watch,
) -> Result<Taken, NotTaken> {
    workload.verify()?;
    let verified = workload.has_result();
    watch.tick();
    let mut sampler = Sampler::new(workload, timer);
    sampler.lengthen()?;
    warm_up(&mut sampler, options, watch)?;
    sampler.begin();
    let Samples { times: samples, contended, stop } = take_samples(&mut sampler, options, watch)?;
    let (time, spread) = statistics::summarise(&samples)
        .ok_or_else(|| Failure::NoValidSamples("none was taken".to_owned()))?;
    Ok(Taken {
        throttled: f64::from(sampler.throttled) >= THROTTLED_SHARE * samples.len() as f64,
        contended,
        measurement: Measurement {
            time,
            samples: samples.len() as u32,
            executions_per_sample: sampler.executions(),
            spread: Some(spread),
            stop: Some(stop),
            verified,
            sm_clock_mhz: sampler.sm_clock_mhz(),
            temperature_c: sampler.temperature_c(),
        },
    })
}

/// Executes until two successive windows agree, or a share of the time is used.
fn warm_up(
    sampler: &mut Sampler<'_>,
    options: MeasureOptions,
    watch: &mut dyn Watch,
) -> Result<(), NotTaken> {
    let limit = Nanos::saturating(WARM_UP_SHARE * options.time_limit.as_f64());
    let mut before: Option<f64> = None;
    while sampler.spent < limit && !watch.interrupted() {
        let mut window = Vec::with_capacity(WINDOW);
        while window.len() < WINDOW && sampler.spent < limit {
            window.push(sampler.sample()?.time.as_f64());
            watch.tick();
        }
        let Some(now) = statistics::median(&window) else { break };
        if before.is_some_and(|before| (now - before).abs() <= STEADY * now) {
            break;
        }
        before = Some(now);
    }
    Ok(())
}

/// The samples of a point.
struct Samples {
    times: Vec<Nanos>,
    contended: bool,
    stop: StopReason,
}

fn take_samples(
    sampler: &mut Sampler<'_>,
    options: MeasureOptions,
    watch: &mut dyn Watch,
) -> Result<Samples, NotTaken> {
    let mut kept = Kept::default();
    let mut rule = StopRule::new(options.time_limit, options.samples);
    let stop = loop {
        let sample = sampler.sample()?;
        if sample.lengthened {
            kept = Kept::default();
            rule = StopRule::new(options.time_limit, options.samples);
        }
        // Samples of an exact number are not chosen among.
        kept.add(sample.time, sample.contended, options.samples.is_some());
        watch.tick();
        if let Some(stop) = rule.decide(&kept.clean, sampler.spent) {
            break stop;
        }
        if options.samples.is_none() && kept.hopeless(sampler.spent, options.time_limit) {
            break StopReason::TimeLimit;
        }
        if watch.interrupted() {
            if kept.all() < KEPT_WHEN_INTERRUPTED {
                return Err(NotTaken::Interrupted);
            }
            break StopReason::Interrupted;
        }
    };
    Ok(kept.samples(stop))
}

/// Samples by whether other programs had the processor meanwhile.
#[derive(Default)]
struct Kept {
    clean: Vec<Nanos>,
    set_aside: Vec<Nanos>,
    contended: usize,
}

impl Kept {
    fn add(&mut self, time: Nanos, contended: bool, whatever: bool) {
        self.contended += usize::from(contended);
        if contended && !whatever { &mut self.set_aside } else { &mut self.clean }.push(time);
    }

    /// Whether waiting for clean samples would take longer than they are worth: on a machine
    /// that stays busy, every point would use up its whole time.
    fn hopeless(&self, spent: Nanos, limit: Nanos) -> bool {
        let few_clean = self.clean.len() < LEAST_CLEAN;
        let patience = PATIENCE * limit.as_f64();
        few_clean && self.all() >= KEPT_WHEN_INTERRUPTED && spent.as_f64() >= patience
            || self.all() >= LEAST_CLEAN && spent >= limit
    }

    fn all(&self) -> usize {
        self.clean.len() + self.set_aside.len()
    }

    /// The clean samples where there are enough, else all of them.
    fn samples(mut self, stop: StopReason) -> Samples {
        if self.clean.len() >= LEAST_CLEAN {
            // Some are among them only where an exact number was asked for.
            let among = self.contended - self.set_aside.len();
            let contended = among as f64 >= CONTENDED_SHARE * self.clean.len() as f64 && among > 0;
            return Samples { times: self.clean, contended, stop };
        }
        self.clean.append(&mut self.set_aside);
        Samples { times: self.clean, contended: self.contended > 0, stop }
    }
}

#[cfg(test)]
mod tests;
