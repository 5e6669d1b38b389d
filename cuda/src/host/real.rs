//! The element types the host computes in, and what is stored in operands.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

use bytemuck::Pod;

use super::compare::Precision;
use super::exponential::{exp_f32, exp_f64};
use super::half;
use crate::random::Random;

/// What an operand is made of.
pub trait Element: Pod + Send + Sync + Debug + PartialEq {
    /// A random value: floats uniform in `(-1, 1)` and never denormal (the smallest difference
    /// from zero is 2^-23 or 2^-52), integers over their whole range.
    fn random(random: &mut Random) -> Self;
}

/// `f32` or `f64`.
pub trait Real:
    Element
    + Default
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Distance from 1 to the next larger number.
    const EPSILON: f64;
    /// What a cast yields: `f32` of `f64`, the bits of an IEEE half of `f32`.
    type Narrow: Pod + Send + Sync;
    /// How exactly that stores a value.
    const NARROW: Precision;

    /// The nearest value.
    fn of(value: f64) -> Self;
    /// The exact value.
    fn wide(self) -> f64;
    /// e to this power, see [`super::exponential`].
    fn exp(self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// The nearest narrow value, ties to even.
    fn narrow(self) -> Self::Narrow;
    /// The exact value of a narrow one.
    fn widened(narrow: Self::Narrow) -> f64;
}

macro_rules! real {
    ($type:ident, $exp:ident, $bits:expr, $narrow:ident, $precision:expr, $cast:expr, $wide:expr) => {
        impl Element for $type {
            fn random(random: &mut Random) -> Self {
                /// Half the number of representable values drawn from.
                const HALF: i64 = 1 << ($bits - 1);
                let integer = (random.bits() >> (64 - $bits)) as i64 - HALF;
                integer as $type / HALF as $type
            }
        }

        impl Real for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const EPSILON: f64 = $type::EPSILON as f64;
            type Narrow = $narrow;
            const NARROW: Precision = $precision;

            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $type
            }

            #[inline(always)]
            fn wide(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn exp(self) -> Self {
                $exp(self)
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                $type::sqrt(self)
            }

            #[inline(always)]
            fn narrow(self) -> $narrow {
                $cast(self)
            }

            fn widened(narrow: $narrow) -> f64 {
                $wide(narrow)
            }
        }
    };
}

/// 10 bits behind the point, down to 2^-24.
const HALF: Precision =
    Precision { epsilon: f32::EPSILON as f64, rounding: 1.0 / 2048.0, least: 1.0 / 33_554_432.0 };
/// 23 bits behind the point; nothing random is too small to be normal.
const SINGLE: Precision =
    Precision { epsilon: f64::EPSILON, rounding: f32::EPSILON as f64 / 2.0, least: 0.0 };

real!(f32, exp_f32, 24, u16, HALF, half::narrow, half::widen);
real!(f64, exp_f64, 53, f32, SINGLE, |value| value as f32, f64::from);

impl Element for u8 {
    fn random(random: &mut Random) -> Self {
        random.bits() as u8
    }
}

impl Element for i64 {
    fn random(random: &mut Random) -> Self {
        random.bits() as i64
    }
}

impl Element for u64 {
    fn random(random: &mut Random) -> Self {
        random.bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Real>() {
        let mut random = Random::new(9);
        let values: Vec<f64> = (0..50_000).map(|_| T::random(&mut random).wide()).collect();
        assert!(values.iter().all(|value| (-1.0..1.0).contains(value)));
        assert!(values.iter().all(|value| *value == 0.0 || value.abs() >= 2_f64.powi(-52)));
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert!(mean.abs() < 0.02, "{mean}");
    }

    #[test]
    fn random_values_are_centred_and_normal() {
        check::<f32>();
        check::<f64>();
    }
}
