//! The processor as a device: the same points, timed by the same pipeline as on a GPU.
//!
//! What it executes: GEMM in `f32` and `f64` through the `gemm` crate, embedding bags forward
//! and backward, memory-bound ops in `f32` and `f64`, copies within host memory. Ops are
//! parallel above a size where a second thread pays and use one thread below it. Vector code is
//! chosen when the process starts, for the widest vectors the processor has.
//!
//! *Hot* uses the same operands in every execution. *Cold* rotates through copies of them which
//! together exceed twice the last cache, and is offered for memory-bound ops and copies; for
//! matrix products and embedding bags, whose speed depends on reuse within one execution, only
//! hot is. A cold time includes the misses of the address translation that come with fresh
//! pages.
//!
//! Every operand is random from the seed of the point. Every point can be verified against a
//! plain reference in `f64`; what is compared is said beside each kernel.
//!
//! Left to others: the choice of points and samples (`kernelgauge-calibrate`). Peak rates are
//! not stated: nobody publishes them for a slice of a virtual machine.

mod clock;
pub(crate) mod compare;
mod contention;
mod copy;
pub(crate) mod embedding;
mod exponential;
mod facts;
mod gemm;
mod half;
mod layout;
pub(crate) mod memory;
pub(crate) mod operand;
pub(crate) mod real;
mod threads;
mod workload;

use std::collections::BTreeMap;
use std::path::Path;
use std::thread::available_parallelism;

use kernelgauge_data::{
    Bytes, CacheState, Direction, Dtype, Environment, Failure, GemmLayout, Hardware, Links,
    Machine, Manner, Origin, Point, SkipReason,
};

use self::contention::Contention;
use self::copy::CopyKernel;
use self::embedding::backward::BackwardKernel;
use self::embedding::forward::ForwardKernel;
use self::facts::Facts;
use self::gemm::GemmKernel;
use self::layout::Layout;
use self::memory::MemoryKernel;
use self::operand::{Arena, Carver};
use self::real::Real;
use self::threads::Threads;
use self::workload::Host;
use crate::device::{Device, DeviceError, Timer, Workload, usual_only};

/// Version of the `gemm` crate, which does the matrix products; a test compares it with
/// Cargo.lock.
const GEMM_VERSION: &str = "0.19.0";

/// Where the facts are read.
const ROOT: &str = "/";

/// The processor and its memory.
#[derive(Debug)]
pub struct HostDevice {
    threads: Threads,
    contention: Contention,
    facts: Facts,
    timer: Timer,
    cold_bytes: u64,
    arena: Arena,
}

impl HostDevice {
    /// The processor with `threads` threads, or with as many as this process may use.
    ///
    /// # Errors
    /// [`DeviceError::Threads`] for no threads, for more than this process may use, and when
    /// they cannot be started.
    pub fn new(threads: Option<usize>) -> Result<Self, DeviceError> {
        let most = available_parallelism().map_or(1, usize::from);
        let count = threads.unwrap_or(most);
        if !(1..=most).contains(&count) {
            return Err(DeviceError::Threads {
                what: format!("cannot measure with {count} threads: this process may use {most}"),
                hint: format!("ask for 1 to {most} threads, or leave the number out for all"),
            });
        }
        Self::with_threads(count)
    }

    /// As [`HostDevice::new`], with any number of threads.
    fn with_threads(count: usize) -> Result<Self, DeviceError> {
        let facts = Facts::read(Path::new(ROOT));
        let threads = Threads::new(count)?;
        Ok(HostDevice {
            contention: Contention::of(&threads),
            threads,
            timer: clock::measure(),
            cold_bytes: layout::cold_bytes(facts.last_cache(), facts.memory_bytes),
            facts,
            arena: Arena::default(),
        })
    }

    fn layout(&self, point: &Point, cache: CacheState) -> Option<Layout> {
        let cold_bytes = if cache == CacheState::Cold { self.cold_bytes } else { 0 };
        Layout::of(point, cold_bytes)
    }
}

impl Device for HostDevice {
    fn machine(&self) -> Machine {
        let architecture = std::env::consts::ARCH;
        let unnamed = || format!("{architecture} processor");
        Machine {
            name: format!("host-{}", architecture.replace('_', "-")),
            device: self.facts.model.clone().unwrap_or_else(unnamed),
            count: 1,
            links: Links::Unstated,
            software: BTreeMap::from([("gemm".to_owned(), GEMM_VERSION.to_owned())]),
            hardware: Hardware {
                units: u32::try_from(self.threads.count()).ok(),
                cache_bytes: self.facts.last_cache(),
                memory_bytes: self.facts.memory_bytes,
                source: Some("the operating system of the machine measured".to_owned()),
                ..Hardware::default()
            },
        }
    }

    fn origin(&self) -> Origin {
        Origin::Measured
    }

    fn environment(&self) -> Environment {
        let mut environment = Environment::default();
        self.facts.record(&mut environment);
        environment.set("architecture", std::env::consts::ARCH);
        environment.set("threads", self.threads.count().to_string());
        environment.set("vectors", self.threads.vectors());
        environment.set("gemm_crate_version", GEMM_VERSION);
        environment.set("cold_rotation_bytes", self.cold_bytes.to_string());
        environment
    }

    fn lock_keys(&self) -> Vec<String> {
        vec![format!("host-{}", std::env::consts::ARCH.replace('_', "-"))]
    }

    /// Seven eighths of what the kernel and the control group leave; 1 GiB where neither says.
    fn free_memory(&self) -> Bytes {
        let available = facts::available_memory(Path::new(ROOT)).unwrap_or(1 << 30);
        let available = available.saturating_add(self.arena.bytes().get());
        Bytes::new(available / 8 * 7)
    }

    fn timer(&self) -> Timer {
        self.timer
    }

    fn memory_needed(&self, point: &Point, cache: CacheState) -> Bytes {
        let needed = self.layout(point, cache).and_then(|layout| layout.bytes());
        Bytes::new(needed.unwrap_or(u64::MAX))
    }

    fn supports_in(
        &self,
        point: &Point,
        cache: CacheState,
        manner: Manner,
    ) -> Result<(), SkipReason> {
        usual_only(point, manner)?;
        supported(point, cache).map_err(SkipReason::Unsupported)
    }

    fn prepare_in<'device>(
        &'device mut self,
        point: &Point,
        cache: CacheState,
        manner: Manner,
        seed: u64,
    ) -> Result<Box<dyn Workload + 'device>, Failure> {
        usual_only(point, manner).map_err(|reason| Failure::Device(reason.to_string()))?;
        supported(point, cache).map_err(Failure::Device)?;
        let layout = self.layout(point, cache);
        let slots = layout.as_ref().map_or(1, Layout::slots);
        let operands = layout.as_ref().and_then(Layout::operand_bytes).unwrap_or(u64::MAX);
        let (needs, free) = (self.memory_needed(point, cache), self.free_memory());
        if needs > free {
            return Err(Failure::Device(format!("needs {needs}, {free} free")));
        }
        let HostDevice { threads, contention, arena, .. } = self;
        let (threads, contention): (&'device Threads, &'device Contention) = (threads, contention);
        let carver = arena.reserve(Bytes::new(operands), threads)?;
        let setting = Setting { slots, seed, threads, contention, carver };
        match point.dtype() {
            Some(Dtype::F64) => setting.workload::<f64>(point),
            _ => setting.workload::<f32>(point),
        }
    }
}

/// What every kernel is made with.
struct Setting<'device> {
    slots: usize,
    seed: u64,
    threads: &'device Threads,
    contention: &'device Contention,
    carver: Carver<'device>,
}

impl<'device> Setting<'device> {
    fn workload<T: Real>(self, point: &Point) -> Result<Box<dyn Workload + 'device>, Failure> {
        let Setting { slots, seed, threads, contention, mut carver } = self;
        let carver = &mut carver;
        let host = Host { threads, contention };
        match point {
            Point::Gemm(point) => {
                host.boxed(GemmKernel::<T>::new(point, seed, carver, threads)?, 1)
            }
            Point::Memory(point) => {
                host.boxed(MemoryKernel::<T>::new(point, slots, seed, carver)?, slots)
            }
            Point::Copy(point) => {
                host.boxed(CopyKernel::new(point.bytes, slots, seed, carver)?, slots)
            }
            Point::Embedding(point) if point.direction == Direction::Forward => {
                host.boxed(ForwardKernel::<T>::new(point, seed, carver, threads)?, 1)
            }
            Point::Embedding(point) => {
                host.boxed(BackwardKernel::<T>::new(point, seed, carver, threads)?, 1)
            }
            Point::Collective(_) | Point::Attention(_) | Point::Custom(_) => {
                Err(Failure::Device(no_such_op(point)))
            }
        }
    }
}

/// Why the processor cannot execute `point`.
fn supported(point: &Point, cache: CacheState) -> Result<(), String> {
    point.check().map_err(|error| error.to_string())?;
    match cache {
        CacheState::Unstated => {
            return Err("a measurement states whether its operands are hot or cold".to_owned());
        }
        CacheState::Cold if !matches!(point, Point::Memory(_) | Point::Copy(_)) => {
            return Err(format!("cold operands of {}", point.family()));
        }
        CacheState::Cold | CacheState::Hot => {}
    }
    match point.dtype() {
        Some(Dtype::F32 | Dtype::F64) | None => {}
        Some(dtype) => return Err(format!("{dtype} on the processor (it has f32 and f64)")),
    }
    match point {
        Point::Collective(_) | Point::Attention(_) | Point::Custom(_) => Err(no_such_op(point)),
        Point::Copy(copy) if copy.direction != kernelgauge_data::CopyDirection::HostToHost => {
            Err(format!("{} copies on the processor (it has h2h)", copy.direction))
        }
        Point::Copy(copy) if copy.pinned => {
            Err("pinned memory, which only a GPU driver hands out".to_owned())
        }
        Point::Embedding(bag) if embedding::writes_a_gradient(bag) => {
            Err("the gradient of a whole table (it updates the rows)".to_owned())
        }
        Point::Embedding(bag) => {
            let all = |count: u64| bag.tables.saturating_mul(count);
            if all(bag.rows) > 1 << 32 || all(bag.batch) > 1 << 32 {
                return Err("more than 2^32 rows or bags in all tables".to_owned());
            }
            Ok(())
        }
        Point::Gemm(gemm) if gemm.layout != GemmLayout::Unstated => {
            Err(format!("products of layout {} on the processor", gemm.layout))
        }
        Point::Gemm(_) | Point::Memory(_) | Point::Copy(_) => Ok(()),
    }
}

fn no_such_op(point: &Point) -> String {
    format!("{} on the processor", point.family())
}

#[cfg(test)]
mod tests;
