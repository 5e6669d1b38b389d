//! What few points teach: several laws, each with trees and kriging on its residuals, averaged,
//! and then learned by one forest that answers in a microsecond.
//!
//! Each teacher errs in its own way between few points, so that their mean errs less than any
//! of them; but all of them together would take a hundred times as long to ask. They are asked
//! once, at every point that the rows' own lines and axis values span and wherever lenders
//! measured, and a forest on the first law's features is fitted to what they say. On few-shot
//! draws of H100 products the pupil's error was within a hundredth of its teachers'.

use kernelgauge_data::Point;
use linfa::dataset::DatasetBase;
use linfa::prelude::Predict;
use linfa::traits::Fit;
use ndarray::{Array1, Array2};

use super::kriging::{Kriged, Kriging};
use crate::correction::{Candidate, Correction, Lessons};
use crate::fit::lessons;
use crate::rows::Row;
use crate::terms::{AnalyticalTerm, Features};

/// Residuals beyond this are throttled rows or worse: smooth regressions would follow them.
const FARTHEST: f64 = 0.7;

/// Residuals beyond these count as these in a forest each: one follows the mean of the rows, the
/// other rather their middle.
const CLIPS: [f64; 2] = [0.5, 0.06];

/// A law and two kinds of regressions of what it leaves.
struct Teacher {
    law: AnalyticalTerm,
    forests: [Correction; CLIPS.len()],
    kriged: Option<Kriged>,
}

impl Teacher {
    fn of(law: &AnalyticalTerm, rows: &[Row<'_>]) -> Self {
        let lessons = lessons(rows, law);
        let residuals: Array1<f64> =
            lessons.log_ratio.iter().map(|ratio| ratio.clamp(-FARTHEST, FARTHEST)).collect();
        let points: Vec<&Point> = rows.iter().map(|row| row.point).collect();
        let kriged = coordinates(law, &points)
            .and_then(|inputs| Kriging.fit(&DatasetBase::new(inputs, residuals)).ok());
        let forests = CLIPS.map(|clip| Candidate::SmallTrees { clip }.fit(&lessons));
        Teacher { law: law.clone(), forests, kriged }
    }

    /// Log times of `points`.
    fn answers(&self, points: &[&Point]) -> Array1<f64> {
        let mut features = Features::new();
        let of_laws: Vec<(f64, f64)> = points
            .iter()
            .map(|point| {
                let law = self.law.log_ns(point, &mut features);
                let parameters = point.parameters();
                let forests = self.forests.iter();
                let sum: f64 = forests.map(|f| f.log_ratio(&features, &parameters)).sum();
                (law, sum / CLIPS.len() as f64)
            })
            .collect();
        let smooth: Option<Array1<f64>> = self
            .kriged
            .as_ref()
            .and_then(|kriged| Some(kriged.predict(&coordinates(&self.law, points)?)));
        let answer = |(index, (law, trees)): (usize, &(f64, f64))| match &smooth {
            Some(smooth) => law + (trees + smooth[index]) / 2.0,
            None => law + trees,
        };
        of_laws.iter().enumerate().map(answer).collect()
    }
}

fn coordinates(law: &AnalyticalTerm, points: &[&Point]) -> Option<Array2<f64>> {
    let all: Vec<Vec<f64>> = points.iter().map(|point| law.coordinates(point)).collect();
    let shape = (all.len(), all.first()?.len());
    Array2::from_shape_vec(shape, all.concat()).ok()
}

/// A correction of the first of `laws`, of which there is at least one, learned from teachers
/// of `rows` at `asked` and at the rows themselves.
pub(super) fn distilled(laws: &[AnalyticalTerm], rows: &[Row<'_>], asked: &[Point]) -> Correction {
    let Some(first) = laws.first() else { return Correction::None };
    let points: Vec<&Point> = asked.iter().chain(rows.iter().map(|row| row.point)).collect();
    let mut mean = Array1::<f64>::zeros(points.len());
    for law in laws {
        mean += &Teacher::of(law, rows).answers(&points);
    }
    mean /= laws.len() as f64;
    let mut lessons = Lessons::default();
    let mut features = Features::new();
    for (point, answer) in points.iter().zip(mean) {
        let law = first.log_ns(point, &mut features);
        lessons.push(&features, &point.parameters(), answer - law);
    }
    Candidate::ManyTrees.fit(&lessons)
}
