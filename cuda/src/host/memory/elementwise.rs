//! Loops over elements that depend on nothing but themselves.

use super::super::real::Real;
use super::super::threads::Threads;
use super::philox;

/// How much dearer an element with an exponential is than one that is only moved: a second
/// thread pays for that many times fewer bytes.
const EXPONENTIAL_COST: usize = 4;

/// `out = a + b`
pub fn add<T: Real>(a: &[T], b: &[T], out: &mut [T], threads: &Threads) {
    let split = threads.worth(3 * size_of_val(a));
    threads.pieces(out, 1, split, |first, out| {
        let (a, b) = (&a[first..][..out.len()], &b[first..][..out.len()]);
        threads.vectorise(
            #[inline(always)]
            || {
                for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                    *out = *a + *b;
                }
            },
        );
    });
}

/// `out = factor * a`
pub fn scale<T: Real>(a: &[T], factor: T, out: &mut [T], threads: &Threads) {
    map(a, out, 1, threads, move |x| factor * x);
}

/// `out = max(a, 0)`
pub fn relu<T: Real>(a: &[T], out: &mut [T], threads: &Threads) {
    map(a, out, 1, threads, |x| if x > T::ZERO { x } else { T::ZERO });
}

/// `out = 1 / (1 + e^-a)`
pub fn sigmoid<T: Real>(a: &[T], out: &mut [T], threads: &Threads) {
    map(a, out, EXPONENTIAL_COST, threads, logistic);
}

/// `out = a / 2 (1 + tanh(sqrt(2 / pi) (a + 0.044715 a^3)))`, the approximation of Hendrycks
/// and Gimpel ("Gaussian error linear units", 2016), written with the logistic function:
/// `(1 + tanh y) / 2 = 1 / (1 + e^-2y)`.
pub fn gelu<T: Real>(a: &[T], out: &mut [T], threads: &Threads) {
    /// 2 sqrt(2 / pi).
    const SLOPE: f64 = 1.595_769_121_605_730_7;
    let (slope, cubic) = (T::of(SLOPE), T::of(SLOPE * 0.044_715));
    map(a, out, EXPONENTIAL_COST, threads, move |x| x * logistic(x * (slope + cubic * x * x)));
}

/// `out = value`
pub fn fill<T: Real>(value: T, out: &mut [T], threads: &Threads) {
    let split = threads.worth(size_of_val(out));
    threads.pieces(out, 1, split, |_, out| out.fill(value));
}

/// Counters of random words that are drawn side by side, of four words each.
const COUNTERS: usize = 16;

/// `out = 0` where the word of an element is below `threshold`, `out = scale * a` elsewhere.
pub fn dropout<T: Real>(
    a: &[T],
    (threshold, scale, seed): (u32, T, u64),
    out: &mut [T],
    threads: &Threads,
) {
    let split = threads.worth(EXPONENTIAL_COST * 2 * size_of_val(a));
    let unit = 4 * COUNTERS;
    threads.pieces(out, unit, split, |first, out| {
        let a = &a[first * unit..][..out.len()];
        threads.vectorise(
            #[inline(always)]
            || {
                for (number, (out, a)) in out.chunks_mut(unit).zip(a.chunks(unit)).enumerate() {
                    let counter = (first + number) * COUNTERS;
                    let words = philox::words::<COUNTERS>(counter as u64, seed);
                    for (i, (out, x)) in out.iter_mut().zip(a).enumerate() {
                        let dropped = words[i % 4][i / 4] < threshold;
                        *out = if dropped { T::ZERO } else { scale * *x };
                    }
                }
            },
        );
    });
}

/// The narrow value nearest to each.
pub fn cast<T: Real>(a: &[T], out: &mut [T::Narrow], threads: &Threads) {
    let split = threads.worth(size_of_val(a) + size_of_val(out));
    threads.pieces(out, 1, split, |first, out| {
        let a = &a[first..][..out.len()];
        threads.vectorise(
            #[inline(always)]
            || {
                for (out, a) in out.iter_mut().zip(a) {
                    *out = a.narrow();
                }
            },
        );
    });
}

#[inline(always)]
fn logistic<T: Real>(x: T) -> T {
    T::ONE / (T::ONE + (T::ZERO - x).exp())
}

/// `out = f(a)`, with `cost` times the work of a move per element.
#[inline(always)]
fn map<T: Real>(
    a: &[T],
    out: &mut [T],
    cost: usize,
    threads: &Threads,
    f: impl Fn(T) -> T + Sync + Copy,
) {
    let split = threads.worth(cost * 2 * size_of_val(a));
    threads.pieces(out, 1, split, |first, out| {
        let a = &a[first..][..out.len()];
        threads.vectorise(
            #[inline(always)]
            || {
                for (out, a) in out.iter_mut().zip(a) {
                    *out = f(*a);
                }
            },
        );
    });
}
