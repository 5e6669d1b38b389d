//! Parameters that were published: hardware figures and curves measured by the authors of the
//! reference system, from its repository `owensgroup/ml_perf_model` (`analysis/inference.py` at
//! e389b07 of September 2022, `analysis/utils.py` at 5b2522a).

use kernelgauge_data::{Collective, CollectivePoint, Machine};

use super::sigmoid::Sigmoid;

/// Figures of a device that the reference models need.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// Arithmetic peak in GFLOP/s: measured for fp32, else the published one by dtype name.
    pub peak_gflop_s: Vec<(String, f64)>,
    /// Memory bandwidth in decimal GB/s.
    pub memory_gb_s: f64,
    /// Bandwidth of the last-level cache in decimal GB/s, where known.
    pub cache_gb_s: Option<f64>,
    /// Bandwidth of PCI Express in decimal GB/s, where known.
    pub pcie_gb_s: Option<f64>,
    /// Streaming multiprocessors.
    pub units: f64,
    /// Last-level cache in bytes.
    pub cache_bytes: f64,
    /// The memory's curve, where it was measured.
    pub memory_curve: Option<Sigmoid>,
    /// The cache's curve, where it was measured.
    pub cache_curve: Option<Sigmoid>,
}

const fn curve(factor: f64, ends: [f64; 2], limits: [f64; 2], sigmoid: [f64; 4]) -> Sigmoid {
    Sigmoid {
        factor,
        linear_end: ends[0],
        saturated_from: ends[1],
        max_gb_s: limits[0],
        overhead_us: limits[1],
        length: sigmoid[0],
        centre: sigmoid[1],
        steepness: sigmoid[2],
        base: sigmoid[3],
    }
}

/// Four V100 of a DGX-1, all-to-all-v.
pub const V100_4_ALL_TO_ALL_V: Sigmoid =
    curve(0.75, [13.0, 27.0], [56.7134, 85.6], [5.97878216, 13.33976161, 0.22551425, -3.99731681]);

/// Four V100 of a DGX-1, all-reduce.
pub const V100_4_ALL_REDUCE: Sigmoid =
    curve(1.5, [12.0, 26.0], [75.6704, 84.2], [6.04564109, 12.70417428, 0.2242347, -3.94164857]);

/// Eight V100 of a DGX-1, all-to-all-v.
pub const V100_8_ALL_TO_ALL_V: Sigmoid =
    curve(0.875, [12.0, 24.0], [45.8154, 68.0], [5.88387459, 12.51962025, 0.23138583, -4.02494046]);

/// Eight V100 of a DGX-1, all-reduce.
pub const V100_8_ALL_REDUCE: Sigmoid =
    curve(1.75, [12.0, 25.0], [130.3734, 43.4], [6.67770176, 11.62004605, 0.19322959, -4.28862824]);

/// Device memory of a V100.
pub const V100_MEMORY: Sigmoid = curve(
    1.0,
    [16.0, 30.0],
    [816.953003, 4.83328223],
    [1.9472268, 19.81699009, 0.55556443, 0.95523816],
);

/// Device memory of an A100 with 40 GB.
pub const A100_MEMORY: Sigmoid = curve(
    1.0,
    [14.0, 29.0],
    [1391.103638, 6.450239],
    [2.20955621, 20.35203082, 0.62528837, 0.93242722],
);

/// Last-level cache of a V100, as fitted from embedding forward passes.
pub const V100_CACHE: Sigmoid =
    curve(1.0, [0.0, 40.0], [2289.23, 1.0], [0.80007547, 25.35998915, 0.72015376, 2.56152161]);

/// A V100 with 16 GB: measured peaks.
pub fn v100() -> Device {
    Device {
        peak_gflop_s: vec![("f32".to_owned(), 15441.5)],
        memory_gb_s: 817.0,
        cache_gb_s: Some(2847.5),
        pcie_gb_s: Some(8.1),
        units: 80.0,
        cache_bytes: 6.0 * 1_048_576.0,
        memory_curve: Some(V100_MEMORY),
        cache_curve: Some(V100_CACHE),
    }
}

/// An A100 with 40 GB: measured peaks.
pub fn a100() -> Device {
    Device {
        peak_gflop_s: vec![("f32".to_owned(), 15026.6)],
        memory_gb_s: 1391.1,
        cache_gb_s: Some(2270.9),
        pcie_gb_s: Some(8.1),
        units: 108.0,
        cache_bytes: 40.0 * 1_048_576.0,
        memory_curve: Some(A100_MEMORY),
        cache_curve: None,
    }
}

impl Device {
    /// The figures of a machine's device: the authors' for a V100, else those the machine states.
    ///
    /// # Errors
    /// The figure that nobody stated.
    pub fn of(machine: &Machine) -> Result<Device, String> {
        if machine.device.contains("V100") {
            return Ok(v100());
        }
        let hardware = &machine.hardware;
        let lacks = |what: &str| format!("no {what} of {} was published", machine.name);
        let memory_gb_s = hardware.memory_gb_s.ok_or_else(|| lacks("memory bandwidth"))?;
        Ok(Device {
            peak_gflop_s: hardware
                .peak_tflop_s
                .iter()
                .map(|(dtype, peak)| (dtype.clone(), peak * 1e3))
                .collect(),
            memory_gb_s,
            cache_gb_s: None,
            pcie_gb_s: None,
            units: f64::from(hardware.units.ok_or_else(|| lacks("number of units"))?),
            cache_bytes: hardware.cache_bytes.ok_or_else(|| lacks("cache size"))? as f64,
            memory_curve: None,
            cache_curve: None,
        })
    }

    /// Time to move `bytes` to and from memory, in microseconds.
    pub fn memory_us(&self, bytes: f64) -> f64 {
        match &self.memory_curve {
            Some(curve) => curve.time_us(bytes),
            None => bytes / self.memory_gb_s / 1e3,
        }
    }

    /// Time to move `bytes` through the last-level cache, in microseconds; without a figure for
    /// the cache three times the memory's bandwidth, which is about what both known devices have.
    pub fn cache_us(&self, bytes: f64) -> f64 {
        match (&self.cache_curve, self.cache_gb_s) {
            (Some(curve), _) => curve.time_us(bytes),
            (None, Some(rate)) => bytes / rate / 1e3,
            (None, None) => bytes / (3.0 * self.memory_gb_s) / 1e3,
        }
    }

    /// Arithmetic peak for a dtype in GFLOP/s, where known.
    pub fn peak(&self, dtype: &str) -> Option<f64> {
        self.peak_gflop_s.iter().find(|(name, _)| name == dtype).map(|(_, peak)| *peak)
    }
}

/// The authors' curve for a collective, where the machine is theirs.
pub fn curve_of(collective: Collective, ranks: u64) -> Option<Sigmoid> {
    match (collective, ranks) {
        (Collective::AllToAll | Collective::AllToAllV, 4) => Some(V100_4_ALL_TO_ALL_V),
        (Collective::AllToAll | Collective::AllToAllV, 8) => Some(V100_8_ALL_TO_ALL_V),
        (Collective::AllReduce, 4) => Some(V100_4_ALL_REDUCE),
        (Collective::AllReduce, 8) => Some(V100_8_ALL_REDUCE),
        _ => None,
    }
}

/// As [`curve_of`], if `machine` is a DGX-1 with V100.
pub(super) fn of_machine(machine: &Machine, point: &CollectivePoint) -> Option<Sigmoid> {
    let theirs = machine.device.contains("V100") && point.nodes == 1;
    if theirs { curve_of(point.collective, point.ranks) } else { None }
}
