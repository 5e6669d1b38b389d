//! Features cut into at most 256 bins, so that a split is found from a histogram.

use ndarray::{ArrayBase, Axis, Data, Ix2};

/// The bin of every feature of every row.
pub(super) struct Bins {
    /// Row after row, each bin as its place in a histogram of all features.
    places: Vec<u16>,
    /// Per feature the upper edges of all bins but the last, ascending.
    edges: Vec<Vec<f32>>,
    /// Where each feature's bins begin in a histogram; one more than there are features.
    offsets: Vec<usize>,
}

impl Bins {
    /// Cuts every column of `records` into at most `most` bins. Not a number counts as smallest.
    pub(super) fn of<D: Data<Elem = f64>>(records: &ArrayBase<D, Ix2>, most: usize) -> Self {
        let (rows, width) = records.dim();
        let mut places = vec![0; rows * width];
        let mut edges: Vec<Vec<f32>> = Vec::with_capacity(width);
        let mut offsets = vec![0];
        for (feature, column) in records.axis_iter(Axis(1)).enumerate() {
            let values: Vec<f32> = column
                .iter()
                .map(|value| if value.is_nan() { f32::NEG_INFINITY } else { *value as f32 })
                .collect();
            let of_feature = cut(&values, most);
            let offset = offsets[feature];
            for (row, value) in values.iter().enumerate() {
                let bin = of_feature.partition_point(|edge| edge < value);
                places[row * width + feature] = (offset + bin) as u16;
            }
            offsets.push(offset + of_feature.len() + 1);
            edges.push(of_feature);
        }
        Bins { places, edges, offsets }
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.places.len() / self.width().max(1)
    }

    /// Number of features.
    pub(super) fn width(&self) -> usize {
        self.edges.len()
    }

    /// The bins of one row, as places in a histogram of all features.
    #[inline]
    pub(super) fn row(&self, row: usize) -> &[u16] {
        let width = self.width();
        &self.places[row * width..(row + 1) * width]
    }

    /// Where each feature's bins begin in a histogram.
    pub(super) fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Bins of all features together.
    pub(super) fn total(&self) -> usize {
        self.offsets[self.width()]
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

/// A number with `low <= number < high`, in the middle if there is one.
fn between(low: f32, high: f32) -> f32 {
    let middle = low / 2.0 + high / 2.0;
    if middle >= low && middle < high { middle } else { low }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_get_an_edge_each_and_many_equal_shares() {
        assert_eq!(cut(&[1.0, 3.0, 3.0, 5.0], 8), vec![2.0, 4.0]);
        assert_eq!(cut(&[7.0; 9], 8), Vec::<f32>::new());
        let many: Vec<f32> = (0..1000_i16).map(f32::from).collect();
        let edges = cut(&many, 10);
        assert_eq!(edges.len(), 9);
        assert!(edges.windows(2).all(|pair| (pair[1] - pair[0] - 100.0).abs() <= 2.0));
    }
}
