//! What became of a point: measured, skipped or failed. Only `Measured` carries a time.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::conditions::Conditions;
use crate::nearest::{self, UnknownName};
use crate::point::Point;
use crate::units::{Bytes, Nanos};

/// Order statistics of the samples of one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// Fastest sample.
    pub min: Nanos,
    /// 10th percentile.
    pub p10: Nanos,
    /// First quartile.
    pub q1: Nanos,
    /// Third quartile.
    pub q3: Nanos,
    /// 90th percentile.
    pub p90: Nanos,
    /// Slowest sample.
    pub max: Nanos,
    /// Arithmetic mean.
    pub mean: Nanos,
    /// Sample standard deviation.
    pub stdev: Nanos,
}

/// Why sampling of a point ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The 95 % interval of the median is within 1 % of it.
    Converged,
    /// More samples no longer change the noise.
    NoiseStable,
    /// The time allowed for one point was used.
    TimeLimit,
    /// The number of samples allowed for one point was reached.
    SampleLimit,
    /// The user stopped the run.
    Interrupted,
}

impl StopReason {
    const ALL: [StopReason; 5] = [
        StopReason::Converged,
        StopReason::NoiseStable,
        StopReason::TimeLimit,
        StopReason::SampleLimit,
        StopReason::Interrupted,
    ];

    /// The name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            StopReason::Converged => "converged",
            StopReason::NoiseStable => "noise_stable",
            StopReason::TimeLimit => "time_limit",
            StopReason::SampleLimit => "sample_limit",
            StopReason::Interrupted => "interrupted",
        }
    }
}

impl FromStr for StopReason {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        StopReason::ALL.into_iter().find(|reason| reason.name() == text).ok_or_else(|| {
            nearest::unknown("stop reason", text, StopReason::ALL.map(StopReason::name))
        })
    }
}

/// All samples of a point, summarised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// The representative time of one execution: the median where samples are known, else
    /// what the source states (usually a mean).
    pub time: Nanos,
    /// Number of samples; 0 when the source does not say.
    pub samples: u32,
    /// Executions behind one sample; 0 when the source does not say.
    pub executions_per_sample: u32,
    /// Spread of the samples, where known.
    pub spread: Option<Spread>,
    /// Why sampling ended, where known.
    pub stop: Option<StopReason>,
    /// Whether the result was compared with a plain reference.
    pub verified: bool,
    /// Clock of the multiprocessors while it ran, in MHz: the median over its samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_clock_mhz: Option<u32>,
    /// Highest temperature of the device while it ran, in degrees Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<u32>,
}

impl Measurement {
    /// A time whose samples are not known, as most published tables give it.
    pub fn stated(time: Nanos) -> Self {
        Measurement {
            time,
            samples: 0,
            executions_per_sample: 0,
            spread: None,
            stop: None,
            verified: false,
            sm_clock_mhz: None,
            temperature_c: None,
        }
    }
}

/// Why a point was not attempted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// The point needs more memory than the device has free.
    OutOfMemory {
        /// Needed.
        needs: Bytes,
        /// Free when the run began.
        free: Bytes,
    },
    /// The device or its library has no such op or dtype.
    Unsupported(String),
    /// The time budget ended first.
    Budget,
    /// The source marked the row as skipped, in its own words.
    Stated(String),
}

/// Why an attempted point has no time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// No sample was valid: all throttled, not finite, zero or negative.
    NoValidSamples(String),
    /// Shorter than the timer can tell even when many executions are timed together.
    BelowTimerResolution,
    /// The result differs from the reference.
    WrongResult(String),
    /// The device, driver or library returned an error.
    Device(String),
    /// The deadline passed.
    TimedOut(String),
    /// Not attempted because an earlier failure had broken the device.
    AfterDeviceLost(String),
    /// The source marked the row as failed, in its own words.
    Stated(String),
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkipReason::OutOfMemory { needs, free } => write!(f, "needs {needs}, {free} free"),
            SkipReason::Unsupported(what) => write!(f, "unsupported: {what}"),
            SkipReason::Budget => f.write_str("time budget used"),
            SkipReason::Stated(reason) => write!(f, "{reason}"),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NoValidSamples(why) => write!(f, "no valid samples: {why}"),
            Failure::BelowTimerResolution => f.write_str("below timer resolution"),
            Failure::WrongResult(what) => write!(f, "wrong result: {what}"),
            Failure::Device(what) => write!(f, "device error: {what}"),
            Failure::TimedOut(what) => write!(f, "timed out: {what}"),
            Failure::AfterDeviceLost(what) => write!(f, "not attempted after: {what}"),
            Failure::Stated(reason) => write!(f, "{reason}"),
        }
    }
}

/// What became of a point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It has a time.
    Measured(Measurement),
    /// It was not attempted.
    Skipped(SkipReason),
    /// It was attempted and has no time.
    Failed(Failure),
}

/// A finding of the quality gate. A flagged record stays in the file; those whose
/// [`Flag::leaves_fit`] is true are not fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// Faster than the arithmetic or bandwidth peak of the device allows.
    BelowSpeedOfLight,
    /// Slower than both neighbours on its line by more than noise explains.
    Spike,
    /// More work took less time than noise explains.
    NonMonotonic,
    /// Fewer samples than a stable median needs.
    FewSamples,
    /// The device lowered its clock while the point ran.
    Throttled,
    /// Other programs had the processor while the point ran.
    Contended,
    /// The samples differ more than the method allows.
    WideSpread,
    /// Repeats of the same point disagree beyond noise.
    ConflictingRepeats,
    /// The sentinel point moved while this one was measured.
    Drift,
    /// The source's own check found wrong results.
    FailedCheck,
}

impl Flag {
    /// Every flag, in bit order.
    pub const ALL: [Flag; 10] = [
        Flag::BelowSpeedOfLight,
        Flag::Spike,
        Flag::NonMonotonic,
        Flag::FewSamples,
        Flag::Throttled,
        Flag::Contended,
        Flag::WideSpread,
        Flag::ConflictingRepeats,
        Flag::Drift,
        Flag::FailedCheck,
    ];

    /// The name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Flag::BelowSpeedOfLight => "below_speed_of_light",
            Flag::Spike => "spike",
            Flag::NonMonotonic => "non_monotonic",
            Flag::FewSamples => "few_samples",
            Flag::Throttled => "throttled",
            Flag::Contended => "contended",
            Flag::WideSpread => "wide_spread",
            Flag::ConflictingRepeats => "conflicting_repeats",
            Flag::Drift => "drift",
            Flag::FailedCheck => "failed_check",
        }
    }

    /// Whether a record with this flag is kept out of fits. Protocol switches make time fall
    /// as size grows (`non_monotonic` is real there), so that flag alone only informs.
    pub const fn leaves_fit(self) -> bool {
        matches!(self, Flag::BelowSpeedOfLight | Flag::Spike | Flag::Throttled | Flag::FailedCheck)
    }
}

impl FromStr for Flag {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Flag::ALL
            .into_iter()
            .find(|flag| flag.name() == text)
            .ok_or_else(|| nearest::unknown("flag", text, Flag::ALL.map(Flag::name)))
    }
}

/// A set of [`Flag`]s.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u16);

impl Flags {
    /// No findings.
    pub const NONE: Flags = Flags(0);

    /// Adds a flag.
    pub fn insert(&mut self, flag: Flag) {
        self.0 |= 1 << flag as u16;
    }

    /// Whether the flag is set.
    pub fn contains(self, flag: Flag) -> bool {
        self.0 & (1 << flag as u16) != 0
    }

    /// Whether no flag is set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The flags that are set, in bit order.
    pub fn iter(self) -> impl Iterator<Item = Flag> {
        Flag::ALL.into_iter().filter(move |flag| self.contains(*flag))
    }

    /// Whether any flag keeps the record out of fits.
    pub fn leave_fit(self) -> bool {
        self.iter().any(Flag::leaves_fit)
    }
}

/// One point, the conditions it was measured under, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The point.
    pub point: Point,
    /// Cold or hot, contents, kernel.
    pub conditions: Conditions,
    /// What became of it.
    pub outcome: Outcome,
    /// Findings of the quality gate.
    pub flags: Flags,
}

impl Record {
    /// The measured time, if there is one.
    pub fn time(&self) -> Option<Nanos> {
        match &self.outcome {
            Outcome::Measured(measurement) => Some(measurement.time),
            Outcome::Skipped(_) | Outcome::Failed(_) => None,
        }
    }

    /// The measured time if the record may be fitted.
    pub fn fit_time(&self) -> Option<Nanos> {
        if self.flags.leave_fit() { None } else { self.time() }
    }
}
