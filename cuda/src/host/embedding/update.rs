//! Applies sorted lookups to the rows they belong to.

use super::super::real::Real;
use super::super::threads::Threads;
use super::sort;

/// Learning rate: small, so that weights stay ordinary numbers over any number of executions.
pub const RATE: f64 = 1e-3;
/// What keeps the root of the running square from zero.
pub const ROOT_FLOOR: f64 = 1e-8;

/// What an update needs beside the rows.
#[derive(Debug, Clone, Copy)]
pub struct Update<'pass, T> {
    /// Elements of a row.
    pub dim: usize,
    /// Gradients of all bags.
    pub gradients: &'pass [T],
    /// Row-wise adagrad instead of plain descent.
    pub adagrad: bool,
    /// Where it runs.
    pub threads: &'pass Threads,
}

/// Consecutive rows of all tables, and the lookups into them.
#[derive(Debug)]
pub struct Part<'pass, T> {
    /// Keys sorted by row.
    pub keys: &'pass [u64],
    /// The row that `weights` begins with.
    pub first_row: usize,
    /// The rows.
    pub weights: &'pass mut [T],
    /// Their running squares; empty for plain descent.
    pub squares: &'pass mut [T],
}

impl<T: Real> Update<'_, T> {
    /// Applies `part`, cut into about `pieces` of equally many lookups at borders of rows.
    pub fn apply(&self, part: Part<'_, T>, pieces: usize) {
        if pieces <= 1 {
            return self.threads.vectorise(
                #[inline(always)]
                || self.apply_in_order(part),
            );
        }
        match self.halves(part) {
            (low, None) => self.apply(low, 1),
            (low, Some(high)) => {
                let (few, rest) = (pieces / 2, pieces - pieces / 2);
                rayon::join(|| self.apply(low, few), || self.apply(high, rest));
            }
        }
    }

    /// Cuts `part` at the border of the row in the middle; one part where that row is the last.
    fn halves<'part>(&self, part: Part<'part, T>) -> (Part<'part, T>, Option<Part<'part, T>>) {
        let Part { keys, first_row, weights, squares } = part;
        let middle = keys.get(keys.len() / 2).map_or(0, |key| sort::row(*key));
        let cut = keys.partition_point(|key| sort::row(*key) <= middle);
        if cut == keys.len() {
            return (Part { keys, first_row, weights, squares }, None);
        }
        let border = sort::row(keys[cut]);
        let (low_keys, high_keys) = keys.split_at(cut);
        let (low_weights, high_weights) = weights.split_at_mut((border - first_row) * self.dim);
        let squares_cut = if self.adagrad { border - first_row } else { 0 };
        let (low_squares, high_squares) = squares.split_at_mut(squares_cut);
        let low = Part { keys: low_keys, first_row, weights: low_weights, squares: low_squares };
        let high = Part {
            keys: high_keys,
            first_row: border,
            weights: high_weights,
            squares: high_squares,
        };
        (low, Some(high))
    }

    #[inline(always)]
    fn apply_in_order(&self, part: Part<'_, T>) {
        let Part { keys, first_row, weights, squares } = part;
        let mut sum = vec![T::ZERO; self.dim];
        for lookups in keys.chunk_by(|a, b| sort::row(*a) == sort::row(*b)) {
            let row = sort::row(lookups[0]) - first_row;
            let gradient = self.gradient(lookups, &mut sum);
            let rate = match squares.get_mut(row) {
                Some(square) => {
                    *square += mean_square(gradient);
                    T::of(RATE) / (square.sqrt() + T::of(ROOT_FLOOR))
                }
                None => T::of(RATE),
            };
            let weights = &mut weights[row * self.dim..][..self.dim];
            for (weight, x) in weights.iter_mut().zip(gradient) {
                *weight = *weight - rate * *x;
            }
        }
    }

    /// The sum of the gradients of `lookups`, in `sum` where there are several.
    #[inline(always)]
    fn gradient<'sum>(&'sum self, lookups: &[u64], sum: &'sum mut [T]) -> &'sum [T] {
        let of = |key: u64| &self.gradients[sort::bag(key) * self.dim..][..self.dim];
        if let [only] = lookups {
            return of(*only);
        }
        sum.copy_from_slice(of(lookups[0]));
        for key in &lookups[1..] {
            for (sum, x) in sum.iter_mut().zip(of(*key)) {
                *sum += *x;
            }
        }
        sum
    }
}

/// The mean of the squares of `gradient`, in eight strands.
#[inline(always)]
fn mean_square<T: Real>(gradient: &[T]) -> T {
    let mut strands = [T::ZERO; 8];
    let chunks = gradient.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (strand, x) in strands.iter_mut().zip(chunk) {
            *strand += *x * *x;
        }
    }
    for (strand, x) in strands.iter_mut().zip(rest) {
        *strand += *x * *x;
    }
    strands.into_iter().fold(T::ZERO, |sum, strand| sum + strand) / T::of(gradient.len() as f64)
}
