//! The element types of kernels, with conversions that owe nothing to those under test.

use std::sync::OnceLock;

use bytemuck::{Pod, Zeroable};
use kernelgauge_cuda::random::Random;

/// An element type.
pub trait Number: Pod + PartialEq + std::fmt::Debug {
    /// The suffix of its kernels.
    const NAME: &'static str;
    /// Largest relative error of rounding to it.
    const ROUNDING: f64;
    /// The nearest value, ties to even.
    fn of(value: f64) -> Self;
    /// The exact value.
    fn wide(self) -> f64;
}

impl Number for f32 {
    const NAME: &'static str = "f32";
    const ROUNDING: f64 = f32::EPSILON as f64 / 2.0;
    fn of(value: f64) -> Self {
        value as f32
    }
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

/// IEEE half, as stored.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(transparent)]
pub struct Half(pub u16);

// SAFETY: one `u16` and nothing else, for which every pattern of bits is a value.
unsafe impl Zeroable for Half {}
// SAFETY: as above; the layout is that of the `u16`.
unsafe impl Pod for Half {}

/// bfloat16, as stored.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(transparent)]
pub struct Brain(pub u16);

// SAFETY: as for `Half`.
unsafe impl Zeroable for Brain {}
// SAFETY: as for `Half`.
unsafe impl Pod for Brain {}

impl Number for Half {
    const NAME: &'static str = "f16";
    const ROUNDING: f64 = 1.0 / 2048.0;

    fn of(value: f64) -> Self {
        static SIZES: OnceLock<Vec<f64>> = OnceLock::new();
        let sizes = SIZES.get_or_init(|| (0..0x7c00).map(|bits| Half(bits).wide()).collect());
        // The largest half is 65504; half a step above it, infinity begins.
        Half(nearest(sizes, value, 65520.0, 0x7c00))
    }

    fn wide(self) -> f64 {
        let (exponent, mantissa) = (i32::from(self.0 >> 10 & 31), f64::from(self.0 & 1023));
        let size = match exponent {
            31 if mantissa == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            0 => mantissa * (-24_f64).exp2(),
            _ => (mantissa + 1024.0) * f64::from(exponent - 25).exp2(),
        };
        if self.0 >> 15 == 1 { -size } else { size }
    }
}

impl Number for Brain {
    const NAME: &'static str = "bf16";
    const ROUNDING: f64 = 1.0 / 256.0;

    fn of(value: f64) -> Self {
        static SIZES: OnceLock<Vec<f64>> = OnceLock::new();
        let sizes = SIZES.get_or_init(|| (0..0x7f80).map(|bits| Brain(bits).wide()).collect());
        let border = 2.0 * sizes[0x7f7f] - (sizes[0x7f7e] + sizes[0x7f7f]) / 2.0;
        Brain(nearest(sizes, value, border, 0x7f80))
    }

    fn wide(self) -> f64 {
        f64::from(f32::from_bits(u32::from(self.0) << 16))
    }
}

/// The bits of the nearest of `sizes` (those of bits 0, 1, ..), or `infinity` from `border` on.
fn nearest(sizes: &[f64], value: f64, border: f64, infinity: u16) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let size = value.abs();
    if size >= border {
        return sign | infinity;
    }
    let above = sizes.partition_point(|known| *known < size);
    if above == 0 || above == sizes.len() {
        return sign | above.min(sizes.len() - 1) as u16;
    }
    let (low, high) = (size - sizes[above - 1], sizes[above] - size);
    let down = low < high || (low == high && above % 2 == 1);
    sign | if down { above - 1 } else { above } as u16
}

/// `count` values uniform in (-2, 2).
pub fn random<T: Number>(count: usize, seed: u64) -> Vec<T> {
    let mut random = Random::new(seed);
    (0..count).map(|_| T::of(4.0 * random.unit() - 2.0)).collect()
}

/// Fails where an element is further from what is expected than its rounding and `slack` (an
/// absolute distance) allow.
pub fn compare<T: Number>(what: &str, found: &[T], expected: &[f64], slack: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        let tolerance = 1.01 * T::ROUNDING * expected.abs() + slack + 1e-7;
        let off = (found.wide() - expected).abs();
        assert!(off <= tolerance, "{what}: {found:?} = {} not {expected} at {place}", found.wide());
    }
}
