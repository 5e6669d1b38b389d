//! Answers from what a machine's maker states, where nothing has to be measured.
//!
//! The analytical terms of embedding bags and memory-bound ops need a bandwidth, a cache and a
//! fixed time; here these follow from the published figures by rules that the terms state with
//! their sources. An answer of this kind is asked for by name. It never stands in for a model.

use kernelgauge_data::{Machine, Nanos, Point};

use crate::error::PredictError;
use crate::explain::{Explanation, Step, of_term};
use crate::interval::Band;
use crate::math::exp;
use crate::prediction::{Basis, DomainStatus, Prediction};
use crate::reference::residuals;
use crate::terms::{AnalyticalTerm, Features};
use crate::variant::VariantModel;

/// Interval where no point of the variant was measured, in log time: a factor of two. Published
/// times of embedding bags on V100 and H100 lie within it (see the tests of the term).
const BLIND: Band = Band(-std::f64::consts::LN_2, std::f64::consts::LN_2);

/// The term of `point` on a machine of which only the figures are known.
fn term(point: &Point, machine: &Machine) -> Result<AnalyticalTerm, PredictError> {
    AnalyticalTerm::described(point.family(), &machine.hardware).map_err(|reason| {
        PredictError::NotDescribed { machine: machine.name.clone(), reason: reason.to_owned() }
    })
}

fn log_ns(term: &AnalyticalTerm, point: &Point) -> f64 {
    term.log_ns(point, &mut Features::new())
}

/// The answer, with the interval its errors on the measured points of the variant have, where
/// there are any.
pub(crate) fn predict(
    point: &Point,
    machine: &Machine,
    measured: Option<(&VariantModel, DomainStatus)>,
) -> Result<Prediction, PredictError> {
    let term = term(point, machine)?;
    let log_time = log_ns(&term, point);
    let band = measured.and_then(|(model, _)| {
        let time_us = |other: &Point| Some(exp(log_ns(&term, other)) / 1e3);
        Band::of(residuals(model, point, time_us))
    });
    let band = band.unwrap_or(BLIND);
    let at = |by: f64| Nanos::saturating(exp(log_time + by));
    Ok(Prediction {
        time: at(0.0),
        low: at(band.0),
        high: at(band.1),
        domain: measured.map_or(DomainStatus::Outside, |(_, status)| status),
        basis: Basis::Described,
    })
}

/// What the answer is made of.
pub(crate) fn explain(
    point: &Point,
    machine: &Machine,
    prediction: Prediction,
) -> Result<Explanation, PredictError> {
    let term = term(point, machine)?;
    let mut steps: Vec<Step> = Vec::new();
    of_term(&mut steps, &term, point, prediction.time.as_f64());
    Ok(Explanation {
        prediction,
        analytical: prediction.time,
        correction: 1.0,
        neighbours: 1.0,
        correction_kind: "none".to_owned(),
        steps,
        domain: format!("{} (published figures of {})", prediction.domain, machine.device),
        nearest: Vec::new(),
        error: None,
    })
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{
        Direction, Distribution, Dtype, EmbeddingPoint, Hardware, Links, Optimizer,
    };

    use super::*;

    /// A V100 with 16 GB as NVIDIA describes it (V100 datasheet: 900 GB/s; Volta whitepaper:
    /// 80 units, 6144 KiB of second-level cache).
    fn v100() -> Machine {
        Machine {
            name: "v100".to_owned(),
            device: "Tesla V100-SXM2-16GB".to_owned(),
            count: 1,
            links: Links::Unstated,
            software: Default::default(),
            hardware: Hardware {
                units: Some(80),
                memory_gb_s: Some(900.0),
                cache_bytes: Some(6144 << 10),
                ..Hardware::default()
            },
        }
    }

    /// DLRM_default of the reference system: B = 2048, T = 8, E = 1e6, L = 100, D = 64.
    fn dlrm_default(direction: Direction) -> Point {
        Point::Embedding(EmbeddingPoint {
            direction,
            optimizer: Optimizer::Sgd,
            dtype: Dtype::F32,
            tables: 8,
            rows: 1_000_000,
            dim: 64,
            batch: 2048,
            pooling: 100,
            distribution: Distribution::Uniform,
        })
    }

    /// Measured kernels of its recovered trace: 518 us forward and 1268 us backward. The
    /// published heuristics are 7.8 % and 14 % off.
    #[test]
    fn figures_alone_meet_the_measured_kernels_of_the_reference_system() {
        for (direction, measured, tolerance) in
            [(Direction::Forward, 518.0, 0.08), (Direction::Backward, 1268.0, 0.10)]
        {
            let answer = predict(&dlrm_default(direction), &v100(), None).unwrap();
            let error = answer.time.us() / measured - 1.0;
            assert!(error.abs() < tolerance, "{}: {} us", direction.name(), answer.time.us());
            assert!((answer.basis, answer.domain) == (Basis::Described, DomainStatus::Outside));
            assert!(answer.low < answer.time && answer.time < answer.high);
        }
    }

    #[test]
    fn every_part_is_shown_and_a_missing_figure_is_named() {
        let point = dlrm_default(Direction::Backward);
        let answer = predict(&point, &v100(), None).unwrap();
        let explained = explain(&point, &v100(), answer).unwrap();
        let names: Vec<&str> = explained.steps.iter().map(|step| step.name).collect();
        for part in ["launch", "sorting", "updates", "memory", "cache"] {
            assert!(names.contains(&part), "{names:?}");
        }
        let sum: i128 = explained.steps.iter().map(|step| i128::from(step.shift.get())).sum();
        assert_eq!(sum, i128::from(answer.time.get()));
        let mut lacking = v100();
        lacking.hardware.memory_gb_s = None;
        let error = predict(&point, &lacking, None).unwrap_err();
        assert!(error.to_string().contains("memory bandwidth"), "{error}");
    }
}
