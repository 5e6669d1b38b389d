//! Measures one point: verified once, warmed up until it is steady, sampled until its median
//! is known.
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
    watch.tick();
    let mut sampler = Sampler::new(workload, timer);
    sampler.lengthen()?;
    warm_up(&mut sampler, options, watch)?;
    sampler.throttled = 0;
    let (samples, stop) = take_samples(&mut sampler, options, watch)?;
    let (time, spread) = statistics::summarise(&samples)
        .ok_or_else(|| Failure::NoValidSamples("none was taken".to_owned()))?;
    Ok(Taken {
        throttled: f64::from(sampler.throttled) >= THROTTLED_SHARE * samples.len() as f64,
        measurement: Measurement {
            time,
            samples: samples.len() as u32,
            executions_per_sample: sampler.executions(),
            spread: Some(spread),
            stop: Some(stop),
            verified: true,
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
            window.push(sampler.sample()?.0.as_f64());
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

fn take_samples(
    sampler: &mut Sampler<'_>,
    options: MeasureOptions,
    watch: &mut dyn Watch,
) -> Result<(Vec<Nanos>, StopReason), NotTaken> {
    let mut samples = Vec::new();
    let mut rule = StopRule::new(options.time_limit, options.samples);
    loop {
        let (sample, lengthened) = sampler.sample()?;
        if lengthened {
            samples.clear();
            rule = StopRule::new(options.time_limit, options.samples);
        }
        samples.push(sample);
        watch.tick();
        if let Some(stop) = rule.decide(&samples, sampler.spent) {
            return Ok((samples, stop));
        }
        if watch.interrupted() {
            if samples.len() < KEPT_WHEN_INTERRUPTED {
                return Err(NotTaken::Interrupted);
            }
            return Ok((samples, StopReason::Interrupted));
        }
    }
}

#[cfg(test)]
mod tests;
