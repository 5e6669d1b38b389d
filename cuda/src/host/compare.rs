//! Comparing results with a plain reference in `f64`.

use kernelgauge_data::Failure;

use super::real::Real;
use crate::random::Random;

/// Most elements of a result that are compared one by one.
pub const MOST_COMPARED: usize = 1 << 18;

/// Operands as a reference sees them, exact and by position.
pub trait Values {
    /// Value `index`.
    fn at(&self, index: usize) -> f64;
}

impl<T: Real> Values for &[T] {
    fn at(&self, index: usize) -> f64 {
        self[index].wide()
    }
}

/// How exactly a device computes, and how exactly it stores what it computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    /// Distance from 1 to the next larger number of the type that is computed in.
    pub epsilon: f64,
    /// Largest relative error of rounding to the type that is stored; 0 where it is the type
    /// that is computed in, whose rounding the error of computing covers.
    pub rounding: f64,
    /// Largest absolute error of rounding numbers too small to be normal.
    pub least: f64,
}

impl Precision {
    /// That of computing and storing in `T`.
    pub const fn of<T: Real>() -> Self {
        Precision { epsilon: T::EPSILON, rounding: 0.0, least: 0.0 }
    }

    /// How far a stored value may be from `expected` if the computed one is off by at most
    /// `error`.
    pub fn stored(&self, expected: f64, error: f64) -> f64 {
        error + self.rounding * (expected.abs() + error) + self.least
    }

    /// The most that a sum of `terms` terms, whose magnitudes add up to `size`, can be off, in
    /// whatever order they are added: `(terms - 1) epsilon / 2 * size` (Higham, "Accuracy and
    /// stability of numerical algorithms", 2002, section 4.2, to first order).
    pub fn sum_error(&self, terms: f64, size: f64) -> f64 {
        0.5 * self.epsilon * terms * size
    }
}

/// Collects the largest deviation beyond tolerance.
#[derive(Debug, Default)]
pub struct Deviation {
    worst: Option<(f64, String)>,
}

impl Deviation {
    /// Compares one value; `place` names it if it is wrong. Anything not finite is wrong.
    pub fn check(
        &mut self,
        found: f64,
        expected: f64,
        tolerance: f64,
        place: impl FnOnce() -> String,
    ) {
        let off = (found - expected).abs();
        if off <= tolerance {
            return;
        }
        let excess = if off.is_nan() { f64::INFINITY } else { off / tolerance };
        if self.worst.as_ref().is_none_or(|(worst, _)| excess > *worst) {
            let place = place();
            let what = format!("{found:e} instead of {expected:e} (± {tolerance:.1e}) at {place}");
            self.worst = Some((excess, what));
        }
    }

    /// The verdict.
    ///
    /// # Errors
    /// [`Failure::WrongResult`] with the value furthest beyond its tolerance.
    pub fn verdict(self) -> Result<(), Failure> {
        match self.worst {
            Some((_, what)) => Err(Failure::WrongResult(what)),
            None => Ok(()),
        }
    }
}

/// Indices below `count` to compare: all if at most `most`, else the first, the last and
/// random ones between.
pub fn sample(count: usize, most: usize, seed: u64) -> Vec<usize> {
    if count <= most {
        return (0..count).collect();
    }
    let mut random = Random::new(seed);
    let mut indices = vec![0, count - 1];
    indices.extend((2..most).map(|_| random.below(count as u64) as usize));
    indices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_deviation_is_reported() {
        let mut deviation = Deviation::default();
        deviation.check(1.0, 1.0, 0.0, || unreachable!());
        assert!(Deviation::default().verdict().is_ok());
        deviation.check(1.5, 1.0, 0.1, || "a".to_owned());
        deviation.check(9.0, 1.0, 0.1, || "b".to_owned());
        deviation.check(1.6, 1.0, 0.1, || "c".to_owned());
        let Err(Failure::WrongResult(what)) = deviation.verdict() else { panic!("accepted") };
        assert!(what.ends_with("at b"), "{what}");
        for wrong in [f64::NAN, f64::INFINITY] {
            let mut deviation = Deviation::default();
            deviation.check(wrong, 1.0, 0.1, || "d".to_owned());
            assert!(deviation.verdict().is_err());
        }
    }

    #[test]
    fn samples_hold_both_ends() {
        assert_eq!(sample(3, 8, 0), [0, 1, 2]);
        let some = sample(1 << 20, 100, 1);
        assert_eq!(some.len(), 100);
        assert_eq!((some[0], some[1]), (0, (1 << 20) - 1));
        assert!(some.iter().all(|index| *index < 1 << 20));
    }
}
