//! How an answer came about, for `--explain`.

use kernelgauge_data::{Nanos, Point, Shift};

use crate::correction::Correction;
use crate::domain::shown_value;
use crate::held_out::RegionError;
use crate::interval::Region;
use crate::lines::Position;
use crate::math::{exp, log2};
use crate::prediction::{Basis, BasisChoice, DomainStatus, Prediction};
use crate::shape::with_parameters;
use crate::terms::AnalyticalTerm;
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
    /// Every step from nothing to the answer, in order: their sum is the answer.
    pub steps: Vec<Step>,
    /// Where the point lies, in words: `inside (m between 256 and 512 at this line)`.
    pub domain: String,
    /// Measured points nearest to it, the nearest first.
    pub nearest: Vec<(Point, Nanos)>,
    /// Which held-out points resemble this one, and the errors on them.
    pub error: Option<(&'static str, RegionError)>,
}

/// One step on the way to an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// `launch`, `memory`, `overlapped`, `learned correction`, `measured neighbours`.
    pub name: &'static str,
    /// What it is made of, in words.
    pub detail: Option<String>,
    /// The factor on what stood before, of steps that are one; none for those that add.
    pub factor: Option<f64>,
    /// How it moves the time.
    pub shift: Shift,
}

/// Explains the answer that `model` gave when asked for `choice`.
pub(crate) fn explain(
    model: &VariantModel,
    point: &Point,
    choice: BasisChoice,
    prediction: Prediction,
) -> Explanation {
    let parameters = point.parameters();
    let location = model.domain.locate(&parameters);
    let line = (choice == BasisChoice::Best).then(|| model.lines.find(&parameters)).flatten();
    let estimate = if choice == BasisChoice::Best {
        model.estimate(point, &parameters, location, line)
    } else {
        model.estimate_without_points(point, &parameters, location, line)
    };
    Explanation {
        prediction,
        analytical: Nanos::saturating(exp(estimate.analytical)),
        correction: exp(estimate.correction),
        neighbours: exp(estimate.line),
        correction_kind: model.correction_of(&parameters).describe(),
        steps: steps(model, point, choice, &estimate, &prediction),
        domain: domain_text(model, point, &estimate),
        nearest: nearest(model, point, &estimate),
        error: error_of(model, &estimate),
    }
}

/// Steps under way: each is the difference of two rounded times, so that nothing is lost.
#[derive(Default)]
struct Walk {
    at: Nanos,
    steps: Vec<Step>,
}

impl Walk {
    fn to(&mut self, name: &'static str, detail: Option<String>, factor: Option<f64>, time: Nanos) {
        let shift = Shift::between(self.at, time);
        self.steps.push(Step { name, detail, factor, shift });
        self.at = time;
    }
}

fn steps(
    model: &VariantModel,
    point: &Point,
    choice: BasisChoice,
    estimate: &Estimate,
    prediction: &Prediction,
) -> Vec<Step> {
    let mut walk = Walk::default();
    match prediction.basis {
        Basis::Learned => walk.to("learned regression", None, None, prediction.time),
        Basis::Reference => walk.to("published model", None, None, prediction.time),
        _ => {
            walk_the_term(&mut walk, &model.term, point, exp(estimate.analytical));
            if matches!(choice, BasisChoice::Best | BasisChoice::Hybrid) {
                walk_the_rest(&mut walk, model, point, estimate);
            }
        }
    }
    if prediction.basis == Basis::Measured {
        walk.to("replaced by the measurement", None, None, prediction.time);
    } else if walk.at != prediction.time {
        walk.to("rounded", None, None, prediction.time);
    }
    walk.steps
}

/// The parts of `term` alone, as steps that end at `total` nanoseconds.
pub(crate) fn of_term(steps: &mut Vec<Step>, term: &AnalyticalTerm, point: &Point, total: f64) {
    let mut walk = Walk::default();
    walk_the_term(&mut walk, term, point, total);
    steps.append(&mut walk.steps);
}

fn walk_the_term(walk: &mut Walk, term: &AnalyticalTerm, point: &Point, total: f64) {
    let parts = term.parts(point);
    let last = parts.len().saturating_sub(1);
    let mut sum = 0.0;
    for (index, part) in parts.into_iter().enumerate() {
        sum += part.nanos;
        // The last ends at the time itself, free of what summing up rounds.
        let reached = if index == last { total } else { sum };
        walk.to(part.name, part.detail, None, Nanos::saturating(reached));
    }
}

fn walk_the_rest(walk: &mut Walk, model: &VariantModel, point: &Point, estimate: &Estimate) {
    if estimate.correction != 0.0 {
        let inside = estimate.location.status == DomainStatus::Inside;
        let faded = !inside && !matches!(model.correction, Correction::Trees(_));
        let detail = faded.then(|| "of the nearest point inside, faded".to_owned());
        let time = exp(estimate.analytical + estimate.correction);
        let factor = Some(exp(estimate.correction));
        walk.to("learned correction", detail, factor, Nanos::saturating(time));
    }
    if estimate.line != 0.0 {
        let time = Nanos::saturating(exp(estimate.log_ns()));
        walk.to("measured neighbours", model.term.account(point), Some(exp(estimate.line)), time);
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
        None => measured_text(model, estimate),
    };
    format!("{status} ({detail})")
}

/// Where the variant was measured, and by whom.
fn measured_text(model: &VariantModel, estimate: &Estimate) -> String {
    let lent = model.borrowed.as_ref().filter(|_| estimate.region == Region::Borrowed);
    let Some(borrowed) = lent else {
        return format!("measured: {}", model.domain.text(model.family));
    };
    let own = borrowed.own.as_ref().map_or("too little".to_owned(), |own| own.text(model.family));
    format!("borrowed from {}; own measurements: {own}", borrowed.from.join(", "))
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
    let lent = model.borrowed.as_ref().map(|borrowed| (borrowed.own.is_some(), borrowed.error));
    let (name, error) = match estimate.region {
        Region::Known { fresh: true, .. } if held_out.fresh.is_some() => {
            ("points of measured lines, at values never measured", held_out.fresh)
        }
        Region::Known { .. } => ("points of measured lines", held_out.known),
        Region::Borrowed => match lent? {
            (true, error) => ("sizes that only others measured", error),
            (false, error) => ("each lender from the others", error),
        },
        Region::Unseen { .. } => ("lines never measured", held_out.unseen),
        Region::Near { .. } | Region::Outside { .. } => {
            ("two octaves beyond the rest", held_out.near)
        }
    };
    error.map(|error| (name, error))
}
