//! A model's times for the ops of a workload.

use kernelgauge_data::{CollectivePoint, GemmLayout, GemmPoint, Point};
use kernelgauge_model::{PredictError, Prediction};
use kernelgauge_trace::ops::Distinct;

use crate::predictor::{Ask, Predictor};

/// What the model says of each op, or why nothing; no model says nothing at all.
pub type Answers = Option<Vec<Option<Result<Prediction, PredictError>>>>;

/// Asks a model for every op that is a point.
pub fn of(predictor: Option<&Predictor>, ask: Ask, lines: &[Distinct]) -> Answers {
    let predictor = predictor?;
    let answer = |line: &Distinct| {
        let point = line.point.as_ref().ok()?;
        Some(answer(predictor, ask, point))
    };
    Some(lines.iter().map(answer).collect())
}

/// A recording does not state a machine's links, and a model may not tell layouts apart.
fn answer(predictor: &Predictor, ask: Ask, point: &Point) -> Result<Prediction, PredictError> {
    match point {
        Point::Collective(asked) => {
            let links = predictor.machine().links;
            let point = Point::Collective(CollectivePoint { links, ..*asked });
            predictor.answer(&point, ask).map(|(prediction, _)| prediction)
        }
        Point::Gemm(asked) => predictor.predict_with(point, ask).or_else(|_| {
            let point = Point::Gemm(GemmPoint { layout: GemmLayout::Unstated, ..*asked });
            predictor.predict_with(&point, ask)
        }),
        _ => predictor.predict_with(point, ask),
    }
}
