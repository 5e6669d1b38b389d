//! The model of one variant: how an answer is put together.
//!
//! `ln t = analytical + correction + residual of the line`, each of which may be absent: at a
//! measured point the measured time is the answer; between measured points of a line the
//! residuals of the two neighbours, interpolated in the logarithm of the axis, are added;
//! outside the domain trees are asked as inside, and any other correction is taken at the nearest
//! point inside and fades, but never so that more work would take less time. Fitting is left to `fit`, storing to `store`.

use kernelgauge_data::point::Parameters;
use kernelgauge_data::{CacheState, Family, Nanos, Point};

use crate::borrow::Borrowed;
use crate::correction::trees::Forest;
use crate::correction::{Correction, Quadratic};
use crate::domain::{Domain, Location};
use crate::held_out::HeldOut;
use crate::interval::{Band, Intervals, OTHER_ALIGNMENT, Region};
use crate::lines::{Known, Lines, Place, Position};
use crate::math::{exp, ln, log2, pow};
use crate::prediction::{Basis, BasisChoice, DomainStatus, Prediction};
use crate::shape::with_parameters;
use crate::terms::{AnalyticalTerm, Features};

/// The correction halves over this many octaves outside the domain.
const FADE_OCTAVES: f64 = 2.0;

/// The model of one variant.
#[derive(Debug, Clone)]
pub(crate) struct VariantModel {
    pub family: Family,
    pub name: String,
    pub cache: CacheState,
    pub domain: Domain,
    pub term: AnalyticalTerm,
    pub correction: Correction,
    /// The regression of the time itself, for comparison.
    pub learned: Option<Quadratic>,
    /// Share of the neighbours' residuals that is added between measured points.
    pub blend: f64,
    /// Whether an answer between two measured points is kept in the range of their times.
    pub confined: bool,
    pub lines: Lines,
    pub intervals: Intervals,
    pub held_out: HeldOut,
    /// What other machines lent, if any did.
    pub borrowed: Option<Borrowed>,
}

/// A question under way.
pub(crate) enum Begun {
    /// Its point was measured.
    Measured(Prediction),
    /// It was not.
    Open(Open),
}

/// Where a question lies whose point was not measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    pub parameters: Parameters,
    pub location: Location,
    /// Its line, if any of it was measured.
    pub place: Option<Place>,
}

/// What an answer is made of, in log time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Estimate {
    pub analytical: f64,
    pub correction: f64,
    pub line: f64,
    pub region: Region,
    pub location: Location,
    pub place: Option<Place>,
}

impl Estimate {
    /// The band that reaches from the answer to what the analytical term says alone.
    fn to_the_term(self) -> Band {
        let analytical = self.analytical - self.log_ns();
        Band(analytical.min(0.0), analytical.max(0.0))
    }

    /// The log time.
    pub(crate) fn log_ns(&self) -> f64 {
        self.analytical + self.correction + self.line
    }
}

impl VariantModel {
    /// The answer to a question whose point has been checked, or where it lies if that is
    /// outside and `extrapolate` does not ask for an answer nevertheless.
    pub(crate) fn predict(
        &self,
        point: &Point,
        basis: BasisChoice,
        extrapolate: bool,
    ) -> Result<Prediction, Location> {
        let begun = match self.begin(point, basis, extrapolate)? {
            Begun::Measured(prediction) => return Ok(prediction),
            Begun::Open(begun) => begun,
        };
        let mut features = Features::new();
        let analytical = self.term.log_ns(point, &mut features);
        let correction = self.correction_at(point, &begun, &mut features);
        Ok(self.finish(point, basis, begun, [analytical, correction]))
    }

    /// Looks for the point among those measured, and where it lies otherwise.
    pub(crate) fn begin(
        &self,
        point: &Point,
        basis: BasisChoice,
        extrapolate: bool,
    ) -> Result<Begun, Location> {
        let parameters = point.parameters();
        let with_line = basis == BasisChoice::Best;
        let place = if with_line { self.lines.find(&parameters) } else { None };
        if let Some(Place { point, position: Position::Exact, .. }) = place {
            return Ok(Begun::Measured(self.measured(point)));
        }
        let location = self.domain.locate(&parameters);
        if location.status == DomainStatus::Outside && !extrapolate {
            return Err(location);
        }
        Ok(Begun::Open(Open { parameters, location, place }))
    }

    /// The answer where nothing was measured, from the logarithms of the analytical term and of
    /// the correction there.
    pub(crate) fn finish(
        &self,
        point: &Point,
        basis: BasisChoice,
        Open { parameters, location, place }: Open,
        logarithms: [f64; 2],
    ) -> Prediction {
        let [analytical, correction] = logarithms;
        let estimate = self.joined(point, &parameters, location, place, [analytical, correction]);
        let estimate = match basis {
            BasisChoice::Best => self.with_points(point, estimate),
            _ => estimate,
        };
        let (log_ns, band, answered) = match basis {
            BasisChoice::Analytical => {
                let band = self.beyond(self.intervals.analytical, &location);
                (estimate.analytical, band, Basis::Analytical)
            }
            BasisChoice::Learned => self.learned_answer(&parameters, &location, &estimate),
            _ => (estimate.log_ns(), self.band_of(point, &estimate), self.basis_of(&estimate)),
        };
        let time = Nanos::saturating(exp(log_ns));
        let low = Nanos::saturating(exp(log_ns + band.0));
        Prediction {
            time,
            low: low.max(self.least_time()).min(time),
            high: Nanos::saturating(exp(log_ns + band.1)),
            domain: location.status,
            basis: answered,
        }
    }

    /// The least time that can be believed: that of a launch, unless less was measured.
    fn least_time(&self) -> Nanos {
        Nanos::saturating(self.term.floor_ns()).min(self.lines.fastest())
    }

    fn measured(&self, point: usize) -> Prediction {
        let time = self.lines.time(point);
        let Band(low, high) = self.intervals.exact;
        let (low, high) = self.lines.range(point).unwrap_or_else(|| {
            let scaled = |by: f64| Nanos::saturating(time.as_f64() * exp(by));
            (scaled(low), scaled(high))
        });
        Prediction { time, low, high, domain: DomainStatus::Inside, basis: Basis::Measured }
    }

    /// The regression of the time itself; where there is none, the term.
    fn learned_answer(
        &self,
        parameters: &Parameters,
        location: &Location,
        estimate: &Estimate,
    ) -> (f64, Band, Basis) {
        let band = self.beyond(self.intervals.learned, location);
        match &self.learned {
            Some(learned) => (learned.predict(parameters), band, Basis::Learned),
            None => (estimate.analytical, band, Basis::Analytical),
        }
    }

    /// A band of the inside, widened as the hybrid's is outside.
    fn beyond(&self, inside: Band, location: &Location) -> Band {
        match location.status {
            DomainStatus::Inside => inside,
            DomainStatus::Near => inside.joined(self.intervals.near),
            DomainStatus::Outside => {
                inside.joined(self.intervals.near).scaled(1.0 + location.octaves / 2.0)
            }
        }
    }

    fn basis_of(&self, estimate: &Estimate) -> Basis {
        match (estimate.region, estimate.line != 0.0) {
            (Region::Near { .. } | Region::Outside { .. }, _) => Basis::Extrapolated,
            (Region::Borrowed, _) => Basis::Borrowed,
            (Region::Known { .. }, true) => Basis::Interpolated,
            // Between the curves of measured rank counts.
            (Region::Unseen { .. }, true) if self.family == Family::Collective => {
                Basis::Interpolated
            }
            _ if self.correction == Correction::None => Basis::Analytical,
            _ => Basis::Hybrid,
        }
    }

    /// The band of an estimate; an answer that leaves a known line out has that of unseen ones.
    fn band_of(&self, point: &Point, estimate: &Estimate) -> Band {
        if let (Region::Borrowed, Some(borrowed)) = (estimate.region, &self.borrowed) {
            return borrowed.band;
        }
        let band = self.intervals.band(estimate.region, estimate.log_ns());
        if matches!(estimate.region, Region::Near { .. } | Region::Outside { .. }) {
            // Where nothing was measured, what the correction changes is a guess as well: the
            // analytical term may be right.
            return band.joined(estimate.to_the_term());
        }
        let (Region::Known { fresh: true, .. } | Region::Unseen { fresh: true }) = estimate.region
        else {
            return band;
        };
        match (&self.term, point) {
            // Sequences were measured in powers of two; between them trees step with waves of
            // blocks as nobody has seen, and the term may be right.
            (AnalyticalTerm::Attention(_), _) => band.joined(estimate.to_the_term()),
            (AnalyticalTerm::Gemm(_), Point::Gemm(gemm)) if !self.lines.has_alignment(gemm.m) => {
                let place = gemm.dtype.size().saturating_sub(1) as usize;
                OTHER_ALIGNMENT.get(place).map_or(band, |other| band.joined(*other))
            }
            _ => band,
        }
    }

    /// What other machines say of a point, where the machine's own rows do not.
    fn lent(&self, parameters: &Parameters) -> Option<&Borrowed> {
        self.borrowed.as_ref().filter(|borrowed| borrowed.speaks_for(parameters))
    }

    /// The correction that speaks for a point within the domain.
    pub(crate) fn correction_of(&self, parameters: &Parameters) -> &Correction {
        self.lent(parameters).map_or(&self.correction, |borrowed| &borrowed.correction)
    }

    /// Puts an answer together. `place` adds what is known of the line that the question lies on;
    /// a term that keeps points itself, what these say.
    pub(crate) fn estimate(
        &self,
        point: &Point,
        parameters: &Parameters,
        location: Location,
        place: Option<Place>,
    ) -> Estimate {
        self.with_points(point, self.estimate_without_points(point, parameters, location, place))
    }

    /// An estimate with what a term that keeps points itself knows from them.
    fn with_points(&self, point: &Point, mut estimate: Estimate) -> Estimate {
        let Some(empirical) = self.term.empirical(point) else { return estimate };
        estimate.line = empirical.log_ns - estimate.analytical - estimate.correction;
        if let (Region::Known { fresh, .. }, Some(gap)) = (estimate.region, empirical.gap) {
            estimate.region = Region::Known { gap, fresh };
        }
        estimate
    }

    /// The same of term, correction and line alone.
    pub(crate) fn estimate_without_points(
        &self,
        point: &Point,
        parameters: &Parameters,
        location: Location,
        place: Option<Place>,
    ) -> Estimate {
        let mut features = Features::new();
        let analytical = self.term.log_ns(point, &mut features);
        let open = Open { parameters: *parameters, location, place };
        let correction = self.correction_at(point, &open, &mut features);
        self.joined(point, parameters, location, place, [analytical, correction])
    }

    /// The correction at a point with these features, which are others' afterwards.
    fn correction_at(&self, point: &Point, open: &Open, features: &mut Features) -> f64 {
        match open.location.status {
            DomainStatus::Inside => {
                self.correction_of(&open.parameters).log_ratio(features, &open.parameters)
            }
            _ => self.beyond_domain(point, &open.location, features),
        }
    }

    /// The forest whose answer at the point's own features is the correction there, if it is one.
    pub(crate) fn forest_at(&self, open: &Open) -> Option<&Forest> {
        match self.correction_of(&open.location.clamped) {
            Correction::Trees(forest) => Some(forest),
            _ => None,
        }
    }

    /// What the logarithms of term and correction and the line of the point make together.
    fn joined(
        &self,
        point: &Point,
        parameters: &Parameters,
        location: Location,
        place: Option<Place>,
        [analytical, correction]: [f64; 2],
    ) -> Estimate {
        let mut estimate = Estimate {
            analytical,
            correction,
            line: 0.0,
            region: Region::Unseen { fresh: false },
            location,
            place: None,
        };
        if location.status != DomainStatus::Inside {
            estimate.region = match location.status {
                DomainStatus::Near => Region::Near { octaves: location.octaves },
                _ => Region::Outside { octaves: location.octaves },
            };
            return estimate;
        }
        if self.lent(parameters).is_some() {
            estimate.region = Region::Borrowed;
            return estimate;
        }
        let fresh = !self.lines.has_axis_value(parameters[self.lines.axis()]);
        estimate.region = Region::Unseen { fresh };
        let Some(place) = place else { return estimate };
        let known = self.known_of(point, place.line);
        let found = place.point - self.lines.span(place.line).start;
        estimate.place = Some(place);
        estimate.line =
            self.blend * self.line_residual(parameters, &known[found..], place.position);
        if let (Position::Between, [low, high, ..]) = (place.position, &known[found..]) {
            if self.confined {
                let (least, most) = around(low.log_ns, high.log_ns);
                let confined = estimate.log_ns().clamp(least, most);
                estimate.line += confined - estimate.log_ns();
            }
            estimate.region = Region::Known { gap: high.octave - low.octave, fresh };
        }
        estimate
    }

    /// Log times between which an answer is kept that lies between two measured points.
    pub(crate) fn between_neighbours(&self, place: &Place) -> (f64, f64) {
        let [a, b] = [place.point, place.point + 1].map(|i| ln(self.lines.time(i).as_f64()));
        around(a, b)
    }

    /// The correction outside the domain. Trees are asked at the point itself, whose `features`
    /// these are: the shares and ratios among them mean the same there, and a size beyond the
    /// last threshold is as good as the largest. A polynomial runs away: it is taken at the
    /// nearest point inside and fades, except where fading would let time fall as work grows.
    fn beyond_domain(&self, point: &Point, location: &Location, features: &mut Features) -> f64 {
        let correction = self.correction_of(&location.clamped);
        if matches!(correction, Correction::Trees(_)) {
            return correction.log_ratio(features, &location.clamped);
        }
        let nearest = with_parameters(point, &location.clamped);
        self.term.log_ns(&nearest, features);
        let held = correction.log_ratio(features, &location.clamped);
        let would_fall = (location.above && held > 0.0) || (location.below && held < 0.0);
        if would_fall { held } else { held * pow(0.5, location.octaves / FADE_OCTAVES) }
    }

    /// What the measured points of the question's line exceed the model's answer by, there.
    /// `known` begins with the point found.
    fn line_residual(&self, parameters: &Parameters, known: &[Known], position: Position) -> f64 {
        let at = |known: &Known| f64::from(known.residual);
        let octave = || log2(parameters[self.lines.axis()].max(1) as f64);
        match (position, known) {
            (Position::Exact, [found, ..]) => at(found),
            (Position::Between, [low, high, ..]) => {
                let weight = (octave() - low.octave) / (high.octave - low.octave);
                (1.0 - weight) * at(low) + weight * at(high)
            }
            (Position::Before | Position::After, [found, ..]) => {
                let distance = (octave() - found.octave).abs();
                at(found) * pow(0.5, distance)
            }
            _ => 0.0,
        }
    }

    /// What is known of the measured points of a line, computed once.
    fn known_of(&self, point: &Point, line: usize) -> &[Known] {
        self.lines.known(line, || {
            let mut features = Features::new();
            self.lines
                .span(line)
                .map(|index| {
                    let parameters = self.lines.parameters(line, index);
                    let measured = with_parameters(point, &parameters);
                    let analytical = self.term.log_ns(&measured, &mut features);
                    let correction = self.correction.log_ratio(&features, &parameters);
                    let log_ns = ln(self.lines.time(index).as_f64());
                    let residual = (log_ns - analytical - correction) as f32;
                    Known { residual, log_ns, octave: self.lines.octave(index) }
                })
                .collect()
        })
    }
}

/// The range of two log times and 2 % beyond.
fn around(a: f64, b: f64) -> (f64, f64) {
    const BEYOND: f64 = 0.02;
    (a.min(b) - BEYOND, a.max(b) + BEYOND)
}
