//! Matrix products through the `gemm` crate, row-major, single and batched.
//!
//! Many small products are spread over the threads one each; few large ones are computed one
//! after the other by all threads. The result of every element is verified in time proportional
//! to the operands (Freivalds, "Probabilistic machines can use less running time", 1977): for a
//! random vector `x` of ones and minus ones, `c x` is compared with `a (b x)`, both in `f64`.

use gemm::Parallelism;
use kernelgauge_data::{Failure, GemmPoint};

use super::compare::Deviation;
use super::operand::{Carver, Operand};
use super::real::Real;
use super::threads::Threads;
use super::workload::Kernel;
use crate::random::Random;

/// Multiply-adds from which the `gemm` crate uses a second thread
/// (`gemm_common::gemm::DEFAULT_THREADING_THRESHOLD`); the same holds for a batch.
const SPLIT_WORK: u64 = 48 * 48 * 256;

/// Elements of `a`, `b` and `c` in all products together; none on overflow.
pub fn lengths(point: &GemmPoint) -> Option<[u64; 3]> {
    let all = |rows: u64, columns: u64| point.batch.checked_mul(rows)?.checked_mul(columns);
    Some([all(point.m, point.k)?, all(point.k, point.n)?, all(point.m, point.n)?])
}

/// A product with its operands.
#[derive(Debug)]
pub struct GemmKernel<'arena, T> {
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
    spread: bool,
    a: Operand<'arena, T>,
    b: Operand<'arena, T>,
    c: Operand<'arena, T>,
    seed: u64,
}

impl<'arena, T: Real> GemmKernel<'arena, T> {
    /// Operands of `point`, random from `seed`.
    ///
    /// # Errors
    /// When they do not fit.
    pub fn new(
        point: &GemmPoint,
        seed: u64,
        carver: &mut Carver<'arena>,
        threads: &Threads,
    ) -> Result<Self, Failure> {
        let [a, b, c] =
            lengths(point).ok_or_else(|| Failure::Device("operands overflow".to_owned()))?;
        let work = a.saturating_mul(point.n);
        Ok(GemmKernel {
            batch: point.batch as usize,
            m: point.m as usize,
            n: point.n as usize,
            k: point.k as usize,
            spread: point.batch >= 2 * threads.count() as u64 && work >= SPLIT_WORK,
            a: carver.random(a, 1, (seed, 0))?,
            b: carver.random(b, 1, (seed, 1))?,
            c: carver.blank(c, 1)?,
            seed,
        })
    }

    fn compare_product(&self, product: usize, deviation: &mut Deviation) {
        let GemmKernel { m, n, k, .. } = *self;
        let a = &self.a.slot(0)[product * m * k..][..m * k];
        let b = &self.b.slot(0)[product * k * n..][..k * n];
        let c = &self.c.slot(0)[product * m * n..][..m * n];
        let mut random = Random::stream(self.seed, product as u64);
        let signs: Vec<f64> =
            (0..n).map(|_| if random.bits() & 1 == 0 { 1.0 } else { -1.0 }).collect();
        let narrow: Vec<f64> = b.chunks_exact(n).map(|row| dot(row, &signs)).collect();
        // The error of a plain sum of k products, each below 1, is about 0.12 k epsilon (a
        // random walk of roundings of a random walk); of n such, sqrt(n) times that. Eight
        // standard deviations.
        // The reference sums n terms of up to k in f64, whose own roundings matter beside those
        // of an f64 product.
        let tolerance =
            T::EPSILON * (k as f64 + 8.0) * (n as f64).sqrt() + f64::EPSILON * (n * k) as f64;
        for (row, (found, expected)) in c.chunks_exact(n).zip(a.chunks_exact(k)).enumerate() {
            deviation.check(dot(found, &signs), dot(expected, &narrow), tolerance, || {
                format!("row {row} of product {product}, summed with random signs")
            });
        }
    }
}

fn dot<T: Real>(row: &[T], vector: &[f64]) -> f64 {
    row.iter().zip(vector).map(|(value, factor)| value.wide() * factor).sum()
}

impl<T: Real> Kernel for GemmKernel<'_, T> {
    fn name(&self) -> &'static str {
        "gemm"
    }

    fn execute(&mut self, slot: usize, threads: &Threads) {
        let GemmKernel { batch, m, n, k, spread, .. } = *self;
        let (a, b) = (self.a.slot(slot), self.b.slot(slot));
        let inner = match threads.count() {
            count if count > 1 && !spread => Parallelism::Rayon(count),
            _ => Parallelism::None,
        };
        let split = spread && threads.count() > 1;
        threads.pieces(self.c.slot_mut(slot), m * n, split, |first, piece| {
            for (product, c) in (first..batch).zip(piece.chunks_exact_mut(m * n)) {
                let (a, b) = (&a[product * m * k..][..m * k], &b[product * k * n..][..k * n]);
                multiply([m, n, k], a, b, c, inner);
            }
        });
    }

    fn compare(&self) -> Result<(), Failure> {
        let mut deviation = Deviation::default();
        for product in 0..self.batch {
            self.compare_product(product, &mut deviation);
        }
        deviation.verdict()
    }
}

/// `c = a b`, all row-major and contiguous, of the shapes `m x k`, `k x n` and `m x n`.
fn multiply<T: Real>(
    [m, n, k]: [usize; 3],
    a: &[T],
    b: &[T],
    c: &mut [T],
    parallelism: Parallelism,
) {
    assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n, "shapes and slices differ");
    let (k_stride, n_stride) = (k as isize, n as isize);
    // SAFETY: the slices hold exactly the elements that shapes and strides address (asserted
    // above), `c` is borrowed mutably and so overlaps neither `a` nor `b`, and `T` is `f32` or
    // `f64`, both of which the crate knows; `c` is written without being read.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            n_stride,
            false,
            a.as_ptr(),
            1,
            k_stride,
            b.as_ptr(),
            1,
            n_stride,
            T::ZERO,
            T::ONE,
            false,
            false,
            false,
            parallelism,
        );
    }
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{Bytes, Dtype, GemmLayout};

    use super::*;
    use crate::host::operand::{Arena, operand_bytes};

    /// Batch, m, n, k.
    const SHAPES: [[u64; 4]; 9] = [
        [1, 1, 1, 1],
        [1, 3, 17, 5],
        [1, 1, 300, 70],
        [1, 300, 1, 70],
        [1, 33, 65, 1],
        [1, 130, 127, 129],
        [5, 7, 3, 11],
        [9, 64, 48, 32],
        [2, 257, 64, 300],
    ];

    fn executed<T: Real, R>(
        [batch, m, n, k]: [u64; 4],
        threads: usize,
        use_kernel: impl FnOnce(&mut GemmKernel<'_, T>) -> R,
    ) -> R {
        let point = GemmPoint { dtype: Dtype::F64, batch, m, n, k, layout: GemmLayout::Unstated };
        let bytes = lengths(&point).unwrap().map(|length| operand_bytes(8 * length, 1).unwrap());
        let threads = Threads::new(threads).unwrap();
        let mut arena = Arena::default();
        let mut carver = arena.reserve(Bytes::new(bytes.iter().sum()), &threads).unwrap();
        let mut kernel = GemmKernel::<T>::new(&point, 5, &mut carver, &threads).unwrap();
        threads.run(|| kernel.execute(0, &threads));
        use_kernel(&mut kernel)
    }

    /// The largest difference from the textbook triple loop.
    fn error<T: Real>(kernel: &GemmKernel<'_, T>) -> f64 {
        let GemmKernel { batch, m, n, k, .. } = *kernel;
        let (a, b, c) = (kernel.a.slot(0), kernel.b.slot(0), kernel.c.slot(0));
        let mut worst = 0.0_f64;
        for (index, found) in c.iter().enumerate() {
            let (product, row, column) = (index / (m * n), index / n % m, index % n);
            assert!(product < batch);
            let expected: f64 = (0..k)
                .map(|i| {
                    a[(product * m + row) * k + i].wide() * b[(product * k + i) * n + column].wide()
                })
                .sum();
            worst = worst.max((found.wide() - expected).abs());
        }
        worst
    }

    #[test]
    fn products_are_those_of_the_textbook_on_any_number_of_threads() {
        for shape in SHAPES {
            for threads in [1, 2, 3] {
                executed(shape, threads, |kernel: &mut GemmKernel<'_, f32>| {
                    assert!(error(kernel) < 1e-4, "{shape:?}, {threads} threads");
                    assert_eq!(kernel.compare(), Ok(()), "{shape:?}, {threads} threads");
                });
                executed(shape, threads, |kernel: &mut GemmKernel<'_, f64>| {
                    assert!(error(kernel) < 1e-12, "{shape:?}, {threads} threads");
                    assert_eq!(kernel.compare(), Ok(()), "{shape:?}, {threads} threads");
                });
            }
        }
    }

    #[test]
    fn one_wrong_element_and_two_swapped_rows_are_found() {
        let shape = [2, 40, 30, 50];
        executed(shape, 1, |kernel: &mut GemmKernel<'_, f32>| {
            kernel.c.slot_mut(0)[40 * 30 + 77] += 1e-2;
            let Err(Failure::WrongResult(what)) = kernel.compare() else { panic!("accepted") };
            assert!(what.contains("row 2 of product 1"), "{what}");
        });
        executed(shape, 1, |kernel: &mut GemmKernel<'_, f32>| {
            let (first, second) = kernel.c.slot_mut(0).split_at_mut(30);
            first.swap_with_slice(&mut second[..30]);
            assert!(matches!(kernel.compare(), Err(Failure::WrongResult(_))));
        });
    }
}
