//! Cholesky factors of symmetric positive definite matrices: linfa's feature set here brings no
//! LAPACK. Sums run in a fixed order, so that the same numbers come out everywhere.

use ndarray::{Array1, Array2};

/// A lower triangle `L` with `L L^T` the matrix.
pub(super) struct Cholesky(Array2<f64>);

/// A dot product in eight strands, which share vector instructions.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    const STRANDS: usize = 8;
    let (heads, tails) = (a.chunks_exact(STRANDS), b.chunks_exact(STRANDS));
    let rest: f64 = heads.remainder().iter().zip(tails.remainder()).map(|(a, b)| a * b).sum();
    let mut sums = [0.0; STRANDS];
    for (a, b) in heads.zip(tails) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f64>() + rest
}

impl Cholesky {
    /// The factor of the matrix whose lower triangle is given; none where it has none.
    pub(super) fn of(mut matrix: Array2<f64>) -> Option<Self> {
        let count = matrix.nrows();
        let values = matrix.as_slice_mut()?;
        for row in 0..count {
            let (above, of_row) = values.split_at_mut(row * count);
            for column in 0..row {
                let of_column = &above[column * count..column * count + column + 1];
                let sum = of_row[column] - dot(&of_row[..column], &of_column[..column]);
                of_row[column] = sum / of_column[column];
            }
            let square = of_row[row] - dot(&of_row[..row], &of_row[..row]);
            if !square.is_finite() || square <= 0.0 {
                return None;
            }
            of_row[row] = square.sqrt();
            of_row[row + 1..count].fill(0.0);
        }
        Some(Cholesky(matrix))
    }

    /// Half the logarithm of the determinant.
    #[cfg(test)]
    pub(super) fn half_log_determinant(&self) -> f64 {
        self.0.diag().iter().map(|value| crate::math::ln(*value)).sum()
    }

    /// The solution for one right-hand side.
    pub(super) fn solve(&self, right: &Array1<f64>) -> Array1<f64> {
        let count = right.len();
        let mut solution = right.clone();
        for row in 0..count {
            let known: f64 = (0..row).map(|at| self.0[[row, at]] * solution[at]).sum();
            solution[row] = (solution[row] - known) / self.0[[row, row]];
        }
        for row in (0..count).rev() {
            solution[row] /= self.0[[row, row]];
            let value = solution[row];
            for at in 0..row {
                solution[at] -= self.0[[row, at]] * value;
            }
        }
        solution
    }

    /// The lower triangle of the inverse of the matrix.
    pub(super) fn inverse(&self) -> Array2<f64> {
        let count = self.0.nrows();
        // Row `i` holds column `i` of the inverse of the factor, so that both dots run along rows.
        let mut columns = Array2::<f64>::zeros((count, count));
        let factor = self.0.as_slice().unwrap_or(&[]);
        for column in 0..count {
            let mut held = columns.row_mut(column);
            let Some(held) = held.as_slice_mut() else { continue };
            held[column] = 1.0 / factor[column * count + column];
            for row in column + 1..count {
                let of_row = &factor[row * count + column..row * count + row];
                held[row] = -dot(of_row, &held[column..row]) / factor[row * count + row];
            }
        }
        let mut inverse = Array2::zeros((count, count));
        let values = columns.as_slice().unwrap_or(&[]);
        for row in 0..count {
            for column in 0..=row {
                let a = &values[row * count + row..(row + 1) * count];
                let b = &values[column * count + row..(column + 1) * count];
                inverse[[row, column]] = dot(a, b);
            }
        }
        inverse
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn factor_solution_and_inverse_are_those_of_the_matrix() {
        let matrix = array![[4.0, 0.0, 0.0], [2.0, 5.0, 0.0], [0.6, 1.5, 3.0]];
        let whole = &matrix + &matrix.t() - Array2::from_diag(&matrix.diag());
        let factor = Cholesky::of(matrix).unwrap();
        let right = array![1.0, -2.0, 0.5];
        let back = whole.dot(&factor.solve(&right));
        assert!((&back - &right).iter().all(|value| value.abs() < 1e-12));
        let lower = factor.inverse();
        let inverse = &lower + &lower.t() - Array2::from_diag(&lower.diag());
        let unit: Array2<f64> = whole.dot(&inverse) - Array2::<f64>::eye(3);
        assert!(unit.iter().all(|value| value.abs() < 1e-12));
        assert!(Cholesky::of(array![[1.0, 0.0], [2.0, 1.0]]).is_none());
    }
}
