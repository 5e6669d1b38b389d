//! Features cut into at most 256 bins, so that a split is found from a histogram.

use ndarray::{ArrayBase, Axis, Data, Ix2};

/// The bin of every feature of every row.
pub(super) struct Bins {
    rows: usize,
    /// Feature after feature, the bin of every row.
    bins: Vec<u8>,
    /// Per feature the upper edges of all bins but the last, ascending.
    edges: Vec<Vec<f32>>,
}

impl Bins {
    /// Cuts every column of `records` into at most `most` bins, and at most 256. Not a number
    /// counts as smallest.
    pub(super) fn of<D: Data<Elem = f64>>(records: &ArrayBase<D, Ix2>, most: usize) -> Self {
        let (rows, width) = records.dim();
        let mut bins = Vec::with_capacity(rows * width);
        let mut edges: Vec<Vec<f32>> = Vec::with_capacity(width);
        for column in records.axis_iter(Axis(1)) {
            let values: Vec<f32> = column
                .iter()
                .map(|value| if value.is_nan() { f32::NEG_INFINITY } else { *value as f32 })
                .collect();
            let of_feature = cut(&values, most.min(256));
            let bin = |value: &f32| of_feature.partition_point(|edge| edge < value) as u8;
            bins.extend(values.iter().map(bin));
            edges.push(of_feature);
        }
        Bins { rows, bins, edges }
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Number of features.
    pub(super) fn width(&self) -> usize {
        self.edges.len()
    }

    /// The bins of one feature, row after row.
    #[inline]
    pub(super) fn column(&self, feature: usize) -> &[u8] {
        &self.bins[feature * self.rows..(feature + 1) * self.rows]
    }

    /// Number of bins of one feature.
    pub(super) fn count(&self, feature: usize) -> usize {
        self.edges[feature].len() + 1
    }

    /// Upper edge of a bin.
    pub(super) fn edge(&self, feature: usize, bin: usize) -> f32 {
        self.edges[feature][bin]
    }
}

/// Edges between distinct values: all of them if they are few, else at about equal counts.
fn cut(values: &[f32], most: usize) -> Vec<f32> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f32::total_cmp);
    let runs: Vec<(f32, usize)> =
        sorted.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
    let mut edges = Vec::new();
    let (mut open, mut rest, mut bins_left) = (0, values.len(), most);
    for pair in runs.windows(2) {
        let (value, count) = pair[0];
        open += count;
        // Each bin takes its share of what is left, so that heavy values do not starve the rest.
        let full = open * bins_left >= rest;
        if bins_left > 1 && (runs.len() <= most || full) {
            edges.push(between(value, pair[1].0));
            rest -= open;
            bins_left -= 1;
            open = 0;
        }
    }
    edges
}

/// A number with `low <= number < high`: the middle with as few digits as will do, since model
/// files spell it out.
fn between(low: f32, high: f32) -> f32 {
    let middle = low / 2.0 + high / 2.0;
    (0..8)
        .filter_map(|digits| format!("{middle:.digits$e}").parse().ok())
        .find(|number| (low..high).contains(number))
        .unwrap_or(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_get_an_edge_each_and_many_equal_shares() {
        assert_eq!(cut(&[1.0, 3.0, 3.0, 5.0], 8), vec![2.0, 4.0]);
        assert_eq!(cut(&[4096.0, 5120.0, f32::INFINITY], 8), vec![5000.0, 5120.0]);
        assert_eq!(cut(&[7.0; 9], 8), Vec::<f32>::new());
        let many: Vec<f32> = (0..1000_i16).map(f32::from).collect();
        let edges = cut(&many, 10);
        assert_eq!(edges.len(), 9);
        assert!(edges.windows(2).all(|pair| (pair[1] - pair[0] - 100.0).abs() <= 2.0));
    }
}
