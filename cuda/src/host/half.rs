//! The 16-bit IEEE float, as the bits of it that a cast stores: the processor computes in none.

/// The bits of the half nearest to `value`, ties to even; without a branch, so that a loop of it
/// is vector code.
#[inline(always)]
pub fn narrow(value: f32) -> u16 {
    /// The smallest `f32` that is a normal half, 2^-14.
    const NORMAL: u32 = 113 << 23;
    /// Half a step above the largest half, 65520: from here on it is infinity.
    const INFINITE: u32 = 0x477f_f000;
    const NO_NUMBER: u32 = 0x7f80_0001;
    let (sign, size) = (value.to_bits() >> 16 & 0x8000, value.to_bits() & 0x7fff_ffff);
    // From a half on, the last bit of an `f32` is 2^-24, the step of halves that are not normal.
    let small = (f32::from_bits(size) + 0.5).to_bits().wrapping_sub(0.5_f32.to_bits());
    // 13 of 23 bits behind the point go; the exponent moves from a bias of 127 to one of 15.
    let rounded = size.wrapping_sub(112 << 23).wrapping_add(0xfff + (size >> 13 & 1)) >> 13;
    let finite = if size < NORMAL { small } else { rounded };
    let number = if size < INFINITE { finite } else { 0x7c00 };
    (sign | if size < NO_NUMBER { number } else { 0x7e00 }) as u16
}

/// The value of `bits`.
pub fn widen(bits: u16) -> f64 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => mantissa * 2_f64.powi(-24),
        31 if mantissa > 0.0 => f64::NAN,
        31 => f64::INFINITY,
        _ => (1024.0 + mantissa) * 2_f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        for (value, bits) in [
            (0.0, 0),
            (-0.0, 0x8000),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65_504.0, 0x7bff),
            (65_519.0, 0x7bff),
            (65_520.0, 0x7c00),
            (-1e30, 0xfc00),
            (f32::INFINITY, 0x7c00),
            (5.960_464_5e-8, 1),
            (6.103_515_6e-5, 0x0400),
        ] {
            assert_eq!(narrow(value), bits, "{value}");
        }
        assert!(widen(narrow(f32::NAN)).is_nan());
        assert_eq!(widen(narrow(f32::INFINITY)), f64::INFINITY);
    }

    #[test]
    fn every_half_reads_back_and_what_lies_between_rounds_to_the_nearer() {
        for bits in 0..0x7bff_u16 {
            let [value, next] = [bits, bits + 1].map(|bits| widen(bits) as f32);
            assert_eq!(narrow(value), bits);
            assert_eq!(narrow(-value), 0x8000 | bits);
            // Between two halves there is room for 13 bits more: the middle is exact.
            let middle = f32::midpoint(value, next);
            assert_eq!(narrow(middle), bits + bits % 2, "{bits:#x}");
            assert_eq!(narrow(middle.next_down()), bits);
            assert_eq!(narrow(middle.next_up()), bits + 1);
        }
    }
}
