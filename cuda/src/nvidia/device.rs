//! The GPUs of a run as one [`Device`]: the first executes, the second is the peer of copies, and
//! collectives run on all.
//!
//! Left to others: which points are executed and how (`execute`), and what is known of a GPU
//! (`facts`).

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use cudarc::driver::result;
use cudarc::driver::sys::CUresult;
use kernelgauge_data::{
    Bytes, CacheState, Environment, Failure, Hardware, Links, Machine, Manner, Nanos, Origin,
    Point, SkipReason,
};

use super::collective::{Collectives, Tuning};
use super::context::Context;
use super::cublaslt::{Functions, Handle};
use super::execute::Elsewhere;
use super::facts::Facts;
use super::failure::words;
use super::library::Library;
use super::loaded::LoadedKernels;
use super::memory::DeviceBuffer;
use super::operation::pairs;
use super::sm_clock::SmClock;
use super::stream::{Event, Stream};
use super::throttle::Throttle;
use super::{links, peaks, symbols, version};
use crate::device::{Condition, Device, DeviceError, Timer, Workload};
use crate::world::World;

/// Resolution of events: about half a microsecond (CUDA driver API, cuEventElapsedTime).
const RESOLUTION: Nanos = Nanos::new(500);
/// Pairs of events with nothing between them, whose median is what timing costs.
const EMPTY_PAIRS: usize = 9;
/// A flush overwrites so many times the last cache.
const FLUSHED: u64 = 2;
/// Kept free on a GPU, for what the driver and its libraries allocate themselves.
const RESERVED: u64 = 64 << 20;
/// File of what NCCL says of its algorithms and protocols.
const TUNING: &str = "nccl_tuning.csv";
/// How a driver that stands in for a real one in tests begins the names of its GPUs.
const SYNTHETIC: &str = "Synthetic";

/// One or several GPUs of one kind.
#[derive(Debug)]
pub struct CudaDevice {
    pub(super) gpus: Vec<Facts>,
    driver: Driver,
    timer: Timer,
    pub(super) throttle: Throttle,
    links: Links,
    link_words: Option<String>,
    pub(super) gemm_tune: Option<u32>,
    // Dropped in this order: what lies in a context before the context.
    pub(super) collectives: Collectives,
    pub(super) elsewhere: Option<Elsewhere>,
    pub(super) flush: Option<DeviceBuffer>,
    pub(super) pairs: Vec<(Event, Event)>,
    cublas_lt: OnceLock<Result<Arc<Handle>, String>>,
    pub(super) stream: Stream,
    pub(super) clock: Option<SmClock>,
    pub(super) kernels: LoadedKernels,
    pub(super) peer: Option<Arc<Context>>,
    pub(super) context: Arc<Context>,
}

/// Versions, as stated at run time.
#[derive(Debug)]
struct Driver {
    cuda: Option<String>,
    release: Option<String>,
    cublas_lt: Option<String>,
}

impl CudaDevice {
    /// The GPUs with these numbers, or all of them.
    ///
    /// # Errors
    /// [`DeviceError::Missing`] without a usable driver or GPU, [`DeviceError::Choice`] for
    /// numbers that no GPU has and for GPUs of different kinds.
    pub fn open(numbers: Option<&[u32]>) -> Result<Self, DeviceError> {
        // Before anything is loaded: see there.
        let several = numbers.is_none_or(|numbers| numbers.len() > 1);
        let tuning = if several { Tuning::ask() } else { None };
        let driver = symbols::usable_driver()?;
        let count = count()?;
        let all: Vec<u32> = (0..count).collect();
        let numbers = numbers.unwrap_or(&all);
        if let Some(absent) = numbers.iter().find(|number| **number >= count) {
            return Err(no_such_gpu(*absent, count));
        }
        let driver = Driver {
            cuda: version::driver(driver),
            release: Library::Management.version(),
            cublas_lt: Library::CublasLt.version(),
        };
        let gpus: Result<Vec<Facts>, Failure> =
            numbers.iter().map(|number| Facts::read(*number)).collect();
        let gpus = gpus.map_err(not_usable)?;
        let Some(first) = gpus.first() else { return Err(no_gpu("it lists none")) };
        if let Some(other) = gpus.iter().find(|gpu| gpu.name != first.name) {
            return Err(DeviceError::Choice {
                what: format!("these GPUs are of different kinds: {}, {}", first.name, other.name),
                hint: "measure those of one kind at a time: `--device 0`".to_owned(),
            });
        }
        Self::start(gpus, driver, tuning).map_err(not_usable)
    }

    /// How many GPUs this process sees.
    ///
    /// # Errors
    /// [`DeviceError::Missing`] without a usable driver or GPU.
    pub fn count() -> Result<u32, DeviceError> {
        symbols::usable_driver()?;
        count()
    }

    fn start(gpus: Vec<Facts>, driver: Driver, tuning: Option<Tuning>) -> Result<Self, Failure> {
        let Some(first) = gpus.first() else {
            return Err(Failure::Device("no GPU was chosen".to_owned()));
        };
        let context = Context::retain(first.device)?;
        let stream = Stream::new(&context)?;
        let pairs = pairs(&stream)?;
        let timer = Timer { resolution: RESOLUTION, cost: event_cost(&stream, &pairs)? };
        let throttle = Throttle::new(first.management);
        let (links, link_words) = links::between(&gpus);
        let devices = gpus.iter().map(|gpu| gpu.device).collect();
        let collectives = Collectives::new(devices, links, tuning);
        let mut kernels = LoadedKernels::new(&context, first)?;
        let clock = SmClock::new(&context, &mut kernels)?;
        Ok(CudaDevice {
            gpus,
            driver,
            timer,
            throttle,
            links,
            link_words,
            collectives,
            elsewhere: None,
            gemm_tune: None,
            flush: None,
            pairs,
            cublas_lt: OnceLock::new(),
            stream,
            clock,
            kernels,
            peer: None,
            context,
        })
    }

    /// Times the first `count` algorithms that are proposed for a matrix product and takes the
    /// fastest, instead of the first.
    pub fn tune_gemm(&mut self, count: Option<u32>) {
        self.gemm_tune = count;
    }

    /// Says that this process is one of several whose ranks come together.
    pub fn expect_others(&mut self) {
        self.collectives.expect_others();
    }

    /// cuBLASLt, ready for the GPU that executes; made at the first call.
    ///
    /// # Errors
    /// A sentence: why it cannot be used.
    pub(super) fn cublas_lt(&self) -> Result<&Arc<Handle>, String> {
        let make = || {
            let functions = Functions::open()?;
            let handle = Handle::new(functions, &self.context);
            handle.map(Arc::new).map_err(|failure| format!("matrix products: {failure}"))
        };
        self.cublas_lt.get_or_init(make).as_ref().map_err(Clone::clone)
    }

    /// The GPU that executes; `start` made sure that there is one.
    pub(super) fn first(&self) -> Option<&Facts> {
        self.gpus.first()
    }

    pub(super) fn flush_bytes(&self) -> u64 {
        self.first().map_or(0, |gpu| FLUSHED * gpu.l2_bytes)
    }
}

impl Device for CudaDevice {
    fn machine(&self) -> Machine {
        let count = self.gpus.len();
        let device = self.first().map(|gpu| gpu.name.clone()).unwrap_or_default();
        let software = [
            ("cuda", self.driver.cuda.clone()),
            ("driver", self.driver.release.clone()),
            ("cublaslt", self.driver.cublas_lt.clone()),
            ("nccl", self.collectives.version()),
        ];
        let software =
            software.into_iter().filter_map(|(name, version)| Some((name.to_owned(), version?)));
        Machine {
            name: machine_name(&device, count),
            device,
            count: u32::try_from(count).unwrap_or(u32::MAX),
            links: self.links,
            software: software.collect(),
            hardware: self.first().map_or_else(Hardware::default, hardware),
        }
    }

    fn origin(&self) -> Origin {
        let synthetic = self.first().is_some_and(|gpu| gpu.name.starts_with(SYNTHETIC));
        if synthetic { Origin::Synthetic } else { Origin::Measured }
    }

    fn environment(&self) -> Environment {
        let mut environment = Environment::default();
        let mut set = |fact: &str, value: Option<String>| {
            if let Some(value) = value {
                environment.set(fact, value);
            }
        };
        set("gpus", Some(self.gpus.len().to_string()));
        set("cuda_version", self.driver.cuda.clone());
        set("driver_version", self.driver.release.clone());
        set("nccl_version", self.collectives.version());
        set("gpu_links", self.link_words.clone());
        set("cublaslt_version", self.driver.cublas_lt.clone());
        set("gemm_tune", self.gemm_tune.map(|count| count.to_string()));
        set("nvrtc_version", self.kernels.compiler_version());
        if let Some(gpu) = self.first() {
            set("gpu", Some(gpu.name.clone()));
            set("compute_capability", Some(format!("{}.{}", gpu.compute.0, gpu.compute.1)));
            set("multiprocessors", Some(gpu.units.to_string()));
            set("l2_cache_bytes", Some(gpu.l2_bytes.to_string()));
            set("memory_bytes", Some(gpu.memory_bytes.to_string()));
            set("ecc", Some(gpu.ecc.to_string()));
            set("max_sm_clock_mhz", gpu.max_sm_clock.map(|clock| clock.to_string()));
            set("max_memory_clock_mhz", gpu.max_memory_clock.map(|clock| clock.to_string()));
            set("power_limit_mw", gpu.power_limit_mw.map(|limit| limit.to_string()));
            set("divided", gpu.divided.map(|divided| divided.to_string()));
        }
        environment
    }

    fn lock_keys(&self) -> Vec<String> {
        self.gpus.iter().map(|gpu| gpu.lock_key.clone()).collect()
    }

    /// What the GPU has free, less what it must keep. A GPU that does not say has nothing.
    fn free_memory(&self) -> Bytes {
        let free = self.context.free_memory().unwrap_or_default();
        let flush = if self.flush.is_some() { 0 } else { self.flush_bytes() };
        Bytes::new(free.get().saturating_sub(RESERVED + flush))
    }

    fn timer(&self) -> Timer {
        self.timer
    }

    fn memory_needed(&self, point: &Point, cache: CacheState) -> Bytes {
        self.needed(point, cache)
    }

    fn supports_in(
        &self,
        point: &Point,
        cache: CacheState,
        manner: Manner,
    ) -> Result<(), SkipReason> {
        let unsupported = self.unsupported(point, cache, manner);
        unsupported.map_or(Ok(()), |what| Err(SkipReason::Unsupported(what)))
    }

    fn prepare_in<'device>(
        &'device mut self,
        point: &Point,
        cache: CacheState,
        manner: Manner,
        seed: u64,
    ) -> Result<Box<dyn Workload + 'device>, Failure> {
        self.prepared(point, cache, manner, seed)
    }

    fn spoilt(&self) -> Option<String> {
        self.collectives.hung()
    }

    fn attachments(&self) -> Vec<(String, String)> {
        let tuning = self.collectives.tuning().map(|table| (TUNING.to_owned(), table));
        tuning.into_iter().collect()
    }

    fn unique_id(&mut self) -> Result<Vec<u8>, Failure> {
        self.collectives.unique_id()
    }

    fn join(&mut self, world: &World) -> Result<(), Failure> {
        self.collectives.join(world)
    }

    /// An error that sticks is answered to every later call, so one that does nothing tells.
    fn condition(&mut self) -> Condition {
        let answers = self.context.make_current().and_then(|()| self.stream.synchronize());
        let Err(failure) = answers else { return Condition::Sound };
        let managed = self.first().and_then(|gpu| gpu.management);
        if managed.is_some_and(|(library, gpu)| library.is_lost(gpu)) {
            return Condition::Lost(failure.to_string());
        }
        Condition::Broken
    }
}

/// How many GPUs the driver lists.
fn count() -> Result<u32, DeviceError> {
    let count = result::init().and_then(|()| result::device::get_count());
    match count {
        Ok(count) if count > 0 => Ok(count.unsigned_abs()),
        Ok(_) => Err(no_gpu("it lists none")),
        Err(error) if error.0 == CUresult::CUDA_ERROR_NO_DEVICE => Err(no_gpu(&words(error))),
        Err(error) => Err(DeviceError::Missing {
            what: format!("the NVIDIA driver does not start: {}", words(error)),
            hint: symbols::elsewhere("see what `nvidia-smi` says, "),
        }),
    }
}

fn no_gpu(why: &str) -> DeviceError {
    DeviceError::Missing {
        what: format!("the NVIDIA driver finds no GPU: {why}"),
        hint: symbols::elsewhere("see `nvidia-smi` and CUDA_VISIBLE_DEVICES, "),
    }
}

fn no_such_gpu(number: u32, count: u32) -> DeviceError {
    let last = count - 1;
    DeviceError::Choice {
        what: format!("there is no GPU {number}: this machine has {count}"),
        hint: if last == 0 {
            "use `--device 0`".to_owned()
        } else {
            format!("use `--device 0..{last}`, `--device all` or one of them")
        },
    }
}

fn not_usable(failure: Failure) -> DeviceError {
    DeviceError::Missing {
        what: format!("the GPU cannot be used: {failure}"),
        hint: symbols::elsewhere("see what `nvidia-smi` says, "),
    }
}

/// The median of empty pairs of events, and the resolution where that is nothing.
fn event_cost(stream: &Stream, pairs: &[(Event, Event)]) -> Result<Nanos, Failure> {
    let mut costs = Vec::new();
    for (begin, end) in pairs.iter().cycle().take(EMPTY_PAIRS) {
        begin.record(stream)?;
        end.record(stream)?;
        stream.synchronize()?;
        costs.push(begin.until(end).unwrap_or(RESOLUTION));
    }
    costs.sort_unstable();
    Ok(costs.get(costs.len() / 2).copied().unwrap_or(RESOLUTION))
}

/// `h200` of `NVIDIA H200`, `h200-x8` of eight: a name for files.
fn machine_name(device: &str, count: usize) -> String {
    let lower = device.to_ascii_lowercase();
    let short = lower.strip_prefix("nvidia ").unwrap_or(&lower);
    let words: Vec<&str> =
        short.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let name = if words.is_empty() { "gpu".to_owned() } else { words.join("-") };
    if count > 1 { format!("{name}-x{count}") } else { name }
}

fn hardware(gpu: &Facts) -> Hardware {
    let peaks: BTreeMap<String, f64> =
        peaks::peak_tflop_s(gpu.compute, gpu.units, gpu.max_sm_clock);
    Hardware {
        units: Some(gpu.units),
        memory_gb_s: peaks::memory_gb_s(gpu.max_memory_clock, gpu.bus_bits),
        cache_bytes: Some(gpu.l2_bytes),
        memory_bytes: Some(gpu.memory_bytes),
        link_gb_s: None,
        compute_capability: format!("{}.{}", gpu.compute.0, gpu.compute.1).parse().ok(),
        peak_tflop_s: peaks,
        source: Some("derived from what the driver of the machine measured states".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_named_after_their_gpus() {
        assert_eq!(machine_name("NVIDIA H200", 8), "h200-x8");
        assert_eq!(machine_name("NVIDIA A100-SXM4-80GB", 1), "a100-sxm4-80gb");
        assert_eq!(machine_name("", 1), "gpu");
    }

    #[test]
    fn a_number_that_no_gpu_has_is_answered_with_those_there_are() {
        use kernelgauge_data::Diagnostic as _;
        let error = no_such_gpu(9, 8);
        assert_eq!(error.to_string(), "there is no GPU 9: this machine has 8");
        assert!(error.hint().unwrap().contains("`--device 0..7`"));
    }
}
