//! How the elements of operands and results are written: rounding a number, and reading it back.

/// A format of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// IEEE binary64.
    F64,
    /// IEEE binary32.
    F32,
    /// The same with the last 13 bits zero: what tensor cores keep of it.
    Tf32,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// 8 bits: sign, 4 of exponent (bias 7), 3 of fraction, no infinity (OCP 8-bit Floating
    /// Point Specification, E4M3).
    E4m3,
    /// 8-bit integer.
    Int8,
    /// 32-bit integer.
    Int32,
}

impl Format {
    /// Bytes of an element.
    pub const fn bytes(self) -> usize {
        match self {
            Format::F64 => 8,
            Format::F32 | Format::Tf32 | Format::Int32 => 4,
            Format::F16 | Format::Bf16 => 2,
            Format::E4m3 | Format::Int8 => 1,
        }
    }

    /// Half the distance of 1 and the next number: the relative error of rounding; 0 for
    /// integers.
    pub fn rounding(self) -> f64 {
        match self {
            Format::Int8 | Format::Int32 => 0.0,
            Format::F64 => f64::EPSILON / 2.0,
            Format::F32 => f64::from(f32::EPSILON) / 2.0,
            Format::Tf32 | Format::F16 => 0.5_f64.powi(11),
            Format::Bf16 => 0.5_f64.powi(8),
            Format::E4m3 => 0.5_f64.powi(4),
        }
    }

    /// An element from 64 random bits: floats even in [-1, 1), integers in their whole range.
    pub fn random(self, bits: u64, element: &mut [u8]) {
        let value = (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
        match self {
            Format::F64 => element.copy_from_slice(&value.to_le_bytes()),
            Format::F32 => element.copy_from_slice(&(value as f32).to_le_bytes()),
            Format::Tf32 => {
                let kept = (value as f32).to_bits() & !0x1fff;
                element.copy_from_slice(&kept.to_le_bytes());
            }
            Format::F16 => element.copy_from_slice(&to_small(value, 10, 15).to_le_bytes()),
            Format::Bf16 => {
                let kept = ((value as f32).to_bits() >> 16) as u16;
                element.copy_from_slice(&kept.to_le_bytes());
            }
            Format::E4m3 => element.copy_from_slice(&[to_small(value, 3, 7) as u8]),
            Format::Int8 | Format::Int32 => {
                element.copy_from_slice(&bits.to_le_bytes()[..self.bytes()])
            }
        }
    }

    /// The number that an element stands for.
    pub fn read(self, element: &[u8]) -> f64 {
        let mut wide = [0; 8];
        wide[..element.len().min(8)].copy_from_slice(&element[..element.len().min(8)]);
        let low = u64::from_le_bytes(wide) as u32;
        match self {
            Format::F64 => f64::from_le_bytes(wide),
            Format::F32 | Format::Tf32 => f64::from(f32::from_bits(low)),
            Format::F16 => from_small(low, 10, 5, 15),
            Format::Bf16 => f64::from(f32::from_bits(low << 16)),
            Format::E4m3 if low & 0x7f == 0x7f => f64::NAN,
            Format::E4m3 => from_small(low, 3, 4, 7),
            Format::Int8 => f64::from(low as u8 as i8),
            Format::Int32 => f64::from(low as i32),
        }
    }
}

/// A number below 2, cut to `fraction` bits, with an exponent of this bias; the bits.
fn to_small(value: f64, fraction: i32, bias: i32) -> u16 {
    let sign = u16::from(value.is_sign_negative());
    let (size, least) = (value.abs(), 0.5_f64.powi(bias - 1));
    // Below the least normal number the exponent is that of the least, and no 1 is implied.
    let exponent = if size < least { 1 - bias } else { size.log2().floor() as i32 };
    let units = (size / 2.0_f64.powi(exponent - fraction)) as u16;
    let implied = 1_u16 << fraction;
    let field = if units < implied { 0 } else { ((exponent + bias) as u16) << fraction };
    let exponent_bits = if bias == 15 { 5 } else { 4 };
    sign << (fraction + exponent_bits) | field | (units & (implied - 1))
}

fn from_small(bits: u32, fraction: u32, exponent: u32, bias: i32) -> f64 {
    let mantissa = f64::from(bits & ((1 << fraction) - 1)) / f64::from(1_u32 << fraction);
    let field = bits >> fraction & ((1 << exponent) - 1);
    let size = match field {
        0 => mantissa * 2.0_f64.powi(1 - bias),
        // Of IEEE formats the last exponent holds infinities and what is no number.
        31 if exponent == 5 => return if mantissa == 0.0 { f64::INFINITY } else { f64::NAN },
        field => (1.0 + mantissa) * 2.0_f64.powi(field as i32 - bias),
    };
    if bits >> (fraction + exponent) & 1 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn known_bit_patterns_are_read() {
        for (format, bytes, value) in [
            (Format::F16, &0x3c00_u16.to_le_bytes()[..], 1.0),
            (Format::F16, &0xc248_u16.to_le_bytes(), -3.140_625),
            (Format::F16, &0x0001_u16.to_le_bytes(), 2.0_f64.powi(-24)),
            (Format::Bf16, &0xc049_u16.to_le_bytes(), -3.140_625),
            (Format::E4m3, &[0x7e], 448.0),
            (Format::E4m3, &[0xb8], -1.0),
            (Format::E4m3, &[0x01], 2.0_f64.powi(-9)),
            (Format::Int8, &[0xff], -1.0),
            (Format::Int32, &(-7_i32).to_le_bytes(), -7.0),
        ] {
            assert_eq!(format.read(bytes), value, "{format:?} {bytes:x?}");
        }
        assert!(Format::E4m3.read(&[0x7f]).is_nan() && Format::F16.read(&[1, 0x7c]).is_nan());
    }

    #[test]
    fn random_elements_are_near_what_was_drawn_and_use_both_signs() {
        let mut random = Random::new(3);
        for format in
            [Format::F64, Format::F32, Format::Tf32, Format::F16, Format::Bf16, Format::E4m3]
        {
            let mut element = vec![0; format.bytes()];
            let mut sum = 0.0;
            for _ in 0..2000 {
                let bits = random.bits();
                format.random(bits, &mut element);
                let drawn = (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
                let read = format.read(&element);
                let near = drawn.abs() * 2.0 * format.rounding() + 0.5_f64.powi(9);
                assert!((read - drawn).abs() <= near, "{format:?}: {read} for {drawn}");
                sum += read;
            }
            assert!(sum.abs() < 100.0, "{format:?}: {sum}");
        }
    }
}
