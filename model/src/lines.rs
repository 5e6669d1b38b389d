//! Measured points, by line: all parameters equal but the axis.
//!
//! A line's points are in order of the axis, lines in order of their key, so that a measured
//! point, and the neighbours of any other, are found by two binary searches without allocation.
//! What a neighbour is worth for a question is left to `variant`.

use std::sync::OnceLock;

use kernelgauge_data::Nanos;
use kernelgauge_data::point::{MAX_PARAMETERS, Parameters};

use crate::math::log2;
use crate::rows::Row;

/// Rows that kernels for 8-bit types take at once.
const BLOCK: u64 = 16;

/// The measured points of a variant.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines {
    axis: usize,
    /// Parameters in a key: all but the axis.
    width: usize,
    /// Keys of all lines, one after the other.
    keys: Vec<u64>,
    /// Where each line's points begin; one more than there are lines.
    starts: Vec<u32>,
    axis_values: Vec<u64>,
    /// The values of the axis on any line, ascending.
    distinct_values: Vec<u64>,
    times: Vec<Nanos>,
    /// The least of the times.
    fastest: Option<Nanos>,
    /// Fifth and 95th percentile of each point's samples, zero where unknown; empty if all are.
    ranges: Vec<(Nanos, Nanos)>,
    /// Per line, what is known of its points; computed at first use.
    known: Vec<OnceLock<Box<[Known]>>>,
}

/// What answers on a measured line need of one of its points.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// What the point's log time exceeds the model's by.
    pub residual: f32,
    /// Natural logarithm of its time in nanoseconds.
    pub log_ns: f64,
    /// Base-two logarithm of its axis value.
    pub octave: f64,
}

/// Where a question lies on its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// On a measured point.
    Exact,
    /// Between the point found and the next.
    Between,
    /// Before the first point of the line, which was found.
    Before,
    /// After the last point of the line, which was found.
    After,
}

/// A question's place among the measured points.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// The line.
    pub line: usize,
    /// Index of the point found, among all points.
    pub point: usize,
    /// Where the question lies relative to it.
    pub position: Position,
}

impl Lines {
    /// The lines of `rows`; `rows` may be in any order.
    pub(crate) fn of(rows: &[Row<'_>]) -> Self {
        let Some(first) = rows.first() else { return Lines::default() };
        let axis = first.point.axis();
        let mut keyed: Vec<(Parameters, &Row<'_>)> =
            rows.iter().map(|row| (key_of(&row.parameters, axis), row)).collect();
        keyed.sort_by(|a, b| (&a.0, a.1.parameters[axis]).cmp(&(&b.0, b.1.parameters[axis])));
        let mut lines = Lines::empty(axis, first.parameters.len().saturating_sub(1));
        for (key, row) in keyed {
            lines.push(&key, row.parameters[axis], row.time, row.range);
        }
        lines.seal();
        lines
    }

    /// No lines, of points like those of `rows`.
    pub(crate) fn none_like(rows: &[Row<'_>]) -> Self {
        let Some(first) = rows.first() else { return Lines::default() };
        let mut lines = Lines::empty(first.point.axis(), first.parameters.len().saturating_sub(1));
        lines.seal();
        lines
    }

    /// No lines, of points with `width + 1` parameters.
    pub(crate) fn empty(axis: usize, width: usize) -> Self {
        Lines { axis, width, ..Lines::default() }
    }

    /// Appends a point; keys, and axis values of one key, must ascend.
    pub(crate) fn push(
        &mut self,
        key: &[u64],
        axis_value: u64,
        time: Nanos,
        range: Option<(Nanos, Nanos)>,
    ) {
        let last = self.keys.len() - self.width.min(self.keys.len());
        if self.starts.is_empty() || self.keys[last..] != *key {
            self.starts.push(self.times.len() as u32);
            self.keys.extend_from_slice(key);
        }
        if range.is_some() && self.ranges.is_empty() {
            self.ranges.resize(self.times.len(), (Nanos::default(), Nanos::default()));
        }
        if range.is_some() || !self.ranges.is_empty() {
            self.ranges.push(range.unwrap_or_default());
        }
        self.axis_values.push(axis_value);
        self.times.push(time);
        self.fastest = Some(self.fastest.map_or(time, |fastest| fastest.min(time)));
    }

    /// Ends the pushing.
    pub(crate) fn seal(&mut self) {
        self.starts.push(self.times.len() as u32);
        self.known = vec![OnceLock::new(); self.starts.len() - 1];
        self.distinct_values = self.axis_values.clone();
        self.distinct_values.sort_unstable();
        self.distinct_values.dedup();
    }

    /// Number of measured points.
    pub(crate) fn points(&self) -> usize {
        self.times.len()
    }

    /// Number of lines.
    pub(crate) fn count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Index of the axis among the parameters.
    pub(crate) fn axis(&self) -> usize {
        self.axis
    }

    /// Parameters in a key.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The values of the axis on any line, ascending.
    pub(crate) fn distinct_values(&self) -> &[u64] {
        &self.distinct_values
    }

    /// Key of a line.
    pub(crate) fn key(&self, line: usize) -> &[u64] {
        &self.keys[line * self.width..(line + 1) * self.width]
    }

    /// Indices of the points of a line.
    pub(crate) fn span(&self, line: usize) -> std::ops::Range<usize> {
        self.starts[line] as usize..self.starts[line + 1] as usize
    }

    /// Axis value of a point.
    pub(crate) fn axis_value(&self, point: usize) -> u64 {
        self.axis_values[point]
    }

    /// Time of a point.
    pub(crate) fn time(&self, point: usize) -> Nanos {
        self.times[point]
    }

    /// The least measured time; zero where nothing was.
    pub(crate) fn fastest(&self) -> Nanos {
        self.fastest.unwrap_or_default()
    }

    /// Fifth and 95th percentile of a point's samples, where known.
    pub(crate) fn range(&self, point: usize) -> Option<(Nanos, Nanos)> {
        self.ranges.get(point).copied().filter(|range| range.1.get() > 0)
    }

    /// All parameters of a point.
    pub(crate) fn parameters(&self, line: usize, point: usize) -> Parameters {
        let mut values = [0; MAX_PARAMETERS];
        let key = self.key(line);
        values[..self.axis].copy_from_slice(&key[..self.axis]);
        values[self.axis] = self.axis_values[point];
        values[self.axis + 1..=self.width].copy_from_slice(&key[self.axis..]);
        Parameters::new(&values[..=self.width])
    }

    /// Where `parameters` lie, if their line was measured. Never allocates.
    pub(crate) fn find(&self, parameters: &Parameters) -> Option<Place> {
        let line = self.find_line(&key_of(parameters, self.axis))?;
        let axis_value = parameters[self.axis];
        let span = self.span(line);
        let after = self.axis_values[span.clone()].partition_point(|value| *value <= axis_value);
        if after == 0 {
            return Some(Place { line, point: span.start, position: Position::Before });
        }
        let point = span.start + after - 1;
        let position = if self.axis_values[point] == axis_value {
            Position::Exact
        } else if point + 1 < span.end {
            Position::Between
        } else {
            Position::After
        };
        Some(Place { line, point, position })
    }

    fn find_line(&self, key: &[u64]) -> Option<usize> {
        if key.len() != self.width {
            return None;
        }
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = (low + high) / 2;
            match self.key(middle).cmp(key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    /// What is known of a line's points, from `compute` at the first call.
    pub(crate) fn known(&self, line: usize, compute: impl FnOnce() -> Box<[Known]>) -> &[Known] {
        self.known[line].get_or_init(compute)
    }

    /// Whether any line was measured at a value of the axis.
    pub(crate) fn has_axis_value(&self, value: u64) -> bool {
        self.distinct_values.binary_search(&value).is_ok()
    }

    /// Whether lines were measured at values that are whole sixteens as `value` is one, or are
    /// not as it is not; one of many, as where a sweep ends, does not count. What is no larger
    /// than sixteen is one block whatever it is.
    pub(crate) fn has_alignment(&self, value: u64) -> bool {
        const FEW: usize = 8;
        if value <= BLOCK {
            return true;
        }
        let whole = |value: &u64| value.is_multiple_of(BLOCK);
        let larger = self.distinct_values.iter().filter(|have| **have > BLOCK);
        let alike = larger.clone().filter(|have| whole(have) == whole(&value)).count();
        alike * FEW > larger.count()
    }

    /// Base-two logarithm of a point's axis value.
    pub(crate) fn octave(&self, point: usize) -> f64 {
        log2(self.axis_values[point].max(1) as f64)
    }
}

/// All parameters but the axis.
fn key_of(parameters: &Parameters, axis: usize) -> Parameters {
    let mut values = [0; MAX_PARAMETERS];
    let mut length = 0;
    for (index, value) in parameters.iter().enumerate() {
        if index != axis {
            values[length] = *value;
            length += 1;
        }
    }
    Parameters::new(&values[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alignment_is_known_where_more_than_the_end_of_a_sweep_has_it() {
        let mut lines = Lines::empty(0, 0);
        for value in (16..=256).step_by(16).map(|m| m + 1).chain([3072]) {
            lines.push(&[], value, Nanos::new(value), None);
        }
        lines.seal();
        let known = [3, 16, 333, 320, 3072].map(|value| lines.has_alignment(value));
        assert_eq!(known, [true, true, true, false, false]);
    }

    #[test]
    fn points_are_found_and_neighbours_named() {
        let mut lines = Lines::empty(1, 2);
        for (key, axis_value, time) in
            [([1, 8], 4, 40), ([1, 8], 16, 160), ([2, 8], 4, 80), ([2, 9], 1, 10)]
        {
            lines.push(&key, axis_value, Nanos::new(time), None);
        }
        lines.seal();
        let find = |values: &[u64]| lines.find(&Parameters::new(values));
        let place = find(&[1, 16, 8]).unwrap();
        assert_eq!((place.position, lines.time(place.point).get()), (Position::Exact, 160));
        assert_eq!(find(&[1, 5, 8]).unwrap().position, Position::Between);
        assert_eq!(find(&[1, 17, 8]).unwrap().position, Position::After);
        assert_eq!(find(&[2, 3, 8]).unwrap().position, Position::Before);
        assert!(find(&[3, 4, 8]).is_none());
        let between = find(&[1, 5, 8]).unwrap();
        assert_eq!([between.point, between.point + 1].map(|at| lines.octave(at)), [2.0, 4.0]);
        assert_eq!(&lines.parameters(2, 3)[..], &[2, 1, 9]);
    }
}
