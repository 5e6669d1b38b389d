//! What a maker's figures say of bandwidths and fixed times, for terms that nothing was fitted to.

use kernelgauge_data::Hardware;

/// Share of the stated memory bandwidth that kernels reach: 817 of 900 GB/s on a V100 and 1391
/// of 1555 on an A100, as the authors of the reference system measured them
/// (`reference::published`).
pub(super) const SUSTAINED: f64 = 0.9;

/// Bandwidth of the last-level cache over that of the memory, as `reference::published` has it
/// for devices whose cache nobody measured.
const CACHE_OVER_MEMORY: f64 = 3.0;

/// Fixed time of a kernel in nanoseconds, as the reference system adds it.
const LAUNCH_NS: f64 = 5000.0;

/// Figures in the units of the terms: bytes, nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Figures {
    pub launch_ns: f64,
    pub memory_bytes_per_ns: f64,
    pub cache_bytes_per_ns: f64,
    pub capacity_bytes: f64,
    /// Arithmetic in fp32, where stated.
    pub flops_per_ns: Option<f64>,
}

impl Figures {
    /// Of `hardware`.
    ///
    /// # Errors
    /// The figure that is not stated.
    pub(super) fn of(hardware: &Hardware) -> Result<Self, &'static str> {
        let positive = |value: &f64| value.is_finite() && *value > 0.0;
        let stated = hardware.memory_gb_s.filter(positive);
        let memory = stated.ok_or("its memory bandwidth is not stated")? * SUSTAINED;
        let cache = hardware.cache_bytes.map(|bytes| bytes as f64).filter(positive);
        Ok(Figures {
            launch_ns: LAUNCH_NS,
            memory_bytes_per_ns: memory,
            cache_bytes_per_ns: memory * CACHE_OVER_MEMORY,
            capacity_bytes: cache.ok_or("the size of its cache is not stated")?,
            flops_per_ns: hardware.peak_tflop_s.get("f32").filter(|v| positive(v)).map(|v| v * 1e3),
        })
    }
}
