//! Measured points, of a data set as fits see them and of a model as it kept them.
//!
//! Repeats are folded and what operands held is not mixed, so that points of two sources can be
//! laid side by side. What they say about each other is left to the caller.

use kernelgauge_data::{CacheState, DataSet, Nanos, Point};

use crate::fit::groups;
use crate::interval::{Band, REPEAT_NOISE};
use crate::math::exp;
use crate::model::Model;
use crate::store::StoreError;

/// A measured point and how well its time is known.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredPoint {
    /// The point.
    pub point: Point,
    /// The state of its operands.
    pub cache: CacheState,
    /// Its time.
    pub time: Nanos,
    /// Lower end of the 90 % interval of a repeat.
    pub low: Nanos,
    /// Upper end of the 90 % interval of a repeat.
    pub high: Nanos,
}

/// The measured points of `data` that may be fitted, by family, variant and cache state.
pub fn measured_points(data: &DataSet) -> Vec<MeasuredPoint> {
    let groups = groups(&data.records);
    let rows = groups.iter().flat_map(|group| group.rows.iter().map(|row| (group.cache, row)));
    rows.map(|(cache, row)| {
        let (low, high) = row.range.unwrap_or_else(|| around(row.time, REPEAT_NOISE));
        MeasuredPoint { point: row.point.clone(), cache, time: row.time, low, high }
    })
    .collect()
}

impl Model {
    /// The measured points the model kept, without those that cannot be told from what it kept.
    ///
    /// # Errors
    /// The first section of a model file that is damaged.
    pub fn measured_points(&self) -> Result<Vec<MeasuredPoint>, StoreError> {
        let mut points = Vec::new();
        for section in &self.sections {
            let model = section.get()?;
            let lines = &model.lines;
            for line in 0..lines.count() {
                for index in lines.span(line) {
                    let values = lines.parameters(line, index);
                    let names = model.domain.names().map(str::to_owned);
                    let parameters: Vec<(String, u64)> =
                        names.zip(values.iter().copied()).collect();
                    let Some(point) = Point::rebuilt(section.family, &section.name, &parameters)
                    else {
                        continue;
                    };
                    let time = lines.time(index);
                    let known = lines.range(index);
                    let (low, high) = known.unwrap_or_else(|| around(time, model.intervals.exact));
                    let cache = section.cache;
                    points.push(MeasuredPoint { point, cache, time, low, high });
                }
            }
        }
        Ok(points)
    }
}

fn around(time: Nanos, Band(low, high): Band) -> (Nanos, Nanos) {
    let scaled = |by: f64| Nanos::saturating(time.as_f64() * exp(by));
    (scaled(low), scaled(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FitOptions;
    use crate::tests::gemm_table;

    #[test]
    fn a_model_keeps_the_points_of_its_data() {
        let data = gemm_table();
        let model = Model::fit(&data, &FitOptions::default()).unwrap();
        let kept = model.measured_points().unwrap();
        let mut measured = measured_points(&data);
        measured.sort_by(|a, b| a.point.cmp(&b.point));
        let mut sorted = kept.clone();
        sorted.sort_by(|a, b| a.point.cmp(&b.point));
        assert_eq!(sorted, measured);
        assert!(kept.iter().all(|point| point.low < point.time && point.time < point.high));
    }
}
