//! Loops that move elements without changing them: transpose, concat, triangles.

use super::super::real::Real;
use super::super::threads::Threads;

/// Bytes of a cache line.
const LINE: usize = 64;

/// `out[j, i] = a[i, j]` for a matrix of `rows` by `columns`.
///
/// Works in square tiles whose sides are a cache line long: each line of `a` is read once and
/// each line of `out` written once, whatever the strides. A tile passes through a local copy,
/// since with a power-of-two row length its lines would evict each other from the first cache.
pub fn transpose<T: Real>(a: &[T], rows: usize, columns: usize, out: &mut [T], threads: &Threads) {
    if size_of::<T>() == 4 {
        tiles::<T, { LINE / 4 }>(a, rows, columns, out, threads);
    } else {
        tiles::<T, { LINE / 8 }>(a, rows, columns, out, threads);
    }
}

fn tiles<T: Real, const SIDE: usize>(
    a: &[T],
    rows: usize,
    columns: usize,
    out: &mut [T],
    threads: &Threads,
) {
    let split = threads.worth(2 * size_of_val(a));
    // A unit is a band of `SIDE` rows of the result.
    threads.pieces(out, SIDE * rows, split, |first, out| {
        for (band, out) in out.chunks_mut(SIDE * rows).enumerate() {
            let left = (first + band) * SIDE;
            let width = out.len() / rows;
            for top in (0..rows).step_by(SIDE) {
                let height = SIDE.min(rows - top);
                let corner = &a[top * columns + left..];
                if width == SIDE && height == SIDE {
                    whole_tile::<T, SIDE>(corner, columns, &mut out[top..], rows);
                } else {
                    edge_tile(corner, columns, &mut out[top..], rows, [height, width]);
                }
            }
        }
    });
}

#[inline(always)]
fn whole_tile<T: Real, const SIDE: usize>(a: &[T], columns: usize, out: &mut [T], rows: usize) {
    let mut tile = [[T::ZERO; SIDE]; SIDE];
    for (i, line) in tile.iter_mut().enumerate() {
        line.copy_from_slice(&a[i * columns..][..SIDE]);
    }
    for j in 0..SIDE {
        for (out, line) in out[j * rows..][..SIDE].iter_mut().zip(&tile) {
            *out = line[j];
        }
    }
}

fn edge_tile<T: Real>(
    a: &[T],
    columns: usize,
    out: &mut [T],
    rows: usize,
    [height, width]: [usize; 2],
) {
    for j in 0..width {
        for i in 0..height {
            out[j * rows + i] = a[i * columns + j];
        }
    }
}

/// Each row of `out` is a row of `a` followed by a row of `b`, of `half` elements each.
pub fn concat<T: Real>(a: &[T], b: &[T], half: usize, out: &mut [T], threads: &Threads) {
    let split = threads.worth(2 * size_of_val(out));
    threads.pieces(out, 2 * half, split, |first, out| {
        let rows = a[first * half..].chunks_exact(half).zip(b[first * half..].chunks_exact(half));
        for (out, (a, b)) in out.chunks_exact_mut(2 * half).zip(rows) {
            let (left, right) = out.split_at_mut(half);
            left.copy_from_slice(a);
            right.copy_from_slice(b);
        }
    });
}

/// Each row of `out` is what lies below the diagonal of a square of `side` by `side`, row by row.
pub fn triangle<T: Real>(a: &[T], side: usize, out: &mut [T], threads: &Threads) {
    let split = threads.worth(2 * size_of_val(out));
    let pairs = side * (side - 1) / 2;
    threads.pieces(out, pairs, split, |first, out| {
        let squares = a[first * side * side..].chunks_exact(side * side);
        for (mut out, square) in out.chunks_exact_mut(pairs).zip(squares) {
            for (length, row) in square.chunks_exact(side).enumerate() {
                let (below, rest) = out.split_at_mut(length);
                below.copy_from_slice(&row[..length]);
                out = rest;
            }
        }
    });
}
