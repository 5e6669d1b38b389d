//! How an answer came about, for `--explain`.

use kernelgauge_data::{Nanos, Point};

use crate::domain::shown_value;
use crate::held_out::RegionError;
use crate::interval::Region;
use crate::lines::Position;
use crate::math::{exp, log2};
use crate::prediction::Prediction;
use crate::shape::with_parameters;
use crate::terms::ExplainedTerm;
use crate::variant::{Estimate, VariantModel};

/// An answer and what it is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The answer.
    pub prediction: Prediction,
    /// What the analytical term alone says.
    pub analytical: Nanos,
    /// The factor of the learned correction.
    pub correction: f64,
    /// The factor that measured neighbours on the same line add.
    pub neighbours: f64,
    /// What the correction is, in words.
    pub correction_kind: String,
    /// Parts of the analytical term.
    pub terms: Vec<ExplainedTerm>,
    /// Where the point lies, in words: `inside (m between 256 and 512 at this line)`.
    pub domain: String,
    /// Measured points nearest to it, the nearest first.
    pub nearest: Vec<(Point, Nanos)>,
    /// Which held-out points resemble this one, and the errors on them.
    pub error: Option<(&'static str, RegionError)>,
}

/// Explains a prediction of `model`.
pub(crate) fn explain(model: &VariantModel, point: &Point, prediction: Prediction) -> Explanation {
    let parameters = point.parameters();
    let location = model.domain.locate(&parameters);
    let estimate = model.estimate(point, &parameters, location, model.lines.find(&parameters));
    Explanation {
        prediction,
        analytical: Nanos::saturating(exp(estimate.analytical)),
        correction: exp(estimate.correction),
        neighbours: exp(estimate.line),
        correction_kind: model.correction.describe(),
        terms: model.term.parts(point),
        domain: domain_text(model, point, &estimate),
        nearest: nearest(model, point, &estimate),
        error: error_of(model, &estimate),
    }
}

fn domain_text(model: &VariantModel, point: &Point, estimate: &Estimate) -> String {
    let status = estimate.location.status;
    let names = point.parameter_names();
    let axis = names.get(model.lines.axis()).copied().unwrap_or("");
    let value = |index: usize| shown_value(model.family, axis, model.lines.axis_value(index));
    let detail = match estimate.place {
        Some(place) => match place.position {
            Position::Exact => "a measured point".to_owned(),
            Position::Between => format!(
                "{axis} between {} and {} on a measured line",
                value(place.point),
                value(place.point + 1)
            ),
            Position::Before => format!("{axis} below {} on a measured line", value(place.point)),
            Position::After => format!("{axis} above {} on a measured line", value(place.point)),
        },
        None => format!("measured: {}", model.domain.text(model.family)),
    };
    format!("{status} ({detail})")
}

/// The neighbours on the same line; else the nearest points by distance in octaves.
fn nearest(model: &VariantModel, point: &Point, estimate: &Estimate) -> Vec<(Point, Nanos)> {
    let lines = &model.lines;
    let at = |line: usize, index: usize| {
        (with_parameters(point, &lines.parameters(line, index)), lines.time(index))
    };
    if let Some(place) = estimate.place {
        let mut found = vec![at(place.line, place.point)];
        if place.position == Position::Between {
            found.push(at(place.line, place.point + 1));
        }
        return found;
    }
    let wanted = point.parameters();
    let distance = |line: usize, index: usize| {
        let have = lines.parameters(line, index);
        let octaves = have.iter().zip(wanted.iter()).map(|(have, wanted)| {
            (log2((*have).max(1) as f64) - log2((*wanted).max(1) as f64)).abs()
        });
        octaves.sum::<f64>()
    };
    let mut best: Vec<(f64, usize, usize)> = (0..lines.count())
        .flat_map(|line| lines.span(line).map(move |index| (line, index)))
        .map(|(line, index)| (distance(line, index), line, index))
        .collect();
    best.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    best.into_iter().take(2).map(|(_, line, index)| at(line, index)).collect()
}

fn error_of(model: &VariantModel, estimate: &Estimate) -> Option<(&'static str, RegionError)> {
    let held_out = &model.held_out;
    let (name, error) = match estimate.region {
        Region::Known { fresh: true, .. } if held_out.fresh.is_some() => {
            ("points of measured lines, at values never measured", held_out.fresh)
        }
        Region::Known { .. } => ("points of measured lines", held_out.known),
        Region::Unseen => ("lines never measured", held_out.unseen),
        Region::Near | Region::Outside { .. } => ("two octaves beyond the rest", held_out.near),
    };
    error.map(|error| (name, error))
}
