//! Valid timings of one workload: enough executions behind each, none clamped.
//!
//! A timing that is zero, or that the device calls no measurement, is rejected and the next one
//! is made longer. A timing may also be *short* only because the timer cannot resolve it;
//! executions grow until reading the timer costs under 1 % and a tick is under 1 % too.

use std::time::Instant;

use kernelgauge_cuda::{Timer, Timing, Workload};
use kernelgauge_data::{Failure, Nanos, statistics};

/// A sample lasts at least this long, so that a scheduler's interruption of a few microseconds
/// does not make or break it.
const SHORTEST_SAMPLE: Nanos = Nanos::new(50_000);
/// Executions behind one sample at most.
const MOST_EXECUTIONS: u32 = 1 << 22;
/// Rejected timings of one point at most.
const MOST_REJECTED: u32 = 32;

/// One valid sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The time of one execution.
    pub time: Nanos,
    /// A timing had to be rejected and the executions were raised: earlier samples are not
    /// comparable.
    pub lengthened: bool,
    /// Other programs had the processor meanwhile.
    pub contended: bool,
}

/// Takes samples of one workload.
pub struct Sampler<'w> {
    workload: &'w mut dyn Workload,
    shortest: Nanos,
    executions: u32,
    /// Time of all timings so far, valid or not: what was timed, or by the clock on the wall
    /// where that is more. On a busy machine getting hold of the threads takes longer than the
    /// work.
    pub spent: Nanos,
    /// Valid timings during which the device lowered its clock.
    pub throttled: u32,
    /// Clocks of valid timings in MHz, where the device told them.
    clocks: Vec<f64>,
    /// Highest temperature of valid timings.
    temperature: Option<u32>,
    rejected: u32,
}

impl<'w> Sampler<'w> {
    /// A sampler that lets `timer` matter by less than 1 %.
    pub fn new(workload: &'w mut dyn Workload, timer: Timer) -> Self {
        let hundredfold = |time: Nanos| Nanos::new(time.get().saturating_mul(100));
        let shortest =
            SHORTEST_SAMPLE.max(hundredfold(timer.cost)).max(hundredfold(timer.resolution));
        Sampler {
            workload,
            shortest,
            executions: 1,
            spent: Nanos::default(),
            throttled: 0,
            clocks: Vec::new(),
            temperature: None,
            rejected: 0,
        }
    }

    /// Executions behind one sample.
    pub fn executions(&self) -> u32 {
        self.executions
    }

    /// Forgets what was noted beside the times so far: they were those of a warm-up.
    pub fn begin(&mut self) {
        self.throttled = 0;
        self.clocks.clear();
        self.temperature = None;
    }

    /// The median clock in MHz since the beginning, where the device told it.
    pub fn sm_clock_mhz(&self) -> Option<u32> {
        statistics::median(&self.clocks).map(|clock| clock.round() as u32)
    }

    /// The highest temperature since the beginning, where it is known.
    pub fn temperature_c(&self) -> Option<u32> {
        self.temperature
    }

    /// Raises the executions until one timing is long enough.
    ///
    /// # Errors
    /// [`Failure::BelowTimerResolution`] when even the most executions are too short to tell
    /// from nothing, or what the device says.
    pub fn lengthen(&mut self) -> Result<(), Failure> {
        loop {
            let elapsed = self.timing()?.elapsed;
            if elapsed >= self.shortest || self.executions == MOST_EXECUTIONS {
                return Ok(());
            }
            // A tenth more than needed, so that noise does not ask for another round.
            let wanted = 1.1 * self.shortest.as_f64() / elapsed.as_f64();
            self.multiply(wanted.clamp(2.0, 64.0));
        }
    }

    /// The next valid sample.
    ///
    /// # Errors
    /// As [`Sampler::lengthen`].
    pub fn sample(&mut self) -> Result<Sample, Failure> {
        let before = self.executions;
        let timing = self.timing()?;
        self.throttled += u32::from(timing.throttled);
        self.clocks.extend(timing.sm_clock_mhz.map(f64::from));
        self.temperature = self.temperature.max(timing.temperature_c);
        let time = Nanos::measured(timing.elapsed.as_f64() / f64::from(timing.executions.max(1)))
            .map_err(|_| Failure::BelowTimerResolution)?;
        let (lengthened, contended) = (self.executions != before, timing.contended);
        Ok(Sample { time, lengthened, contended })
    }

    /// One valid timing, however many executions that takes.
    fn timing(&mut self) -> Result<Timing, Failure> {
        loop {
            let began = Instant::now();
            match self.workload.time(self.executions) {
                Ok(timing) if timing.elapsed > Nanos::default() => {
                    let wall = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
                    self.spent = self.spent + timing.elapsed.max(Nanos::new(wall));
                    return Ok(timing);
                }
                Ok(_) | Err(Failure::BelowTimerResolution) => self.reject()?,
                Err(failure) => return Err(failure),
            }
        }
    }

    fn reject(&mut self) -> Result<(), Failure> {
        self.rejected += 1;
        if self.rejected > MOST_REJECTED || self.executions == MOST_EXECUTIONS {
            return Err(Failure::BelowTimerResolution);
        }
        self.multiply(4.0);
        Ok(())
    }

    fn multiply(&mut self, factor: f64) {
        let wanted = (f64::from(self.executions) * factor).ceil();
        self.executions = (wanted as u32).min(MOST_EXECUTIONS);
    }
}
