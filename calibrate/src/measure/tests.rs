//! Measuring against scripted and simulated workloads.

use std::collections::VecDeque;

use kernelgauge_cuda::simulated::{Fault, SimulatedDevice};
use kernelgauge_cuda::{Device as _, Timing};
use kernelgauge_data::{CacheState, Dtype, GemmLayout, GemmPoint, Point};

use super::*;

/// Interrupts after so many ticks.
struct Patience(Option<u32>);

impl Watch for Patience {
    fn tick(&mut self) {
        if let Some(left) = &mut self.0 {
            *left = left.saturating_sub(1);
        }
    }

    fn interrupted(&self) -> bool {
        self.0 == Some(0)
    }
}

/// Takes `nanos` per execution, but answers from the script while it lasts.
struct Scripted {
    nanos: u64,
    script: VecDeque<Result<u64, Failure>>,
    asked: Vec<u32>,
}

impl Scripted {
    fn new(nanos: u64, script: impl IntoIterator<Item = Result<u64, Failure>>) -> Self {
        Scripted { nanos, script: script.into_iter().collect(), asked: Vec::new() }
    }
}

impl Workload for Scripted {
    fn kernel(&self) -> &str {
        "scripted"
    }

    fn verify(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn time(&mut self, executions: u32) -> Result<Timing, Failure> {
        self.asked.push(executions);
        let elapsed = self.script.pop_front().unwrap_or(Ok(self.nanos * u64::from(executions)))?;
        Ok(Timing::of(Nanos::new(elapsed), executions))
    }
}

const TIMER: Timer = Timer { resolution: Nanos::new(10), cost: Nanos::new(40) };
const OPTIONS: MeasureOptions =
    MeasureOptions { time_limit: Nanos::new(1_000_000_000), samples: None };

fn run(workload: &mut dyn Workload) -> Result<Taken, NotTaken> {
    measure(workload, TIMER, OPTIONS, &mut Patience(None))
}

fn gemm() -> Point {
    Point::Gemm(GemmPoint {
        dtype: Dtype::F32,
        batch: 1,
        m: 256,
        n: 256,
        k: 256,
        layout: GemmLayout::Unstated,
    })
}

fn run_with_fault(fault: Fault) -> Result<Taken, NotTaken> {
    let mut device = SimulatedDevice::new(1).with_faults(move |_| Some(fault));
    let timer = device.timer();
    let mut workload = device.prepare(&gemm(), CacheState::Hot, 0).unwrap();
    measure(workload.as_mut(), timer, OPTIONS, &mut Patience(None))
}

#[test]
fn the_median_of_a_noisy_point_is_found_and_summarised() {
    let mut device = SimulatedDevice::new(5);
    let timer = device.timer();
    let mut workload = device.prepare(&gemm(), CacheState::Hot, 0).unwrap();
    let taken = measure(workload.as_mut(), timer, OPTIONS, &mut Patience(None)).unwrap();
    // 4 us + 2 * 256^3 / 0.8 TFLOP/s, from the law of the simulated device.
    let law = 4_000.0 + 2.0 * 256.0_f64.powi(3) / 800.0;
    let time = taken.measurement.time.as_f64();
    assert!((time / law - 1.0).abs() < 0.01, "{time} against {law}");
    let spread = taken.measurement.spread.unwrap();
    assert!(spread.min <= spread.q1 && spread.q1 <= taken.measurement.time);
    assert!(taken.measurement.samples >= 10 && taken.measurement.verified);
    assert_eq!(taken.measurement.stop, Some(StopReason::Converged));
    assert!(!taken.throttled);
}

#[test]
fn short_executions_are_timed_together_until_the_timer_does_not_matter() {
    let mut workload = Scripted::new(20, []);
    let taken = run(&mut workload).unwrap();
    assert_eq!(taken.measurement.time, Nanos::new(20));
    let per_sample = taken.measurement.executions_per_sample;
    assert!(u64::from(per_sample) * 20 >= 50_000, "{per_sample}");
    assert_eq!(workload.asked[0], 1);
    let mut workload = Scripted::new(70_000_000, []);
    let taken = run(&mut workload).unwrap();
    assert_eq!(taken.measurement.executions_per_sample, 1);
}

#[test]
fn timings_that_are_none_are_rejected_and_lengthened_never_clamped() {
    let nothing = || Err(Failure::BelowTimerResolution);
    let mut workload = Scripted::new(100_000, [Ok(0), nothing(), Ok(0)]);
    let taken = run(&mut workload).unwrap();
    assert_eq!(workload.asked[..4], [1, 4, 16, 64]);
    assert_eq!(taken.measurement.spread.unwrap().min, Nanos::new(100_000));

    // One in the middle: what was sampled with fewer executions is not mixed in.
    let steady = (0..8).map(|_| Ok(100_000)).chain([Ok(0)]);
    let taken = run(&mut Scripted::new(90_000, steady)).unwrap();
    assert_eq!(taken.measurement.executions_per_sample, 4);
    assert_eq!(taken.measurement.spread.unwrap().max, Nanos::new(90_000));

    let failed = NotTaken::Failed(Failure::BelowTimerResolution);
    assert_eq!(run_with_fault(Fault::ZeroElapsed), Err(failed));
}

/// Takes twice as long whenever another program has the processor.
struct Shared {
    timings: usize,
    contended: fn(usize) -> bool,
}

impl Workload for Shared {
    fn kernel(&self) -> &str {
        "shared"
    }

    fn verify(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn time(&mut self, executions: u32) -> Result<Timing, Failure> {
        self.timings += 1;
        let contended = (self.contended)(self.timings);
        // A little noise, so that the first samples do not decide.
        let one = 1_000_000 + 30_000 * (self.timings as u64 * 7 % 11);
        let elapsed = one * u64::from(executions) * if contended { 2 } else { 1 };
        Ok(Timing { contended, ..Timing::of(Nanos::new(elapsed), executions) })
    }
}

#[test]
fn samples_of_a_shared_processor_are_set_aside_while_others_can_be_had() {
    let taken = |contended, options| {
        let mut workload = Shared { timings: 0, contended };
        let taken = measure(&mut workload, TIMER, options, &mut Patience(None)).unwrap();
        (taken.measurement.time.us() / 1000.0, taken.contended)
    };
    let (time, contended) = taken(|timing| timing % 4 != 0, OPTIONS);
    assert!((1.0..1.31).contains(&time) && !contended, "{time}");
    let (time, contended) = taken(|_| true, OPTIONS);
    assert!((2.0..2.61).contains(&time) && contended, "{time}");
    // Of an exact number none is set aside.
    let exact = MeasureOptions { samples: Some(9), ..OPTIONS };
    let (time, contended) = taken(|timing| timing % 3 != 0, exact);
    assert!((2.0..2.61).contains(&time) && contended, "{time}");
}

#[test]
fn waiting_for_threads_counts_against_the_time_of_a_point() {
    /// Takes a microsecond, after waiting for a millisecond.
    struct Waiting(u32);

    impl Workload for Waiting {
        fn kernel(&self) -> &str {
            "waiting"
        }

        fn verify(&mut self) -> Result<(), Failure> {
            Ok(())
        }

        fn time(&mut self, executions: u32) -> Result<Timing, Failure> {
            self.0 += 1;
            std::thread::sleep(std::time::Duration::from_millis(1));
            let elapsed = Nanos::new((50 + u64::from(self.0 % 7) * 20) * 1_000);
            Ok(Timing { contended: true, ..Timing::of(elapsed, executions) })
        }
    }

    let mut workload = Waiting(0);
    let options = MeasureOptions { time_limit: Nanos::new(50_000_000), samples: None };
    let taken = measure(&mut workload, TIMER, options, &mut Patience(None)).unwrap();
    assert!(taken.contended && workload.0 < 60, "{}", workload.0);
}

#[test]
fn failures_carry_what_the_device_said() {
    let failed = run_with_fault(Fault::WrongResult).unwrap_err();
    assert!(matches!(failed, NotTaken::Failed(Failure::WrongResult(_))));
    let failed = run_with_fault(Fault::DeviceError).unwrap_err();
    assert!(matches!(failed, NotTaken::Failed(Failure::Device(_))));
    assert!(run_with_fault(Fault::Throttled).unwrap().throttled);
}

#[test]
fn an_interrupt_keeps_a_point_that_has_enough_samples() {
    // Noise that never lets two windows agree: warm-up uses its whole share of the time, about
    // a hundred timings, and ten samples are not enough to stop by themselves.
    let noisy = || Scripted::new(0, (0..400).map(|i| Ok(1_000_000 + 200_000 * (i * 7 % 11))));
    let stopped = |ticks| measure(&mut noisy(), TIMER, OPTIONS, &mut Patience(Some(ticks)));
    assert_eq!(stopped(3), Err(NotTaken::Interrupted));
    let taken = stopped(130).unwrap();
    assert_eq!(taken.measurement.stop, Some(StopReason::Interrupted));
    assert!(taken.measurement.samples >= 10);
}

#[test]
fn the_time_limit_holds_and_leaves_three_samples() {
    let options = MeasureOptions { time_limit: Nanos::new(1_000_000), samples: None };
    let mut workload = Scripted::new(900_000_000, []);
    let taken = measure(&mut workload, TIMER, options, &mut Patience(None)).unwrap();
    assert_eq!(taken.measurement.samples, 3);
    assert_eq!(taken.measurement.stop, Some(StopReason::TimeLimit));
    let options = MeasureOptions { samples: Some(17), ..options };
    let taken = measure(&mut workload, TIMER, options, &mut Patience(None)).unwrap();
    assert_eq!(taken.measurement.samples, 17);
}
