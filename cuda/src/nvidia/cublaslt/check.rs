//! Comparing a product with the same product computed on the host in `f64`.
//!
//! All elements of a small result are compared, of others so many as the host computes in some
//! milliseconds: the first, the last, and random ones between.

use kernelgauge_data::{Failure, GemmPoint};

use super::{Contents, Kind, Problem};
use crate::host::compare::{Deviation, sample};
use crate::nvidia::memory::DeviceBuffer;

/// Multiply-adds that the host spends on one comparison.
const MOST_WORK: u64 = 1 << 20;
/// Elements of a large result, which are read one by one.
const MOST_SAMPLED: usize = 256;
/// Standard deviations that a sum of random terms stays within, at every step.
const WITHIN: f64 = 4.0;
/// Parts of a sum that may be added up as they are written, in the type of the result.
const PARTS: f64 = 8.0;
/// Relative error of an addition in `f32` that may cut instead of rounding, as tensor cores do
/// (Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores", 2021).
const F32_ADDITION: f64 = 1.2e-7;
/// The same of 8-bit floats, whose sums keep about 14 bits on Hopper (DeepSeek-V3 technical
/// report, 2024, section 3.3.2).
const FP8_ADDITION: f64 = 1.0 / 8192.0;

/// What a product must be.
#[derive(Debug)]
pub struct Check {
    point: GemmPoint,
    kind: Kind,
    problem: Problem,
    a: Contents,
    b: Contents,
    scale: f64,
    seed: u64,
}

impl Check {
    /// The product of `a` and `b`, times `scale`.
    pub fn new(
        (point, kind, problem): (&GemmPoint, Kind, Problem),
        (a, b): (Contents, Contents),
        scale: f64,
        seed: u64,
    ) -> Self {
        Check { point: *point, kind, problem, a, b, scale, seed }
    }

    /// Compares what `result` holds.
    ///
    /// # Errors
    /// [`Failure::WrongResult`] with the element furthest beyond its tolerance, or what the
    /// driver says.
    pub fn compare(&self, result: &DeviceBuffer) -> Result<(), Failure> {
        let GemmPoint { batch, m, n, k, .. } = self.point;
        let width = self.kind.result.bytes();
        let elements = result.bytes() / width;
        let whole = (elements as u64).saturating_mul(k) <= MOST_WORK;
        let chosen = if whole {
            (0..elements).collect()
        } else {
            let most = (MOST_WORK / k).clamp(16, MOST_SAMPLED as u64) as usize;
            sample(elements, most, self.seed)
        };
        let mut bytes = vec![0; if whole { result.bytes() } else { width }];
        if whole {
            result.read(0, &mut bytes)?;
        }
        let mut deviation = Deviation::default();
        for index in chosen {
            let at = index * width;
            if !whole {
                result.read(at, &mut bytes)?;
            }
            let found = self.kind.result.read(&bytes[if whole { at } else { 0 }..][..width]);
            let index = index as u64;
            let (product, row, column) = (index / (m * n), index / n % m, index % n);
            debug_assert!(product < batch, "the result has more elements than the product");
            let (expected, tolerance) = self.expected(product, row, column);
            deviation.check(found, expected, tolerance, || {
                format!("row {row}, column {column} of product {product}")
            });
        }
        deviation.verdict()
    }

    /// An element, and how far from it a right result may be.
    ///
    /// The error of a sum is at most the sum of the errors of its additions, each of which is
    /// relative to the partial sum there (Higham, "Accuracy and stability of numerical
    /// algorithms", 2002, section 4.2). The terms are random with mean 0, so in whatever order
    /// they are added a partial sum stays within a few times the root of the sum of their
    /// squares. Integers are exact.
    fn expected(&self, product: u64, row: u64, column: u64) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        let a = self.a.line(self.problem.row_of_a(product, row));
        let b = self.b.line(self.problem.column_of_b(product, column));
        for (a, b) in a.zip(b).take(self.point.k as usize) {
            let term = a * b;
            sum += term;
            squares += term * term;
        }
        let (sum, partial) = (self.scale * sum, self.scale * WITHIN * squares.sqrt());
        let rounding = self.kind.result.rounding();
        if rounding == 0.0 {
            return (sum, 0.0);
        }
        let steps = self.point.k as f64;
        let additions = match self.kind.scaled {
            // What is cut off has either sign, so errors add up as their squares do.
            true => WITHIN * steps.sqrt() * FP8_ADDITION,
            false if self.kind.result == super::number::Format::F64 => steps * f64::EPSILON,
            false => steps * F32_ADDITION,
        };
        // The f64 sum of the host rounds as well.
        let own = steps * f64::EPSILON;
        let writing = rounding * (sum.abs() + PARTS * partial);
        (sum, (additions + own) * partial + writing)
    }
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{Dtype, GemmLayout};

    use super::*;

    const LAYOUTS: [GemmLayout; 3] = GemmLayout::STATED;

    fn check(dtype: Dtype, k: u64, layout: GemmLayout) -> Check {
        let point = GemmPoint { dtype, batch: 2, m: 48, n: 32, k, layout };
        let kind = Kind::of(dtype).unwrap();
        let contents = |elements, part| Contents::new(kind.operand, elements, 7, part);
        let operands = (contents(2 * 48 * k, 0), contents(2 * k * 32, 1));
        Check::new((&point, kind, Problem::of(&point)), operands, 1.0, 7)
    }

    #[test]
    fn another_layout_or_product_is_beyond_the_tolerance_and_rounding_is_within() {
        for dtype in [Dtype::F64, Dtype::F32, Dtype::Tf32, Dtype::F16, Dtype::Bf16, Dtype::Fp8] {
            for k in [16, 1024, 16_384] {
                let right = check(dtype, k, GemmLayout::Nt);
                let (expected, tolerance) = right.expected(1, 40, 30);
                let rounding = right.kind.result.rounding() * expected.abs();
                assert!(tolerance > rounding, "{dtype} {k}");
                let wrong: Vec<Check> = LAYOUTS.map(|layout| check(dtype, k, layout)).into();
                let beyond = |found: f64| (found - expected).abs() > tolerance;
                // Of a few other elements nearly all are told from the right one.
                let others = (0..40).map(|row| right.expected(0, row, 3).0);
                let told = others.filter(|found| beyond(*found)).count();
                assert!(told >= 28, "{dtype} {k}: {told} of 40, {tolerance}");
                let elements: Vec<f64> =
                    wrong.iter().map(|each| each.expected(1, 40, 30).0).collect();
                assert!(
                    elements[1] == expected && elements[0] != expected && elements[2] != expected
                );
            }
        }
    }

    #[test]
    fn integers_are_exact() {
        let (expected, tolerance) = check(Dtype::Int8, 4096, GemmLayout::Nt).expected(1, 3, 5);
        assert_eq!((expected.fract(), tolerance), (0.0, 0.0));
        assert!(expected.abs() > 1000.0, "{expected}");
    }
}
