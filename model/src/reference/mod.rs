//! Published models beside ours, for comparison.
//!
//! The reference system is `owensgroup/ml_perf_model` (Lin et al., HiPC 2022 and TPDS 2025). Its
//! curve for collectives ([`sigmoid`]), its embedding heuristics ([`embedding`]) and its roofline
//! table ([`roofline`]) are here as functions of their parameters; [`published`] holds the
//! parameters its authors measured. For a machine they did not measure, the parameters follow
//! their rules: from the published figures of the device, or fitted to its measured points.

pub mod embedding;
pub mod published;
pub mod roofline;
pub mod sigmoid;

use kernelgauge_data::point::Distribution;
use kernelgauge_data::{CollectivePoint, Machine, Nanos, Point};

use crate::error::PredictError;
use crate::interval::Band;
use crate::math::{exp, ln};
use crate::prediction::{Basis, DomainStatus, Prediction, ReferenceModel};
use crate::shape::with_parameters;
use crate::variant::VariantModel;
use published::Device;
use sigmoid::Sigmoid;

/// The answer of a published model, with the interval its errors on the measured points of the
/// variant have.
pub(crate) fn predict(
    reference: ReferenceModel,
    point: &Point,
    machine: &Machine,
    model: &VariantModel,
    domain: DomainStatus,
) -> Result<Prediction, PredictError> {
    let refuse = |reason: String| PredictError::NoReference { reference, reason };
    let device = Device::of(machine);
    let (answer, residuals) = match (reference, point) {
        (ReferenceModel::Sigmoid, Point::Collective(collective)) => {
            let curve = curve_of(collective, machine, model).map_err(refuse)?;
            let residuals = residuals(model, point, |point| match point {
                Point::Collective(other) if other.ranks == collective.ranks => {
                    Some(curve.time_us(other.bytes as f64))
                }
                _ => None,
            });
            (curve.time_us(collective.bytes as f64), residuals)
        }
        (ReferenceModel::Sigmoid, _) => {
            return Err(refuse("the curve is one of collectives".to_owned()));
        }
        _ => {
            let time = |point: &Point| formula_us(reference, point, &device);
            (time(point).map_err(refuse)?, residuals(model, point, |point| time(point).ok()))
        }
    };
    let band = Band::of(residuals).unwrap_or(Band(-1.0, 1.0));
    let log_ns = ln(answer * 1e3);
    let at = |by: f64| Nanos::saturating(exp(log_ns + by));
    Ok(Prediction {
        time: at(0.0),
        low: at(band.0),
        high: at(band.1),
        domain,
        basis: Basis::Reference,
    })
}

/// What a formula says, or what it lacks.
fn formula_us(
    reference: ReferenceModel,
    point: &Point,
    device: &Result<Device, String>,
) -> Result<f64, String> {
    let device = device.as_ref().map_err(Clone::clone)?;
    match (reference, point) {
        (ReferenceModel::Roofline, _) => roofline::time_us(point, device),
        (_, Point::Embedding(bag)) if bag.distribution == Distribution::Uniform => {
            Ok(match reference {
                ReferenceModel::EmbeddingPlain => embedding::plain_us(bag, device),
                _ => embedding::cache_us(bag, device),
            })
        }
        (_, Point::Embedding(_)) => Err("the heuristic takes indices to be uniform".to_owned()),
        _ => Err("the heuristic is one of embedding bags".to_owned()),
    }
}

/// The published curve where there is one, else one fitted to the points of these ranks.
fn curve_of(
    point: &CollectivePoint,
    machine: &Machine,
    model: &VariantModel,
) -> Result<Sigmoid, String> {
    if let Some(curve) = published::of_machine(machine, point) {
        return Ok(curve);
    }
    let lines = &model.lines;
    let line = (0..lines.count())
        .find(|line| lines.key(*line) == [point.ranks, point.nodes])
        .ok_or_else(|| format!("no points of {} ranks to fit its curve to", point.ranks))?;
    let points: Vec<(f64, f64)> = lines
        .span(line)
        .map(|index| (lines.axis_value(index) as f64, lines.time(index).us()))
        .collect();
    Sigmoid::fit(&points, point.collective.bus_factor(point.ranks))
        .ok_or_else(|| format!("{} points are too few for its curve", points.len()))
}

/// What the measured points exceed a formula by, in log time.
pub(crate) fn residuals(
    model: &VariantModel,
    point: &Point,
    time_us: impl Fn(&Point) -> Option<f64>,
) -> Vec<f64> {
    /// Enough for quantiles.
    const MOST: usize = 2000;
    let lines = &model.lines;
    let stride = lines.points().div_ceil(MOST).max(1);
    (0..lines.count())
        .flat_map(|line| lines.span(line).map(move |index| (line, index)))
        .step_by(stride)
        .filter_map(|(line, index)| {
            let measured = with_parameters(point, &lines.parameters(line, index));
            let predicted = time_us(&measured).filter(|time| *time > 0.0)?;
            Some(ln(lines.time(index).us() / predicted))
        })
        .filter(|residual| residual.is_finite())
        .collect()
}
