//! Many questions at a time: the same answers, sooner.
//!
//! Most of an answer's time is the forest's, which answers a block of rows several times as fast
//! as row by row. So questions wait until a forest has a block of them. What has no forest is
//! answered alone.

use std::borrow::Cow;

use kernelgauge_data::Point;

use crate::correction::trees::{BLOCK, Forest};
use crate::error::PredictError;
use crate::model::{Model, arranged};
use crate::prediction::{BasisChoice, DomainStatus, Prediction, Query};
use crate::terms::Features;
use crate::variant::{Begun, Open, VariantModel};

/// A question that waits for its forest.
struct Waiting<'a> {
    /// Its place among the questions.
    place: usize,
    point: Cow<'a, Point>,
    basis: BasisChoice,
    open: Open,
    analytical: f64,
}

/// The questions that wait for one forest.
struct Queue<'a> {
    model: &'a VariantModel,
    forest: &'a Forest,
    waiting: Vec<Waiting<'a>>,
    /// Of each that waits.
    features: Vec<Features>,
}

type Answer = Result<Prediction, PredictError>;

impl Model {
    /// Answers questions, in order, each as [`Model::predict`] does.
    ///
    /// # Errors
    /// Of each question, as [`Model::predict`].
    pub fn predict_all(&self, queries: &[Query<'_>]) -> Vec<Answer> {
        let mut answers: Vec<(usize, Answer)> = Vec::with_capacity(queries.len());
        let mut queues: Vec<Queue<'_>> = Vec::new();
        for (place, query) in queries.iter().enumerate() {
            if let Some(answer) = self.enqueue(place, query, &mut queues) {
                answers.push((place, answer));
            }
            if let Some(full) = queues.iter_mut().find(|queue| queue.waiting.len() == BLOCK) {
                full.answer(&mut answers);
            }
        }
        queues.iter_mut().for_each(|queue| queue.answer(&mut answers));
        answers.sort_by_key(|(place, _)| *place);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// The answer to a question, unless it waits for a forest now.
    fn enqueue<'a>(
        &'a self,
        place: usize,
        query: &Query<'a>,
        queues: &mut Vec<Queue<'a>>,
    ) -> Option<Answer> {
        let alone = || Some(self.predict(query));
        let plain = matches!(query.point, Point::Gemm(_) | Point::Attention(_));
        if !plain || !matches!(query.basis, BasisChoice::Best | BasisChoice::Hybrid) {
            return alone();
        }
        if let Err(error) = query.point.check() {
            return Some(Err(error.into()));
        }
        let Ok(model) = self.variant(query.point, query.cache) else { return alone() };
        let Ok(point) = arranged(query.point, model) else { return alone() };
        let open = match model.begin(&point, query.basis, query.extrapolate) {
            Ok(Begun::Measured(prediction)) => return Some(Ok(prediction)),
            Ok(Begun::Open(open)) => open,
            Err(_) => return alone(),
        };
        if open.location.status == DomainStatus::Outside
            && let Err(error) = self.not_never(&point, model, &open.location)
        {
            return Some(Err(error));
        }
        let Some(forest) = model.forest_at(&open) else { return alone() };
        let known = queues.iter().position(|queue| std::ptr::eq(queue.forest, forest));
        let at = known.unwrap_or_else(|| {
            queues.push(Queue::new(model, forest));
            queues.len() - 1
        });
        let queue = &mut queues[at];
        let mut features = Features::new();
        let analytical = model.term.log_ns(&point, &mut features);
        queue.features.push(features);
        queue.waiting.push(Waiting { place, point, basis: query.basis, open, analytical });
        None
    }
}

impl<'a> Queue<'a> {
    fn new(model: &'a VariantModel, forest: &'a Forest) -> Self {
        let (waiting, features) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK));
        Queue { model, forest, waiting, features }
    }

    /// Answers all that wait.
    fn answer(&mut self, answers: &mut Vec<(usize, Answer)>) {
        let corrections = self.forest.answer_block(&self.features);
        self.features.clear();
        for (waiting, correction) in self.waiting.drain(..).zip(corrections) {
            let Waiting { place, point, basis, open, analytical } = waiting;
            let answer = self.model.finish(&point, basis, open, [analytical, correction]);
            answers.push((place, Ok(answer)));
        }
    }
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{CacheState, Dtype, GemmLayout, GemmPoint, MemoryOp, MemoryPoint};

    use super::*;
    use crate::FitOptions;
    use crate::correction::Correction;
    use crate::tests::half_tiles;

    fn gemm(dtype: Dtype, m: u64, n: u64, k: u64) -> Point {
        Point::Gemm(GemmPoint { dtype, batch: 1, m, n, k, layout: GemmLayout::Unstated })
    }

    /// Measured, inside, near, outside, no products at all, of types that nobody measured.
    fn points() -> Vec<Point> {
        let mut points: Vec<Point> = (0..700)
            .map(|row: u64| {
                let dtype = if row.is_multiple_of(50) { Dtype::F32 } else { Dtype::Bf16 };
                let (n, k) = (row * 104_729 % 2_000, 512 + row % 7 * 256);
                gemm(dtype, 1 << (row % 15), 256 + n, k)
            })
            .collect();
        points.extend((0..70).map(|row| gemm(Dtype::Bf16, 64 * (row + 1), 1536, 1536)));
        points.push(gemm(Dtype::Bf16, 0, 1536, 1536));
        points.push(gemm(Dtype::Bf16, 1 << 40, 1536, 1536));
        let (op, dtype) = (MemoryOp::Softmax, Dtype::Bf16);
        points.push(Point::Memory(MemoryPoint { op, dtype, rows: 8, columns: 8 }));
        points
    }

    #[test]
    fn many_questions_have_the_answers_that_each_has_alone() {
        let options = FitOptions { detail: "60x31".parse().unwrap(), ..FitOptions::default() };
        let model = Model::fit(&half_tiles(), &options).unwrap();
        let correction = &model.sections[0].get().unwrap().correction;
        assert!(matches!(correction, Correction::Trees(_)));
        let points = points();
        let choices = [BasisChoice::Best, BasisChoice::Hybrid, BasisChoice::Analytical];
        for (basis, extrapolate) in choices.into_iter().flat_map(|b| [(b, false), (b, true)]) {
            let cache = CacheState::Unstated;
            let query = |point| Query { point, cache, basis, extrapolate };
            let queries: Vec<Query<'_>> = points.iter().map(query).collect();
            let answers = model.predict_all(&queries);
            assert_eq!(answers.len(), points.len());
            let refused = answers.iter().filter(|answer| answer.is_err()).count();
            assert!((3..points.len() / 2).contains(&refused), "{refused}");
            for (query, answer) in queries.iter().zip(answers) {
                assert_eq!(format!("{answer:?}"), format!("{:?}", model.predict(query)));
            }
        }
    }
}
