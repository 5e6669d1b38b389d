//! NVML, as far as it is needed: clocks, why they are lowered, temperature, power limit, driver version.
//!
//! Its functions are looked up one by one, and each is optional: an older library lacks some,
//! a virtual GPU refuses others, and no measurement depends on any. Nothing is ever set.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

use super::library::{Library, Opened};

type Raw = *mut c_void;
type Number = unsafe extern "C" fn(Raw, *mut c_uint) -> c_int;
type NumberOf = unsafe extern "C" fn(Raw, c_uint, *mut c_uint) -> c_int;
type Reasons = unsafe extern "C" fn(Raw, *mut c_ulonglong) -> c_int;
type Two = unsafe extern "C" fn(Raw, *mut c_uint, *mut c_uint) -> c_int;

/// `NVML_SUCCESS`.
const DONE: c_int = 0;
/// `NVML_ERROR_GPU_IS_LOST`: it fell off the bus, or is otherwise out of reach.
const GPU_IS_LOST: c_int = 15;
/// `NVML_CLOCK_SM` and `NVML_CLOCK_MEM`.
const SM_CLOCK: c_uint = 1;
const MEMORY_CLOCK: c_uint = 2;
/// `NVML_TEMPERATURE_GPU`.
const TEMPERATURE_OF_GPU: c_uint = 0;

/// A GPU as the library knows it.
#[derive(Debug, Clone, Copy)]
pub struct Handle(Raw);

// SAFETY: a handle is a name for a GPU that the library looks up; its functions may be called
// from any thread (nvml.h: "thread-safe").
unsafe impl Send for Handle {}

impl Handle {
    /// The library's name for the GPU.
    pub fn raw(self) -> *mut c_void {
        self.0
    }
}

/// The library, ready to be asked.
#[derive(Debug)]
pub struct Management {
    by_bus: unsafe extern "C" fn(*const c_char, *mut Raw) -> c_int,
    reasons: Option<Reasons>,
    max_clock: Option<NumberOf>,
    power_limit: Option<Number>,
    mig: Option<Two>,
    temperature: Option<NumberOf>,
}

impl Management {
    /// The library, where it is there and its driver answers.
    pub fn open() -> Option<&'static Management> {
        static OPENED: OnceLock<Option<Management>> = OnceLock::new();
        OPENED.get_or_init(|| Management::initialised(Library::Management.open().ok()?)).as_ref()
    }

    fn initialised(library: &Opened) -> Option<Management> {
        type Initialise = unsafe extern "C" fn() -> c_int;
        // SAFETY: the signatures are those of nvml.h; clock event reasons were called throttle
        // reasons before driver 535 and had the same signature and bits.
        let (initialise, management) = unsafe {
            let initialise = library.function::<Initialise>("nvmlInit_v2")?;
            let management = Management {
                by_bus: library.function("nvmlDeviceGetHandleByPciBusId_v2")?,
                reasons: library
                    .function("nvmlDeviceGetCurrentClocksEventReasons")
                    .or_else(|| library.function("nvmlDeviceGetCurrentClocksThrottleReasons")),
                max_clock: library.function("nvmlDeviceGetMaxClockInfo"),
                power_limit: library.function("nvmlDeviceGetEnforcedPowerLimit"),
                mig: library.function("nvmlDeviceGetMigMode"),
                temperature: library.function("nvmlDeviceGetTemperature"),
            };
            (initialise, management)
        };
        // SAFETY: initialising takes nothing and may be repeated.
        let done = unsafe { initialise() } == DONE;
        done.then_some(management)
    }

    /// The GPU at a PCI address such as `00000000:3B:00.0`.
    pub fn gpu(&self, bus: &CStr) -> Option<Handle> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the text ends with zero, and the pointer is valid for the call.
        let status = unsafe { (self.by_bus)(bus.as_ptr(), &raw mut raw) };
        (status == DONE).then_some(Handle(raw))
    }

    /// Why the clock is not at its highest, as a bit set; none where the GPU does not say.
    pub fn clock_event_reasons(&self, gpu: Handle) -> Option<u64> {
        let mut reasons = 0;
        // SAFETY: the handle came from the library, and the pointer is valid for the call.
        let status = unsafe { self.reasons?(gpu.0, &raw mut reasons) };
        (status == DONE).then_some(reasons)
    }

    /// Whether the library says that the GPU is out of reach. Any function that asks the GPU
    /// answers so; the one at hand is used.
    pub fn is_lost(&self, gpu: Handle) -> bool {
        let Some(ask) = self.reasons else { return false };
        let mut reasons = 0;
        // SAFETY: the handle came from the library, and the pointer is valid for the call.
        unsafe { ask(gpu.0, &raw mut reasons) == GPU_IS_LOST }
    }

    /// The highest clock of the multiprocessors in MHz.
    pub fn max_sm_clock(&self, gpu: Handle) -> Option<u32> {
        self.max_clock(gpu, SM_CLOCK)
    }

    /// The highest clock of the memory in MHz.
    pub fn max_memory_clock(&self, gpu: Handle) -> Option<u32> {
        self.max_clock(gpu, MEMORY_CLOCK)
    }

    fn max_clock(&self, gpu: Handle, which: c_uint) -> Option<u32> {
        let mut clock = 0;
        // SAFETY: the handle came from the library, and the pointer is valid for the call.
        let status = unsafe { self.max_clock?(gpu.0, which, &raw mut clock) };
        (status == DONE && clock > 0).then_some(clock)
    }

    /// The temperature of the GPU in degrees Celsius.
    pub fn temperature_c(&self, gpu: Handle) -> Option<u32> {
        let mut degrees = 0;
        // SAFETY: the handle came from the library, and the pointer is valid for the call.
        let status = unsafe { self.temperature?(gpu.0, TEMPERATURE_OF_GPU, &raw mut degrees) };
        (status == DONE).then_some(degrees)
    }

    /// The power limit in force, in milliwatts.
    pub fn power_limit_mw(&self, gpu: Handle) -> Option<u32> {
        let mut limit = 0;
        // SAFETY: the handle came from the library, and the pointer is valid for the call.
        let status = unsafe { self.power_limit?(gpu.0, &raw mut limit) };
        (status == DONE).then_some(limit)
    }

    /// Whether the GPU is divided into instances.
    pub fn is_divided(&self, gpu: Handle) -> Option<bool> {
        let (mut current, mut pending) = (0, 0);
        // SAFETY: the handle came from the library, and both pointers are valid for the call.
        let status = unsafe { self.mig?(gpu.0, &raw mut current, &raw mut pending) };
        (status == DONE).then_some(current != 0)
    }
}
