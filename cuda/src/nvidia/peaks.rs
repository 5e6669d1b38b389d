//! Peak rates that follow from what the driver states.
//!
//! They bound what can be true (the quality gate's ceiling), so the highest clocks are used. A
//! figure that cannot be derived stays unknown.

use std::collections::BTreeMap;

use kernelgauge_data::Dtype;

/// Bits per byte, and transfers per clock of a memory with double data rate: the formula of
/// NVIDIA's deviceQuery sample, `2 * memory clock * bus width / 8`.
pub fn memory_gb_s(clock_mhz: Option<u32>, bus_bits: Option<u32>) -> Option<f64> {
    let (clock, bits) = (f64::from(clock_mhz?), f64::from(bus_bits?));
    let rate = 2.0 * clock * 1e6 * bits / 8.0 / 1e9;
    (rate > 0.0).then_some(rate)
}

/// Compute capability: major, minor.
type Compute = (u32, u32);
/// Multiply-adds per clock by dtype.
type Rates = &'static [(Dtype, f64)];

/// Dense multiply-adds of one multiprocessor in one clock, by compute capability: f32 on the
/// plain cores (CUDA C++ Programming Guide, table "Throughput of Native Arithmetic
/// Instructions"), the others on tensor cores (white papers of Volta, Turing, Ampere, Ada and
/// Hopper: per-GPU peak over multiprocessors and boost clock). Not listed is not known.
const MULTIPLY_ADDS: &[(Compute, Rates)] = &[
    ((7, 0), &[(Dtype::F64, 32.0), (Dtype::F32, 64.0), (Dtype::F16, 512.0)]),
    ((7, 5), &[(Dtype::F64, 2.0), (Dtype::F32, 64.0), (Dtype::F16, 512.0), (Dtype::Int8, 1024.0)]),
    (
        (8, 0),
        &[
            (Dtype::F64, 64.0),
            (Dtype::F32, 64.0),
            (Dtype::Tf32, 512.0),
            (Dtype::F16, 1024.0),
            (Dtype::Bf16, 1024.0),
            (Dtype::Int8, 2048.0),
        ],
    ),
    (
        (8, 6),
        &[
            (Dtype::F64, 2.0),
            (Dtype::F32, 128.0),
            (Dtype::Tf32, 256.0),
            (Dtype::F16, 512.0),
            (Dtype::Bf16, 512.0),
            (Dtype::Int8, 1024.0),
        ],
    ),
    (
        (8, 9),
        &[
            (Dtype::F64, 2.0),
            (Dtype::F32, 128.0),
            (Dtype::Tf32, 256.0),
            (Dtype::F16, 512.0),
            (Dtype::Bf16, 512.0),
            (Dtype::Fp8, 1024.0),
            (Dtype::Int8, 1024.0),
        ],
    ),
    (
        (9, 0),
        &[
            (Dtype::F64, 128.0),
            (Dtype::F32, 128.0),
            (Dtype::Tf32, 1024.0),
            (Dtype::F16, 2048.0),
            (Dtype::Bf16, 2048.0),
            (Dtype::Fp8, 4096.0),
            (Dtype::Int8, 4096.0),
        ],
    ),
];

/// Peak TFLOP/s (TOP/s) by dtype: two operations per multiply-add.
pub fn peak_tflop_s(compute: Compute, units: u32, clock_mhz: Option<u32>) -> BTreeMap<String, f64> {
    let known = MULTIPLY_ADDS.iter().find(|(known, _)| *known == compute);
    let (Some((_, rates)), Some(clock)) = (known, clock_mhz) else { return BTreeMap::new() };
    let scale = 2.0 * f64::from(units) * f64::from(clock) * 1e6 / 1e12;
    rates.iter().map(|(dtype, adds)| (dtype.name().to_owned(), adds * scale)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_peaks_follow_at_boost_clock() {
        // H100 SXM: 132 multiprocessors at 1830 MHz, 989 TFLOP/s of bf16, 3.35 TB/s.
        let hopper = peak_tflop_s((9, 0), 132, Some(1830));
        assert!((hopper["bf16"] / 989.4 - 1.0).abs() < 0.01, "{hopper:?}");
        assert!((hopper["f32"] / 66.9 - 1.0).abs() < 0.08, "{hopper:?}");
        let memory = memory_gb_s(Some(2619), Some(5120)).unwrap();
        assert!((memory / 3352.0 - 1.0).abs() < 0.01, "{memory}");
        // A100 SXM: 108 multiprocessors at 1410 MHz, 312 TFLOP/s of bf16.
        let ampere = peak_tflop_s((8, 0), 108, Some(1410));
        assert!((ampere["bf16"] / 312.0 - 1.0).abs() < 0.01, "{ampere:?}");
    }

    #[test]
    fn what_is_not_known_is_not_made_up() {
        assert!(peak_tflop_s((99, 0), 100, Some(1000)).is_empty());
        assert!(peak_tflop_s((9, 0), 100, None).is_empty());
        assert_eq!(memory_gb_s(None, Some(5120)), None);
    }
}
