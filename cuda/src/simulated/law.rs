//! The time law of the simulated device: a latency and a roofline, without noise.

use kernelgauge_data::{CacheState, Dtype, Family, Point};

/// Cache of the simulated device in bytes.
pub const CACHE_BYTES: u64 = 32 << 20;

/// Peak bandwidth in decimal GB/s, which no simulated time exceeds.
pub const PEAK_GB_S: f64 = 200.0;

/// Peak arithmetic in TFLOP/s, or none where the device has no such dtype.
pub fn peak_tflop_s(dtype: Dtype) -> Option<f64> {
    match dtype {
        Dtype::F64 => Some(0.5),
        Dtype::F32 => Some(1.0),
        Dtype::F16 | Dtype::Bf16 => Some(4.0),
        _ => None,
    }
}

/// Nanoseconds of one execution: latency + max(flops / 80 % of peak, bytes / bandwidth), where
/// the bandwidth is 40 % of the peak from memory and 80 % from the cache.
pub fn nanos(point: &Point, cache: CacheState) -> f64 {
    let work = point.work();
    let latency = match point.family() {
        Family::Gemm => 4_000.0,
        Family::Embedding => 6_000.0,
        Family::Copy => 2_000.0,
        _ => 3_000.0,
    };
    let in_cache = cache == CacheState::Hot && work.bytes() <= CACHE_BYTES as f64;
    let gb_s = if in_cache { 0.8 * PEAK_GB_S } else { 0.4 * PEAK_GB_S };
    let tflop_s = 0.8 * point.dtype().and_then(peak_tflop_s).unwrap_or(1.0);
    latency + (work.flops / (tflop_s * 1e3)).max(work.bytes() / gb_s)
}
