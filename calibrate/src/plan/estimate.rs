//! How long a point will take, guessed before anything was measured.
//!
//! The guess weighs progress and decides which points are too long for an early pass; it is
//! corrected by what points really take while a run goes on (`sweep::pace`). It never reaches
//! a model.

use kernelgauge_data::{CacheState, CopyDirection, Dtype, Links, Machine, Nanos, Point};

/// Rates of a modest pair of processor cores.
pub const PROCESSOR: Rates = Rates {
    gflop_s: 100.0,
    tensor_cores: false,
    gb_s: 8.0,
    link_gb_s: 8.0,
    peer_gb_s: 8.0,
    fill_gb_s: 1.0,
    repeat_gb_s: 1.0,
    product_overhead: 0.0,
    cold_bytes: 256e6,
};
/// Rates of a modest GPU, whose caches are flushed by writing a few times their size.
pub const GPU: Rates = Rates {
    gflop_s: 20_000.0,
    tensor_cores: true,
    gb_s: 800.0,
    link_gb_s: 10.0,
    peer_gb_s: 10.0,
    fill_gb_s: 1.0,
    repeat_gb_s: 400.0,
    product_overhead: 4e7,
    cold_bytes: 0.0,
};

/// Time of a point beyond its executions and operands, in nanoseconds.
const OVERHEAD: f64 = 5e6;
/// A sample lasts at least this long, in nanoseconds; see `measure`.
const SAMPLE: f64 = 2e5;
/// Executions for warm-up and verification, and samples until the median is known.
const WARM_UP: f64 = 4.0;
const SAMPLES: f64 = 24.0;

/// The rates of a machine: those of a processor where it was one that was measured.
pub fn rates_of(machine: &Machine) -> Rates {
    if machine.software.contains_key("gemm") { PROCESSOR } else { GPU }
}

/// How fast a device is guessed to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// GFLOP/s of f32.
    gflop_s: f64,
    /// Whether narrower floats are multiplied so much faster.
    tensor_cores: bool,
    /// GB/s of its memory.
    gb_s: f64,
    /// GB/s between its memory and any other.
    link_gb_s: f64,
    /// The same between two GPUs.
    peer_gb_s: f64,
    /// GB/s at which operands are filled.
    fill_gb_s: f64,
    /// GB/s at which operands of kernels and matrix products are filled: a GPU repeats a block
    /// of them by itself.
    repeat_gb_s: f64,
    /// What a matrix product takes beyond its executions and operands: the host draws its
    /// elements, and computes some of the result. In nanoseconds.
    product_overhead: f64,
    /// What operands of cold points occupy, where they rotate through more than a cache.
    cold_bytes: f64,
}

impl Rates {
    /// The same with GPUs linked by `links`: modestly, a fifth of the 450 GB/s that NVIDIA states
    /// for one direction of an H100's NVLink.
    pub fn linked(self, links: Links) -> Self {
        let peer_gb_s = match links {
            Links::Nvswitch | Links::Nvlink => 90.0,
            _ => self.peer_gb_s,
        };
        Rates { peer_gb_s, ..self }
    }

    /// One execution of `point`.
    pub fn execution(self, point: &Point) -> Nanos {
        let work = point.work();
        let slowness = match point {
            Point::Gemm(point) => self.slowness(point.dtype),
            _ => 1.0,
        };
        let arithmetic = work.flops * slowness / self.gflop_s;
        let gb_s = match between(point) {
            Between::Nothing => self.gb_s,
            Between::HostAndDevice => self.link_gb_s,
            Between::Devices => self.peer_gb_s,
        };
        Nanos::saturating(1_000.0 + arithmetic.max(work.bytes() / gb_s))
    }

    /// Time of a multiplication relative to f32: tensor cores take twice as many of half the
    /// width, and four times as many tf32 as plain cores take f32.
    fn slowness(self, dtype: Dtype) -> f64 {
        match dtype {
            Dtype::F64 => 2.0,
            Dtype::Tf32 if self.tensor_cores => 0.25,
            Dtype::F16 | Dtype::Bf16 if self.tensor_cores => 0.125,
            Dtype::Fp8 | Dtype::Int8 if self.tensor_cores => 0.0625,
            _ => 1.0,
        }
    }

    /// Everything that happens to `point`: operands, verification, warm-up and samples, of which
    /// sampling is cut at `limit`.
    pub fn whole(self, point: &Point, cache: CacheState, limit: Nanos) -> Nanos {
        self.whole_of(point, cache, limit, self.execution(point))
    }

    /// The same where one execution is known to take `one`.
    pub fn whole_of(self, point: &Point, cache: CacheState, limit: Nanos, one: Nanos) -> Nanos {
        let cold = if cache == CacheState::Cold { self.cold_bytes } else { 0.0 };
        let operands = operand_bytes(point).max(cold);
        let one = one.as_f64();
        let sampling = (SAMPLES * one.max(SAMPLE)).min(limit.as_f64().max(one));
        let filling = operands / self.fill_gb_s(point);
        let product = if let Point::Gemm(_) = point { self.product_overhead } else { 0.0 };
        Nanos::saturating(OVERHEAD + product + filling + WARM_UP * one + sampling)
    }

    fn fill_gb_s(self, point: &Point) -> f64 {
        let repeated = !matches!(point, Point::Copy(_) | Point::Custom(_) | Point::Attention(_));
        if repeated { self.repeat_gb_s } else { self.fill_gb_s }
    }
}

/// Whose memories a point moves bytes between.
enum Between {
    Nothing,
    HostAndDevice,
    Devices,
}

fn between(point: &Point) -> Between {
    use CopyDirection::{DeviceToHost, HostToDevice, PeerToPeer};
    match point {
        Point::Collective(_) => Between::Devices,
        Point::Copy(copy) => match copy.direction {
            PeerToPeer => Between::Devices,
            HostToDevice | DeviceToHost => Between::HostAndDevice,
            _ => Between::Nothing,
        },
        _ => Between::Nothing,
    }
}

/// Bytes of the operands, for embeddings all rows of the tables and not only those touched.
fn operand_bytes(point: &Point) -> f64 {
    match point {
        Point::Embedding(bag) => (bag.tables * bag.rows * bag.dim) as f64 * bag.dtype.size() as f64,
        _ => point.work().bytes(),
    }
}
