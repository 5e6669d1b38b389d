//! Loops over rows whose elements depend on each other: sum, softmax, layer normalisation and
//! its backward pass.

use super::super::real::Real;
use super::super::threads::Threads;

/// Running values kept side by side in a reduction, four vectors of eight `f32` or more: enough
/// to hide the latency of an addition.
const LANES: usize = 32;
/// Parts a long row is summed in, whatever the number of threads: the result does not depend on
/// it.
const PARTS: usize = 64;
/// Elements of a row from which it is summed in parts.
const LONG_ROW: usize = 1 << 16;
/// As for exponentials in `elementwise`.
const SOFTMAX_COST: usize = 4;

/// The sum of each row of `columns` elements.
pub fn sum<T: Real>(a: &[T], columns: usize, out: &mut [T], threads: &Threads) {
    let split = threads.worth(size_of_val(a));
    if columns >= LONG_ROW && out.len() < threads.piece_count() {
        for (out, row) in out.iter_mut().zip(a.chunks_exact(columns)) {
            *out = sum_long(row, split, threads);
        }
        return;
    }
    threads.pieces(out, 1, split, |first, out| {
        let rows = a[first * columns..].chunks_exact(columns).zip(out);
        if columns >= LONG_ROW {
            rows.for_each(|(row, out)| *out = sum_long(row, false, threads));
        } else {
            threads.vectorise(
                #[inline(always)]
                || rows.for_each(|(row, out)| *out = total(row, |x| x)),
            );
        }
    });
}

/// The sum of a long row, in parts.
fn sum_long<T: Real>(row: &[T], split: bool, threads: &Threads) -> T {
    let mut parts = [T::ZERO; PARTS];
    let part = row.len().div_ceil(PARTS);
    threads.pieces(&mut parts, 1, split, |first, sums| {
        for (sum, row) in sums.iter_mut().zip(row.chunks(part).skip(first)) {
            *sum = threads.vectorise(
                #[inline(always)]
                || total(row, |x| x),
            );
        }
    });
    total(&parts, |x| x)
}

/// `out = e^(a - max) / sum e^(a - max)` of each row.
pub fn softmax<T: Real>(a: &[T], columns: usize, out: &mut [T], threads: &Threads) {
    each_row(
        a,
        columns,
        out,
        SOFTMAX_COST,
        threads,
        #[inline(always)]
        |row, out| {
            let most = largest(row);
            for (out, x) in out.iter_mut().zip(row) {
                *out = (*x - most).exp();
            }
            let factor = T::ONE / total(out, |x| x);
            for out in out.iter_mut() {
                *out = *out * factor;
            }
        },
    );
}

/// `out = (a - mean) / sqrt(variance + floor) * weight + bias` of each row, in two passes.
pub fn layer_norm<T: Real>(
    a: &[T],
    [weights, biases]: [&[T]; 2],
    floor: T,
    columns: usize,
    out: &mut [T],
    threads: &Threads,
) {
    let share = T::of(1.0 / columns as f64);
    each_row(
        a,
        columns,
        out,
        1,
        threads,
        #[inline(always)]
        move |row, out| {
            let (mean, factor) = moments(row, share, floor);
            for (((out, x), weight), bias) in out.iter_mut().zip(row).zip(weights).zip(biases) {
                *out = (*x - mean) * factor * *weight + *bias;
            }
        },
    );
}

/// Mean of a row, and `1 / sqrt(variance + floor)`.
#[inline(always)]
fn moments<T: Real>(row: &[T], share: T, floor: T) -> (T, T) {
    let mean = total(row, |x| x) * share;
    let squares = total(row, move |x| (x - mean) * (x - mean));
    (mean, T::ONE / (squares * share + floor).sqrt())
}

/// The mean of every row of `a`, and its factor: what a forward pass leaves for the backward one.
pub fn statistics<T: Real>(a: &[T], columns: usize, floor: T, [means, factors]: [&mut [T]; 2]) {
    let share = T::of(1.0 / columns as f64);
    for ((row, mean), factor) in a.chunks_exact(columns).zip(means).zip(factors) {
        (*mean, *factor) = moments(row, share, floor);
    }
}

/// The operands of the backward pass of layer normalisation.
#[derive(Debug, Clone, Copy)]
pub struct Normalised<'a, T> {
    /// The input of the forward pass.
    pub a: &'a [T],
    /// The weight of each column.
    pub weights: &'a [T],
    /// The mean of each row of the input.
    pub means: &'a [T],
    /// The factor of each row.
    pub factors: &'a [T],
}

/// With `x = (a - mean) factor` and `g = gradient * weight`, `factor (g - mean(g) - x mean(g x))`
/// of each row.
pub fn layer_norm_backward<T: Real>(
    gradients: &[T],
    forward: Normalised<'_, T>,
    out: &mut [T],
    threads: &Threads,
) {
    let columns = forward.weights.len();
    let share = T::of(1.0 / columns as f64);
    let split = threads.worth(3 * size_of_val(out)) && out.len() > columns;
    threads.pieces(out, columns, split, |first, out| {
        threads.vectorise(
            #[inline(always)]
            || {
                for (row, out) in (first..).zip(out.chunks_exact_mut(columns)) {
                    let (gradients, a) =
                        (&gradients[row * columns..][..columns], &forward.a[row * columns..]);
                    let (mean, factor) = (forward.means[row], forward.factors[row]);
                    for ((out, gradient), weight) in
                        out.iter_mut().zip(gradients).zip(forward.weights)
                    {
                        *out = *gradient * *weight;
                    }
                    let sum = total(out, |g| g) * share;
                    let product =
                        total_of_both(out, &a[..columns], |g, a| g * ((a - mean) * factor)) * share;
                    for (out, a) in out.iter_mut().zip(a) {
                        *out = factor * (*out - sum - (*a - mean) * factor * product);
                    }
                }
            },
        );
    });
}

/// Calls `f` with each row of `a` and of `out`.
#[inline(always)]
fn each_row<T: Real>(
    a: &[T],
    columns: usize,
    out: &mut [T],
    cost: usize,
    threads: &Threads,
    f: impl Fn(&[T], &mut [T]) + Sync,
) {
    let split = threads.worth(cost * 2 * size_of_val(a)) && out.len() > columns;
    threads.pieces(out, columns, split, |first, out| {
        let a = &a[first * columns..][..out.len()];
        threads.vectorise(
            #[inline(always)]
            || {
                for (row, out) in a.chunks_exact(columns).zip(out.chunks_exact_mut(columns)) {
                    f(row, out);
                }
            },
        );
    });
}

/// The sum of `f` over `row`.
#[inline(always)]
fn total<T: Real>(row: &[T], f: impl Fn(T) -> T) -> T {
    strands(row, T::ZERO, move |sum, x| sum + f(x), |a, b| a + b)
}

/// The sum of `f` over pairs of elements.
#[inline(always)]
fn total_of_both<T: Real>(a: &[T], b: &[T], f: impl Fn(T, T) -> T) -> T {
    let ((a, rest), (b, other)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [T::ZERO; LANES];
    for (a, b) in a.iter().zip(b) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += f(*a, *b);
        }
    }
    let rest = rest.iter().zip(other).fold(T::ZERO, |sum, (a, b)| sum + f(*a, *b));
    total(&lanes, |x| x) + rest
}

/// The largest element of `row`, which is not empty.
#[inline(always)]
fn largest<T: Real>(row: &[T]) -> T {
    let larger = |a, b| if b > a { b } else { a };
    strands(row, row[0], larger, larger)
}

/// Takes `row` by `step` in [`LANES`] interleaved strands and joins them pairwise by `join`.
#[inline(always)]
fn strands<T: Real>(row: &[T], start: T, step: impl Fn(T, T) -> T, join: impl Fn(T, T) -> T) -> T {
    let (chunks, rest) = row.as_chunks::<LANES>();
    let rest = rest.iter().fold(start, |value, x| step(value, *x));
    if chunks.is_empty() {
        return rest;
    }
    let mut lanes = [start; LANES];
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = step(*lane, *x);
        }
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        let (low, high) = lanes.split_at_mut(width);
        for (low, high) in low.iter_mut().zip(&*high) {
            *low = join(*low, *high);
        }
    }
    join(lanes[0], rest)
}
