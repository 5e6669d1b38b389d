//! The floating-point types that kernels store: their bytes, and how exact they are.
//!
//! Kernels compute in `f32` whatever they store. Conversions here are those of `device.h` and
//! owe nothing to it: to nearest, ties to even.

use kernelgauge_data::Dtype;

use crate::host::compare::Precision;

/// A type that operands of kernels are stored in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// IEEE single.
    F32,
    /// IEEE half.
    F16,
    /// bfloat16: the upper half of a single.
    Bf16,
}

impl Element {
    /// That of `dtype`; none for types without kernels.
    pub fn of(dtype: Dtype) -> Option<Self> {
        match dtype {
            Dtype::F32 => Some(Element::F32),
            Dtype::F16 => Some(Element::F16),
            Dtype::Bf16 => Some(Element::Bf16),
            _ => None,
        }
    }

    /// Bytes of a value.
    pub const fn bytes(self) -> usize {
        match self {
            Element::F32 => 4,
            Element::F16 | Element::Bf16 => 2,
        }
    }

    /// Of what is computed in `f32` and stored in this type: half the distance from 1 to the
    /// next number, and half the distance between numbers too small to be normal.
    pub const fn precision(self) -> Precision {
        let epsilon = f32::EPSILON as f64;
        match self {
            Element::F32 => Precision { epsilon, rounding: 0.0, least: 0.0 },
            // 10 bits behind the point, down to 2^-24.
            Element::F16 => {
                Precision { epsilon, rounding: 1.0 / 2048.0, least: 1.0 / 33_554_432.0 }
            }
            // 7 bits behind the point, down to where `f32` ends.
            Element::Bf16 => Precision { epsilon, rounding: 1.0 / 256.0, least: 0.0 },
        }
    }

    /// The bits of the value nearest to `value`.
    pub fn narrow(self, value: f32) -> u32 {
        match self {
            Element::F32 => value.to_bits(),
            Element::F16 => u32::from(half(value)),
            Element::Bf16 => {
                let bits = value.to_bits();
                // Beyond the largest number the sum carries into infinity by itself.
                if value.is_nan() { 0x7fff } else { (bits + 0x7fff + (bits >> 16 & 1)) >> 16 }
            }
        }
    }

    /// The value of `bits`.
    pub fn widen(self, bits: u32) -> f32 {
        match self {
            Element::F32 => f32::from_bits(bits),
            Element::F16 => of_half(bits as u16),
            Element::Bf16 => f32::from_bits(bits << 16),
        }
    }

    /// `values` as they are stored.
    pub fn write(self, values: &[f32]) -> Vec<u8> {
        let bytes = |value: &f32| self.narrow(*value).to_le_bytes().into_iter().take(self.bytes());
        values.iter().flat_map(bytes).collect()
    }

    /// The values that `bytes` store.
    pub fn read(self, bytes: &[u8]) -> Vec<f32> {
        let bits =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte));
        bytes.chunks_exact(self.bytes()).map(|bytes| self.widen(bits(bytes))).collect()
    }
}

/// The nearest half, ties to even.
fn half(value: f32) -> u16 {
    /// Half a step above the largest half, 65504: from here on it is infinity.
    const INFINITE: f32 = 65_520.0;
    /// The smallest normal half.
    const NORMAL: f32 = 6.103_515_6e-5;
    let (sign, size) = ((value.to_bits() >> 16 & 0x8000) as u16, value.abs());
    if value.is_nan() {
        return 0x7fff;
    }
    if size >= INFINITE {
        return sign | 0x7c00;
    }
    if size < NORMAL {
        // In steps of 2^-24, which `f32` holds exactly.
        return sign | (size * 16_777_216.0).round_ties_even() as u16;
    }
    // 13 of 23 bits behind the point go; the exponent moves from a bias of 127 to one of 15.
    let bits = size.to_bits() - (112 << 23);
    sign | ((bits + 0xfff + (bits >> 13 & 1)) >> 13) as u16
}

fn of_half(bits: u16) -> f32 {
    let (exponent, mantissa) = (u32::from(bits >> 10 & 31), u32::from(bits & 1023));
    let size = match exponent {
        0 => mantissa as f32 / 16_777_216.0,
        31 => f32::from_bits(0x7f80_0000 | mantissa << 13),
        _ => f32::from_bits((exponent + 112) << 23 | mantissa << 13),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_of_both_types() {
        for (value, half, brain) in [
            (0.0, 0, 0),
            (1.0, 0x3c00, 0x3f80),
            (-2.0, 0xc000, 0xc000),
            (65504.0, 0x7bff, 0x4780),
            (1e9, 0x7c00, 0x4e6e),
            (5.960_464_5e-8, 1, 0x3380),
            (1.000_488_3, 0x3c00, 0x3f80),
            (1.001_464_8, 0x3c02, 0x3f80),
        ] {
            assert_eq!(Element::F16.narrow(value), half, "{value}");
            assert_eq!(Element::Bf16.narrow(value), brain, "{value}");
        }
        assert!(Element::F16.widen(Element::F16.narrow(f32::NAN)).is_nan());
        assert!(Element::Bf16.widen(Element::Bf16.narrow(f32::NAN)).is_nan());
    }

    #[test]
    fn every_half_reads_back_and_what_lies_between_rounds_to_the_nearer() {
        for bits in 0..0x7c00_u32 {
            let (value, next) = (Element::F16.widen(bits), Element::F16.widen(bits + 1));
            assert_eq!(Element::F16.narrow(value), bits);
            if bits < 0x7bff {
                assert!(value < next, "{bits}");
                assert_eq!(Element::F16.narrow(value + 0.49 * (next - value)), bits);
                assert_eq!(Element::F16.narrow(-(value + 0.51 * (next - value))), 0x8001 + bits);
                let tie = Element::F16.narrow(f32::midpoint(value, next));
                assert!(tie.is_multiple_of(2) && tie.abs_diff(bits) <= 1, "{bits}: {tie}");
            }
        }
    }

    #[test]
    fn bytes_read_back() {
        let values = [0.5, -0.25, 3.0];
        for element in [Element::F32, Element::F16, Element::Bf16] {
            let bytes = element.write(&values);
            assert_eq!(bytes.len(), 3 * element.bytes());
            assert_eq!(element.read(&bytes), values);
        }
    }
}
