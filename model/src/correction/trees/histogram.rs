//! Histograms of residuals, from which splits are found.
//!
//! Residuals are counted as whole steps, sum and number of rows in one integer: sums are exact
//! whatever their order, a parent's histogram less one child's is the other's to the bit, and
//! one addition serves both.

use super::bins::Bins;

/// Bits that count rows; the rest holds the sum.
const COUNT_BITS: u32 = 24;

/// Most rows that trees can be grown on.
pub(super) const MOST_ROWS: usize = (1 << COUNT_BITS) - 1;

/// Columns that are counted together, so that additions to one bin seldom wait for each other.
const TOGETHER: usize = 4;

/// Sum of residuals and number of rows of one bin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Bin(i64);

impl Bin {
    /// Sum, in steps.
    #[inline]
    pub(super) fn sum(self) -> f64 {
        (self.0 >> COUNT_BITS) as f64
    }

    /// Number of rows.
    #[inline]
    pub(super) fn count(self) -> f64 {
        (self.0 & MOST_ROWS as i64) as f64
    }

    /// Whether no row lies in it.
    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.0 & MOST_ROWS as i64 == 0
    }

    /// Adds what another holds.
    #[inline]
    pub(super) fn add(&mut self, other: Bin) {
        self.0 += other.0;
    }

    /// Takes away what another holds.
    #[inline]
    pub(super) fn take(&mut self, other: Bin) {
        self.0 -= other.0;
    }
}

/// How residuals become whole steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    steps: f64,
}

impl Scale {
    /// Steps so fine that `rows` residuals of at most `largest` still fit their sum.
    pub(super) fn of(rows: usize, largest: f64) -> Self {
        let room = (1_i64 << (62 - COUNT_BITS)) as f64;
        let steps = room / (rows.max(1) as f64 * largest.max(f64::MIN_POSITIVE));
        Scale { steps: steps.min(1e15) }
    }

    /// One row with this residual.
    #[inline]
    pub(super) fn row(self, residual: f64) -> Bin {
        Bin((((residual * self.steps) as i64) << COUNT_BITS) + 1)
    }

    /// What a sum of steps stands for.
    #[inline]
    pub(super) fn residual(self, steps: f64) -> f64 {
        steps / self.steps
    }
}

/// The features that a tree may split on, and where each one's bins begin in its histograms.
pub(super) struct Layout {
    pub features: Vec<usize>,
    /// One more than there are features.
    pub offsets: Vec<usize>,
}

impl Layout {
    /// The layout for these features.
    pub(super) fn of(bins: &Bins, features: Vec<usize>) -> Self {
        let mut offsets = vec![0];
        let mut total = 0;
        for &feature in &features {
            total += bins.count(feature);
            offsets.push(total);
        }
        Layout { features, offsets }
    }

    /// Bins of all features together.
    pub(super) fn total(&self) -> usize {
        self.offsets[self.features.len()]
    }

    /// Adds `rows`, whose residuals are `values`, to `histogram`.
    pub(super) fn count(&self, bins: &Bins, rows: &[u32], values: &[Bin], histogram: &mut [Bin]) {
        let mut at = 0;
        while at + TOGETHER <= self.features.len() {
            let column = |offset: usize| bins.column(self.features[at + offset]);
            let columns = [column(0), column(1), column(2), column(3)];
            let base: [usize; TOGETHER] = std::array::from_fn(|offset| self.offsets[at + offset]);
            for (&row, &value) in rows.iter().zip(values) {
                for (column, base) in columns.iter().zip(base) {
                    histogram[base + usize::from(column[row as usize])].add(value);
                }
            }
            at += TOGETHER;
        }
        for at in at..self.features.len() {
            let (column, base) = (bins.column(self.features[at]), self.offsets[at]);
            for (&row, &value) in rows.iter().zip(values) {
                histogram[base + usize::from(column[row as usize])].add(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_counts_share_a_number_without_touching_each_other() {
        let scale = Scale::of(1000, 0.5);
        let mut bin = Bin::default();
        for index in 0..1000 {
            bin.add(scale.row(if index % 2 == 0 { -0.5 } else { 0.25 }));
        }
        assert_eq!(bin.count(), 1000.0);
        assert!((scale.residual(bin.sum()) + 125.0).abs() < 1e-3);
        let mut rest = bin;
        rest.take(bin);
        assert!(rest.is_empty() && rest == Bin::default());
    }
}
