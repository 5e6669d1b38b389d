//! One line of a data set, and what it costs to leave a point of it out.

/// A point of a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LinePoint {
    /// Logarithm of the axis value.
    pub axis: f64,
    /// Mean logarithm of the times measured there.
    pub time: f64,
    /// How much its error counts.
    pub weight: f64,
    /// The records there, by index.
    pub records: Vec<usize>,
}

/// Points in ascending order of the axis, and which are still in.
#[derive(Debug, Clone)]
pub(super) struct Line {
    points: Vec<LinePoint>,
    kept: Vec<bool>,
}

impl Line {
    /// All `points`, which ascend along the axis.
    pub fn new(points: Vec<LinePoint>) -> Self {
        let kept = vec![true; points.len()];
        Line { points, kept }
    }

    /// The points.
    pub fn points(&self) -> &[LinePoint] {
        &self.points
    }

    /// Leaves `index` out.
    pub fn remove(&mut self, index: usize) {
        self.kept[index] = false;
    }

    /// The nearest points still in, before and after `index`; none at an end of the line.
    pub fn neighbours(&self, index: usize) -> Option<(usize, usize)> {
        let before = (0..index).rev().find(|at| self.kept[*at])?;
        let after = (index + 1..self.points.len()).find(|at| self.kept[*at])?;
        Some((before, after))
    }

    /// By how much the squared error of interpolation grows without `index`: over every point
    /// between its neighbours, in or out. None at an end of the line, or if it is out.
    pub fn cost(&self, index: usize) -> Option<f64> {
        if !self.kept[index] {
            return None;
        }
        let (before, after) = self.neighbours(index)?;
        let without = self.squared_error(before, after);
        let with = self.squared_error(before, index) + self.squared_error(index, after);
        Some((without - with).max(0.0))
    }

    /// Weighted squared error of the points between two, interpolated from them.
    fn squared_error(&self, from: usize, to: usize) -> f64 {
        let (start, end) = (&self.points[from], &self.points[to]);
        let slope = (end.time - start.time) / (end.axis - start.axis);
        let error = |point: &LinePoint| {
            let told = start.time + slope * (point.axis - start.axis);
            point.weight * (point.time - told).powi(2)
        };
        self.points[from + 1..to].iter().map(error).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(times: &[f64]) -> Line {
        let point = |(axis, time): (usize, &f64)| LinePoint {
            axis: axis as f64,
            time: *time,
            weight: 1.0,
            records: vec![axis],
        };
        Line::new(times.iter().enumerate().map(point).collect())
    }

    #[test]
    fn what_its_neighbours_tell_costs_nothing() {
        let line = line(&[0.0, 1.0, 2.0, 5.0, 6.0]);
        assert_eq!(line.cost(1), Some(0.0));
        assert!(line.cost(2).unwrap() > 0.9);
        assert_eq!((line.cost(0), line.cost(4)), (None, None));
    }

    #[test]
    fn a_point_left_out_still_counts_as_error() {
        let mut line = line(&[0.0, 0.0, 3.0, 0.0, 0.0]);
        line.remove(2);
        // The spike is not told either way; the flat point beside it is free.
        assert_eq!(line.neighbours(1), Some((0, 3)));
        assert_eq!(line.cost(1), Some(0.0));
        assert_eq!(line.cost(2), None);
    }
}
