//! The library face of the crate: a model that answers.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use kernelgauge_data::{
    CacheState, Collective, CollectivePoint, Dtype, Family, Machine, Nanos, Point,
};
use kernelgauge_model::{
    Basis, BasisChoice, DomainStatus, Explanation, Model, PredictError, Prediction, Query,
};
use rayon::prelude::*;

use crate::machine::{self, MachineError, Meant};
use crate::question::{self, Subject, Vocabulary};

/// Points that one thread answers at a time, so that handing them out costs nothing.
const POINTS_A_THREAD: usize = 1024;

/// How a model is asked. The default takes the measured time at a measured point and the best
/// the model has elsewhere, in the cache state that was measured, and refuses outside the
/// measured domain.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ask {
    /// Cold or hot operands.
    pub cache: CacheState,
    /// Which part of the model answers.
    pub basis: BasisChoice,
    /// Whether to answer outside the measured domain, with a wider interval.
    pub extrapolate: bool,
}

/// A collective, the dtype that was asked for, and the one that answers.
pub type StandIn = (Collective, Dtype, Dtype);

/// An answer, and the stand-in that gave it if one did.
pub type Answer = Result<(Prediction, Option<StandIn>), PredictError>;

/// A machine's model, ready to answer.
///
/// Cheap to ask: a measured point is found in under a microsecond, any other point takes a few.
/// Shared between threads by reference.
#[derive(Debug)]
pub struct Predictor {
    model: Model,
    /// Where the model was read, if it was a file or folder.
    path: Option<PathBuf>,
    stand_ins: OnceLock<Vec<StandIn>>,
}

impl Predictor {
    /// A machine that ships with the project, by its name or an unambiguous prefix.
    ///
    /// # Errors
    /// [`MachineError::Unknown`] with the nearest name.
    pub fn shipped(name: &str) -> Result<Self, MachineError> {
        machine::shipped(name).map(Predictor::from_model)
    }

    /// A model file, or a folder with a `model.json`, that `calibrate` wrote.
    ///
    /// # Errors
    /// Names the file and what is wrong with it.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, MachineError> {
        let model = machine::from_file(path.as_ref())?;
        Ok(Predictor { path: Some(path.as_ref().to_owned()), ..Predictor::from_model(model) })
    }

    /// The machine that `--machine` names: shipped, or a file.
    ///
    /// # Errors
    /// As [`Predictor::shipped`] and [`Predictor::from_file`].
    pub fn named(name: Option<&OsStr>) -> Result<Self, MachineError> {
        match machine::meant(name)? {
            Meant::Shipped(name) => Predictor::shipped(name),
            Meant::File(path) => Predictor::from_file(path),
        }
    }

    /// A model that was fitted or read elsewhere.
    pub fn from_model(model: Model) -> Self {
        Predictor { model, path: None, stand_ins: OnceLock::new() }
    }

    /// The folder whose measurements are others by now than those the model was fitted on, where
    /// they are beside it.
    pub fn outdated_by(&self) -> Option<PathBuf> {
        machine::outdated_by(self.path.as_ref()?, &self.model)
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The machine it speaks for.
    pub fn machine(&self) -> &Machine {
        self.model.machine()
    }

    /// The time of `point`, asked as [`Ask::default`] does.
    ///
    /// # Errors
    /// What the model lacks, or how far outside its domain the point lies.
    pub fn predict(&self, point: &Point) -> Result<Prediction, PredictError> {
        self.predict_with(point, Ask::default())
    }

    /// The time of `point`, asked as `ask` says.
    ///
    /// # Errors
    /// What the model lacks, or how far outside its domain the point lies.
    pub fn predict_with(&self, point: &Point, ask: Ask) -> Result<Prediction, PredictError> {
        self.model.predict(&query(point, ask))
    }

    /// [`Predictor::predict`] for many points, on every core, in order.
    pub fn predict_many(&self, points: &[Point]) -> Vec<Result<Prediction, PredictError>> {
        let answered = |points: &[Point]| {
            let queries: Vec<Query<'_>> =
                points.iter().map(|point| query(point, Ask::default())).collect();
            self.model.predict_all(&queries)
        };
        points.par_chunks(POINTS_A_THREAD).flat_map_iter(answered).collect()
    }

    /// Why the answer to `point` is what it is.
    ///
    /// # Errors
    /// As [`Predictor::predict_with`].
    pub fn explain(&self, point: &Point, ask: Ask) -> Result<Explanation, PredictError> {
        self.model.explain(&query(point, ask))
    }

    /// One fused embedding op over tables that differ: `tables` has, for each kind, how many
    /// there are and an op of as many tables as all kinds have, all of that kind.
    ///
    /// The time is the mean over the tables of what an op of as many tables like each takes: the
    /// launch counts once, tables share the cache as equal ones would, and the answer for equal
    /// tables is that of [`Predictor::predict_with`]. Beside it stands the share of each kind.
    ///
    /// # Errors
    /// The first kind that has no answer, and why.
    pub fn predict_set(
        &self,
        tables: &[(u64, Point)],
        ask: Ask,
    ) -> Result<(Prediction, Vec<Nanos>), (usize, Box<PredictError>)> {
        let answers = tables
            .iter()
            .enumerate()
            .map(|(kind, (_, point))| {
                self.predict_with(point, ask).map_err(|error| (kind, Box::new(error)))
            })
            .collect::<Result<Vec<Prediction>, _>>()?;
        let all: f64 = tables.iter().map(|(count, _)| *count as f64).sum();
        let share = |kind: usize, time: Nanos| time.as_f64() * tables[kind].0 as f64 / all;
        let mean = |of: fn(&Prediction) -> Nanos| {
            let shares = answers.iter().enumerate().map(|(kind, answer)| share(kind, of(answer)));
            Nanos::saturating(shares.sum())
        };
        let domain = answers.iter().map(|answer| answer.domain).max();
        let bases: Vec<Basis> = answers.iter().map(|answer| answer.basis).collect();
        let basis = match bases.as_slice() {
            [first, rest @ ..] if rest.iter().all(|basis| basis == first) => *first,
            _ if bases.contains(&Basis::Extrapolated) => Basis::Extrapolated,
            _ => Basis::Hybrid,
        };
        let prediction = Prediction {
            time: mean(|answer| answer.time),
            low: mean(|answer| answer.low),
            high: mean(|answer| answer.high),
            domain: domain.unwrap_or(DomainStatus::Outside),
            basis,
        };
        let shares = answers.iter().enumerate();
        Ok((prediction, shares.map(|(kind, a)| Nanos::saturating(share(kind, a.time))).collect()))
    }

    /// The point that answers for a collective in a dtype the machine was not measured in: the
    /// same bytes in the dtype of [`question::stand_in`]. None where the point answers for
    /// itself, or nothing can answer for it.
    pub fn stand_in(&self, point: &Point) -> Option<(Point, StandIn)> {
        let Point::Collective(asked) = point else { return None };
        let stand_ins = self.stand_ins.get_or_init(|| self.find_stand_ins());
        let found = stand_ins.iter().find(|(collective, dtype, _)| {
            (*collective, *dtype) == (asked.collective, asked.dtype)
        });
        let stand_in @ (_, _, dtype) = *found?;
        Some((Point::Collective(CollectivePoint { dtype, ..*asked }), stand_in))
    }

    /// The answer to `point` and, where another dtype gave it, which; the interval then covers
    /// the difference between dtypes too.
    ///
    /// # Errors
    /// As [`Predictor::predict_with`].
    pub fn answer(&self, point: &Point, ask: Ask) -> Answer {
        match self.stand_in(point) {
            None => Ok((self.predict_with(point, ask)?, None)),
            Some((other, stand_in)) => {
                Ok((widened(self.predict_with(&other, ask)?, stand_in), Some(stand_in)))
            }
        }
    }

    /// [`Predictor::answer`] to many questions, in order, in half the time.
    ///
    /// # Errors
    /// Of each question, as [`Predictor::predict_with`].
    pub fn answer_all(&self, questions: &[(&Point, Ask)]) -> Vec<Answer> {
        let others: Vec<Option<(Point, StandIn)>> =
            questions.iter().map(|(point, _)| self.stand_in(point)).collect();
        let both = questions.iter().zip(&others);
        let asked = both.map(|((point, ask), other)| {
            query(other.as_ref().map_or(*point, |(other, _)| other), *ask)
        });
        let queries: Vec<Query<'_>> = asked.collect();
        let predictions = self.model.predict_all(&queries).into_iter().zip(&others);
        let answer = |(prediction, other): (Result<Prediction, PredictError>, &Option<_>)| {
            Ok(match other {
                None => (prediction?, None),
                Some((_, stand_in)) => (widened(prediction?, *stand_in), Some(*stand_in)),
            })
        };
        predictions.map(answer).collect()
    }

    fn find_stand_ins(&self) -> Vec<StandIn> {
        let variants = self.model.variants(Family::Collective);
        let machine = self.machine();
        let subject = Subject {
            machine: &machine.name,
            links: machine.links,
            variants: &variants,
            described: false,
        };
        let mut found = Vec::new();
        for collective in Collective::ALL {
            let vocabulary = Vocabulary::of_collective(&subject, collective.name(), collective);
            for asked in Dtype::ALL {
                let used = question::stand_in(collective, asked, vocabulary.dtypes());
                found.extend(
                    used.filter(|used| *used != asked).map(|used| (collective, asked, used)),
                );
            }
        }
        found
    }
}

/// `prediction` with the difference between the dtype that answered and the one asked for.
fn widened(prediction: Prediction, (collective, ..): StandIn) -> Prediction {
    let factor = 1.0 + question::stand_in_difference(collective);
    let low = Nanos::saturating(prediction.low.as_f64() / factor).min(prediction.time);
    let high = Nanos::saturating(prediction.high.as_f64() * factor);
    Prediction { low, high, ..prediction }
}

fn query(point: &Point, ask: Ask) -> Query<'_> {
    Query { point, cache: ask.cache, basis: ask.basis, extrapolate: ask.extrapolate }
}
