//! The measured points as they stand in a model file: most of it.
//!
//! Line after line, in order, as [`crate::digits`]: what each parameter of its key differs from the
//! line's before, how many points follow, and for each how many places on its value of the axis
//! lies among all values in use, and what its time differs from the time before, in nanoseconds.
//! Lines are long and share their values, so most points take five characters.

use kernelgauge_data::Nanos;
use serde::{Deserialize, Serialize};

use crate::digits::{self, Digits};
use crate::lines::Lines;

/// Longest time a measured point can have: the limit of `Nanos::measured`.
const LONGEST_NS: u64 = 1_000_000_000_000_000;

/// Measured points as text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinesText {
    axis: usize,
    /// The values of the axis in use, ascending.
    axis_values: Vec<u64>,
    points: String,
    /// Fifth and 95th percentile of each point's samples as differences from its time, in
    /// nanoseconds; both 0 where not known. Empty where none are.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    ranges: String,
}

impl LinesText {
    /// The text of `lines`.
    pub(super) fn of(lines: &Lines) -> Self {
        let mut points = String::new();
        let axis_values = lines.distinct_values().to_vec();
        let mut key_before = vec![0; lines.width()];
        for line in 0..lines.count() {
            for (value, before) in lines.key(line).iter().zip(&mut key_before) {
                digits::push_signed(&mut points, value.wrapping_sub(*before) as i64);
                *before = *value;
            }
            digits::push(&mut points, lines.span(line).len() as u64);
            let (mut next_place, mut time_before) = (0, 0);
            for point in lines.span(line) {
                let value = lines.axis_value(point);
                let place = axis_values.partition_point(|other| *other < value);
                digits::push(&mut points, (place - next_place) as u64);
                next_place = place + 1;
                let time = lines.time(point).get();
                digits::push_signed(&mut points, time.wrapping_sub(time_before) as i64);
                time_before = time;
            }
        }
        LinesText { axis: lines.axis(), axis_values, points, ranges: ranges(lines) }
    }

    /// The lines, whose points have `width` parameters, or what is wrong with the text.
    pub(super) fn lines(&self, width: usize) -> Result<Lines, &'static str> {
        if self.axis >= width {
            return Err("an axis that no point has");
        }
        if self.axis_values.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err("values of the axis that are not in order");
        }
        let mut lines = Lines::empty(self.axis, width - 1);
        let mut digits = Digits::of(&self.points);
        let mut ranges = Digits::of(&self.ranges);
        let mut key = vec![0_u64; width - 1];
        while !digits.is_empty() {
            let before = key.clone();
            for value in &mut key {
                *value = value.wrapping_add(digits.signed()? as u64);
            }
            let count = digits.number()?;
            if count == 0 || (lines.points() > 0 && before >= key) {
                return Err("lines that are empty or not in order");
            }
            let (mut next_place, mut time) = (0_usize, 0_u64);
            for _ in 0..count {
                let skipped = usize::try_from(digits.number()?).unwrap_or(usize::MAX);
                let place = next_place.saturating_add(skipped);
                let value = self.axis_values.get(place).ok_or("a value that is not there")?;
                next_place = place + 1;
                time = time.wrapping_add(digits.signed()? as u64);
                if !(1..=LONGEST_NS).contains(&time) {
                    return Err("a measured time that cannot be");
                }
                let range = self.range(&mut ranges, time)?;
                lines.push(&key, *value, Nanos::new(time), range);
            }
        }
        if !ranges.is_empty() {
            return Err("more ranges than points");
        }
        lines.seal();
        if lines.distinct_values() != self.axis_values {
            return Err("values of the axis that no point has");
        }
        Ok(lines)
    }

    fn range(
        &self,
        ranges: &mut Digits<'_>,
        time: u64,
    ) -> Result<Option<(Nanos, Nanos)>, &'static str> {
        if self.ranges.is_empty() {
            return Ok(None);
        }
        let (below, above) = (ranges.number()?, ranges.number()?);
        let high = Nanos::new(time.saturating_add(above).min(LONGEST_NS));
        let range = (Nanos::new(time.saturating_sub(below)), high);
        Ok((below > 0 || above > 0).then_some(range))
    }
}

fn ranges(lines: &Lines) -> String {
    let mut text = String::new();
    if (0..lines.points()).all(|point| lines.range(point).is_none()) {
        return text;
    }
    for point in 0..lines.points() {
        let time = lines.time(point).get();
        let (below, above) = lines.range(point).map_or((0, 0), |(low, high)| {
            (time.saturating_sub(low.get()), high.get().saturating_sub(time))
        });
        digits::push(&mut text, below);
        digits::push(&mut text, above);
    }
    text
}
