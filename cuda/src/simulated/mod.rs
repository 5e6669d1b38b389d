//! A device that computes nothing and keeps its own time, so that plans, journals, budgets and
//! reports can be exercised in milliseconds.
//!
//! A time is a latency plus a roofline (`law`), with noise of one percent and, once in a hundred
//! timings, a spike to as much as three times the value. Noise comes from a generator seeded by
//! the device's seed, the point and the seed of its operands: the order in which points run does
//! not matter, so a resumed run must end with the numbers of an uninterrupted one. Time passes on
//! a [`VirtualClock`] only.
//!
//! Everything measured here is [`Origin::Synthetic`] and fit for tests alone.

mod law;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kernelgauge_data::{
    Bytes, CacheState, CopyDirection, Environment, Failure, Hardware, Machine, Manner, Nanos,
    Origin, Point, SkipReason,
};

use crate::device::{Device, Timer, Timing, Workload, usual_only};
use crate::random::Random;

/// Memory of the simulated device.
const MEMORY: Bytes = Bytes::new(8 << 30);
/// Its timer: ticks of 10 ns, 40 ns a pair of readings.
const TIMER: Timer = Timer { resolution: Nanos::new(10), cost: Nanos::new(40) };
/// Relative standard deviation of a timing.
const NOISE: f64 = 0.01;
/// One timing in this many is a spike.
const SPIKE_EVERY: u64 = 100;

/// The time of a simulated device, which advances by what its workloads take. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct VirtualClock(Arc<AtomicU64>);

impl VirtualClock {
    /// Time since the device was made.
    pub fn now(&self) -> Nanos {
        Nanos::new(self.0.load(Ordering::Relaxed))
    }

    fn advance(&self, time: Nanos) {
        self.0.fetch_add(time.get(), Ordering::Relaxed);
    }
}

/// What a test can make go wrong with a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Allocation fails.
    Allocation,
    /// The result differs from the reference.
    WrongResult,
    /// Every timing returns a device error.
    DeviceError,
    /// Every timing reports no elapsed time.
    ZeroElapsed,
    /// Every timing is flagged as throttled.
    Throttled,
    /// Every timing is flagged as contended.
    Contended,
}

type FaultOf = Box<dyn Fn(&Point) -> Option<Fault> + Send>;

/// The simulated device.
pub struct SimulatedDevice {
    seed: u64,
    clock: VirtualClock,
    fault_of: FaultOf,
}

impl fmt::Debug for SimulatedDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedDevice")
            .field("seed", &self.seed)
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}

impl SimulatedDevice {
    /// A device whose noise follows from `seed`.
    pub fn new(seed: u64) -> Self {
        SimulatedDevice { seed, clock: VirtualClock::default(), fault_of: Box::new(|_| None) }
    }

    /// The same device, with the fault that `fault_of` names for a point.
    #[must_use]
    pub fn with_faults(self, fault_of: impl Fn(&Point) -> Option<Fault> + Send + 'static) -> Self {
        SimulatedDevice { fault_of: Box::new(fault_of), ..self }
    }

    /// A handle on the device's time.
    pub fn clock(&self) -> VirtualClock {
        self.clock.clone()
    }
}

impl Device for SimulatedDevice {
    fn machine(&self) -> Machine {
        let peaks = kernelgauge_data::Dtype::ALL
            .into_iter()
            .filter_map(|dtype| Some((dtype.name().to_owned(), law::peak_tflop_s(dtype)?)))
            .collect();
        Machine {
            name: "simulated".to_owned(),
            device: "simulated device".to_owned(),
            count: 1,
            links: kernelgauge_data::Links::Unstated,
            software: std::collections::BTreeMap::new(),
            hardware: Hardware {
                units: Some(8),
                memory_gb_s: Some(law::PEAK_GB_S),
                cache_bytes: Some(law::CACHE_BYTES),
                memory_bytes: Some(MEMORY.get()),
                link_gb_s: None,
                compute_capability: None,
                peak_tflop_s: peaks,
                source: Some("the time law of the simulated device".to_owned()),
            },
        }
    }

    fn origin(&self) -> Origin {
        Origin::Synthetic
    }

    fn environment(&self) -> Environment {
        let mut environment = Environment::default();
        environment.set("device", "simulated");
        environment.set("device_seed", self.seed.to_string());
        environment.set("memory_bytes", MEMORY.get().to_string());
        environment
    }

    fn lock_keys(&self) -> Vec<String> {
        vec!["simulated".to_owned()]
    }

    fn free_memory(&self) -> Bytes {
        MEMORY
    }

    fn timer(&self) -> Timer {
        TIMER
    }

    /// The compulsory traffic of the point, as if every byte were touched once.
    fn memory_needed(&self, point: &Point, _cache: CacheState) -> Bytes {
        Bytes::new(point.work().bytes() as u64)
    }

    fn supports_in(
        &self,
        point: &Point,
        _cache: CacheState,
        manner: Manner,
    ) -> Result<(), SkipReason> {
        usual_only(point, manner)?;
        let unsupported = |what: String| Err(SkipReason::Unsupported(what));
        match point {
            Point::Collective(_) => return unsupported("one device has no collectives".to_owned()),
            Point::Attention(_) | Point::Custom(_) => {
                return unsupported(format!("{} on the simulated device", point.family()));
            }
            Point::Copy(copy) if copy.direction == CopyDirection::PeerToPeer => {
                return unsupported("one device has no peer".to_owned());
            }
            _ => {}
        }
        match point.dtype() {
            Some(dtype) if law::peak_tflop_s(dtype).is_none() => {
                unsupported(format!("{dtype} on the simulated device"))
            }
            _ => Ok(()),
        }
    }

    fn prepare_in<'device>(
        &'device mut self,
        point: &Point,
        cache: CacheState,
        manner: Manner,
        seed: u64,
    ) -> Result<Box<dyn Workload + 'device>, Failure> {
        let supported = self.supports_in(point, cache, manner);
        supported.map_err(|reason| Failure::Device(reason.to_string()))?;
        let fault = (self.fault_of)(point);
        let needs = self.memory_needed(point, cache);
        if fault == Some(Fault::Allocation) || needs > MEMORY {
            return Err(Failure::Device(format!("cannot allocate {needs}")));
        }
        let identity = fingerprint(&format!("{point} {}", cache.name()));
        Ok(Box::new(SimulatedWorkload {
            nanos: law::nanos(point, cache),
            random: Random::stream(self.seed ^ seed, identity),
            clock: self.clock.clone(),
            fault,
        }))
    }
}

/// FNV-1a over `text`: a hash that no library update changes.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

struct SimulatedWorkload {
    nanos: f64,
    random: Random,
    clock: VirtualClock,
    fault: Option<Fault>,
}

impl Workload for SimulatedWorkload {
    fn kernel(&self) -> &str {
        "simulated"
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.clock.advance(Nanos::saturating(self.nanos));
        match self.fault {
            Some(Fault::WrongResult) => Err(Failure::WrongResult("off by 1 at element 0".into())),
            _ => Ok(()),
        }
    }

    fn time(&mut self, executions: u32) -> Result<Timing, Failure> {
        if self.fault == Some(Fault::DeviceError) {
            return Err(Failure::Device("simulated device error".to_owned()));
        }
        let mut factor = 1.0 + NOISE * self.random.normal();
        if self.random.below(SPIKE_EVERY) == 0 {
            factor *= 1.5 + 1.5 * self.random.unit();
        }
        let nanos = self.nanos * factor * f64::from(executions) + TIMER.cost.as_f64();
        let tick = TIMER.resolution.as_f64();
        let elapsed = Nanos::saturating((nanos / tick).round() * tick);
        self.clock.advance(elapsed);
        let elapsed = if self.fault == Some(Fault::ZeroElapsed) { Nanos::new(0) } else { elapsed };
        let throttled = self.fault == Some(Fault::Throttled);
        let contended = self.fault == Some(Fault::Contended);
        Ok(Timing { throttled, contended, ..Timing::of(elapsed, executions) })
    }
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{Dtype, GemmLayout, GemmPoint};

    use super::*;

    fn gemm(dtype: Dtype, size: u64) -> Point {
        Point::Gemm(GemmPoint {
            dtype,
            batch: 1,
            m: size,
            n: size,
            k: size,
            layout: GemmLayout::Unstated,
        })
    }

    fn timings(device: &mut SimulatedDevice, point: &Point, count: usize) -> Vec<u64> {
        let mut workload = device.prepare(point, CacheState::Hot, 5).unwrap();
        (0..count).map(|_| workload.time(1).unwrap().elapsed.get()).collect()
    }

    #[test]
    fn times_depend_on_seed_and_point_but_not_on_order() {
        let (small, large) = (gemm(Dtype::F32, 64), gemm(Dtype::F32, 512));
        let mut device = SimulatedDevice::new(1);
        let alone = timings(&mut device, &large, 8);
        let before = device.clock().now();
        timings(&mut device, &small, 3);
        assert!(device.clock().now() > before);
        assert_eq!(timings(&mut device, &large, 8), alone);
        assert_ne!(timings(&mut SimulatedDevice::new(2), &large, 8), alone);
    }

    #[test]
    fn the_median_follows_the_law_and_spikes_are_rare() {
        let point = gemm(Dtype::F32, 512);
        let law = law::nanos(&point, CacheState::Hot);
        let mut times = timings(&mut SimulatedDevice::new(3), &point, 2_000);
        times.sort_unstable();
        assert!((times[1_000] as f64 / law - 1.0).abs() < 0.002);
        let spikes = times.iter().filter(|time| **time as f64 > 1.2 * law).count();
        assert!((5..60).contains(&spikes), "{spikes}");
    }

    #[test]
    fn what_it_cannot_do_is_refused_before_and_at_preparation() {
        let mut device = SimulatedDevice::new(0);
        let refused = device.supports(&gemm(Dtype::Fp8, 64), CacheState::Hot);
        assert!(matches!(refused, Err(SkipReason::Unsupported(_))));
        assert!(device.prepare(&gemm(Dtype::Fp8, 64), CacheState::Hot, 0).is_err());
        let huge = gemm(Dtype::F64, 1 << 16);
        assert!(device.memory_needed(&huge, CacheState::Hot) > device.free_memory());
        assert!(device.prepare(&huge, CacheState::Hot, 0).is_err());
    }

    #[test]
    fn faults_happen_to_the_points_they_are_asked_for() {
        let faulty = |fault| {
            SimulatedDevice::new(0)
                .with_faults(move |point| (*point == gemm(Dtype::F32, 8)).then_some(fault))
        };
        let bad = gemm(Dtype::F32, 8);
        let mut device = faulty(Fault::WrongResult);
        let verified = device.prepare(&bad, CacheState::Hot, 0).unwrap().verify();
        assert!(matches!(verified, Err(Failure::WrongResult(_))));
        assert!(device.prepare(&gemm(Dtype::F32, 9), CacheState::Hot, 0).unwrap().verify().is_ok());
        assert!(faulty(Fault::Allocation).prepare(&bad, CacheState::Hot, 0).is_err());
        let mut device = faulty(Fault::ZeroElapsed);
        let timing = device.prepare(&bad, CacheState::Hot, 0).unwrap().time(4).unwrap();
        assert_eq!(timing.elapsed, Nanos::new(0));
    }
}
