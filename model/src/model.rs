//! A model: what was fitted for one machine, and the answers it gives.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use kernelgauge_data::{
    CacheState, CustomPoint, DataSet, Family, GemmLayout, GemmPoint, Machine, Origin, Point,
    nearest,
};
use rayon::prelude::*;
use serde_json::value::RawValue;

use crate::borrow::LenderName;
use crate::described;
use crate::domain::{Beyond, Location, Never};
use crate::error::PredictError;
use crate::explain::{Explanation, explain};
use crate::fit::{
    Detail, FitError, FitOptions, Kin, NO_LOAD_SIGNAL, VariantTask, fit_variant, groups,
};
use crate::held_out::HeldOut;
use crate::prediction::{Basis, BasisChoice, DomainStatus, Prediction, Query};
use crate::reference;
use crate::store::{self, StoreError};
use crate::uneven;
use crate::variant::VariantModel;

/// What was fitted on one data set.
#[derive(Debug)]
pub struct Model {
    pub(crate) header: Header,
    pub(crate) sections: Vec<Section>,
}

/// What a model says of itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Header {
    pub tool_version: String,
    pub machine: Machine,
    pub origin: Origin,
    pub data_sha256: String,
    pub seed: u64,
    pub detail: Detail,
    pub insufficient: Vec<Insufficient>,
    pub lenders: Vec<LenderName>,
}

/// A variant that has measurements, but not enough for a model.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Insufficient {
    /// Its family.
    pub family: Family,
    /// Its name.
    pub variant: String,
    /// The state of its operands.
    pub cache: CacheState,
    /// What is lacking.
    pub reason: String,
}

impl Insufficient {
    /// What would make a model of it.
    pub fn remedy(&self) -> &'static str {
        remedy(&self.reason)
    }
}

/// `gemm bf16: 3 points; at least 4 are needed`
impl fmt::Display for Insufficient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.family, self.variant, self.reason)
    }
}

/// What helps against `reason`.
pub(crate) fn remedy(reason: &str) -> &'static str {
    if reason.starts_with(NO_LOAD_SIGNAL) {
        return "measure larger sizes, up to where the time grows with the work; as long as the \
                launch is all that takes time, more points say nothing";
    }
    "measure at least four points per variant (two of a collective at one rank count), over two octaves of work or more"
}

/// A variant's model: fitted here, or still as text until a question needs it.
#[derive(Debug)]
pub(crate) struct Section {
    pub family: Family,
    pub name: String,
    pub cache: CacheState,
    pub text: Option<Box<RawValue>>,
    pub model: OnceLock<Result<Box<VariantModel>, StoreError>>,
}

/// The errors of one variant on points that were held out of its fit.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantError {
    /// Its family.
    pub family: Family,
    /// Its name.
    pub variant: String,
    /// The state of its operands.
    pub cache: CacheState,
    /// Measured points it was fitted on.
    pub points: usize,
    /// Errors by region.
    pub held_out: HeldOut,
    /// Where it was measured, in words.
    pub domain: String,
    /// The correction that was chosen, in words.
    pub correction: String,
}

impl Section {
    pub(crate) fn fitted(model: VariantModel) -> Self {
        Section {
            family: model.family,
            name: model.name.clone(),
            cache: model.cache,
            text: None,
            model: OnceLock::from(Ok(Box::new(model))),
        }
    }

    /// The model, read at the first call.
    pub(crate) fn get(&self) -> Result<&VariantModel, StoreError> {
        let read = || match &self.text {
            Some(text) => store::read_section(self, text.get()).map(Box::new),
            None => Err(StoreError::damaged(&self.label(), "has no model")),
        };
        match self.model.get_or_init(read) {
            Ok(model) => Ok(model),
            Err(error) => Err(error.clone()),
        }
    }

    /// `gemm bf16`, for messages.
    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.family, self.name)
    }
}

impl Model {
    /// Fits every variant of `data` that has enough points.
    ///
    /// # Errors
    /// When no variant has.
    pub fn fit(data: &DataSet, options: &FitOptions) -> Result<Model, FitError> {
        let machine = &data.manifest.machine;
        let groups = groups(&data.records);
        if groups.is_empty() {
            return Err(FitError::NoRecords { machine: machine.name.clone() });
        }
        let fitted: Vec<Result<VariantModel, Insufficient>> = groups
            .par_iter()
            .map(|group| {
                if let Some(reason) = group.insufficient() {
                    return Err(group.lacking(reason));
                }
                let kin = Kin::of(group, &groups, machine);
                let (seed, detail) = (options.seed, options.detail);
                let task = VariantTask::of(group, machine, &kin, seed, detail);
                Ok(fit_variant(&task, &group.rows))
            })
            .collect();
        let nothing = FitError::NoRecords { machine: machine.name.clone() };
        Model::assembled(data, options, fitted, nothing)
    }

    /// The model of all variants fitted; where there is none, the first that lacks something is
    /// the error, or `nothing` where none was tried.
    pub(crate) fn assembled(
        data: &DataSet,
        options: &FitOptions,
        fitted: Vec<Result<VariantModel, Insufficient>>,
        nothing: FitError,
    ) -> Result<Model, FitError> {
        let machine = &data.manifest.machine;
        let (mut sections, mut insufficient) = (Vec::new(), Vec::new());
        for variant in fitted {
            match variant {
                Ok(model) => sections.push(Section::fitted(model)),
                Err(lacking) => insufficient.push(lacking),
            }
        }
        if sections.is_empty() {
            let machine = machine.name.clone();
            let first = insufficient.into_iter().next();
            return Err(first.map_or(nothing, |first| FitError::Insufficient { machine, first }));
        }
        let header = Header {
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            machine: machine.clone(),
            origin: data.manifest.origin,
            data_sha256: data.digest(),
            seed: options.seed,
            detail: options.detail,
            insufficient,
            lenders: Vec::new(),
        };
        Ok(Model { header, sections })
    }

    /// The machine the model speaks for.
    pub fn machine(&self) -> &Machine {
        &self.header.machine
    }

    /// Where the measurements behind it come from.
    pub fn origin(&self) -> Origin {
        self.header.origin
    }

    /// Digest of the data set it was fitted on.
    pub fn data_sha256(&self) -> &str {
        &self.header.data_sha256
    }

    /// Version of the tool that fitted it.
    pub fn tool_version(&self) -> &str {
        &self.header.tool_version
    }

    /// Seed of the fit.
    pub fn seed(&self) -> u64 {
        self.header.seed
    }

    /// How finely its corrections were learned.
    pub fn detail(&self) -> Detail {
        self.header.detail
    }

    /// Variants that have measurements, but not enough for a model.
    pub fn insufficient(&self) -> &[Insufficient] {
        &self.header.insufficient
    }

    /// Families it has a model for.
    pub fn families(&self) -> Vec<Family> {
        let mut families: Vec<Family> =
            self.sections.iter().map(|section| section.family).collect();
        families.sort_unstable();
        families.dedup();
        families
    }

    /// Variants of a family it has a model for, cache states folded.
    pub fn variants(&self, family: Family) -> Vec<String> {
        let of_family = self.sections.iter().filter(|section| section.family == family);
        let mut names: Vec<String> = of_family.map(|section| section.name.clone()).collect();
        names.dedup();
        names
    }

    /// Whether it has a model for a variant.
    pub fn has_variant(&self, family: Family, variant: &str) -> bool {
        self.sections.iter().any(|section| section.family == family && section.name == variant)
    }

    /// Names of the parameters a variant was measured over; none where it has no such variant,
    /// or a damaged one.
    pub fn parameter_names(&self, family: Family, variant: &str) -> Option<Vec<String>> {
        let mut sections = self.sections.iter();
        let section = sections.find(|each| each.family == family && each.name == variant)?;
        Some(section.get().ok()?.domain.names().map(str::to_owned).collect())
    }

    /// The errors of every variant on held-out points.
    ///
    /// # Errors
    /// The first section of a model file that is damaged.
    pub fn errors(&self) -> Result<Vec<VariantError>, StoreError> {
        self.sections
            .iter()
            .map(|section| {
                let model = section.get()?;
                Ok(VariantError {
                    family: section.family,
                    variant: section.name.clone(),
                    cache: section.cache,
                    points: model.lines.points(),
                    held_out: model.held_out,
                    domain: model.domain.text(section.family),
                    correction: model.correction.describe(),
                })
            })
            .collect()
    }

    /// Answers a question.
    ///
    /// # Errors
    /// When the point cannot be one, the machine has nothing of its kind, or it lies outside
    /// what was measured and the question does not ask to extrapolate.
    pub fn predict(&self, query: &Query<'_>) -> Result<Prediction, PredictError> {
        query.point.check()?;
        let model = match self.variant(query.point, query.cache) {
            Ok(model) => model,
            // Published figures know of no measurement, so that none need be there.
            Err(_) if query.basis == BasisChoice::Described && query.extrapolate => {
                return described::predict(query.point, &self.header.machine, None);
            }
            Err(error) => return Err(error),
        };
        let arranged = arranged(query.point, model)?;
        let prediction = self.answer(model, &Query { point: &arranged, ..*query })?;
        Ok(self.uneven(model, &arranged, query, prediction))
    }

    /// An answer of another imbalance than was measured: no measurement, and no slower than that
    /// of the busiest rank, but maybe as fast as without any imbalance.
    fn uneven(
        &self,
        model: &VariantModel,
        arranged: &Point,
        query: &Query<'_>,
        mut prediction: Prediction,
    ) -> Prediction {
        if arranged == query.point || model.family != Family::Collective {
            return prediction;
        }
        if prediction.basis == Basis::Measured {
            prediction.basis = Basis::Interpolated;
        }
        let even = uneven::evened(query.point);
        let even = even.and_then(|even| uneven::as_variant(&even, &model.name)).and_then(|even| {
            self.answer(model, &Query { point: &even, extrapolate: true, ..*query }).ok()
        });
        prediction.low = even.map_or(prediction.low, |even| even.low.min(prediction.low));
        prediction
    }

    /// Answers a question whose point `model` speaks for, parameters in its order.
    fn answer(&self, model: &VariantModel, query: &Query<'_>) -> Result<Prediction, PredictError> {
        if matches!(query.basis, BasisChoice::Reference(_) | BasisChoice::Described) {
            let location = model.domain.locate(&query.point.parameters());
            if location.status == DomainStatus::Outside && !query.extrapolate {
                return Err(self.outside(query.point, model, &location));
            }
            self.not_never(query.point, model, &location)?;
            let (machine, status) = (&self.header.machine, location.status);
            return match query.basis {
                BasisChoice::Reference(name) => {
                    reference::predict(name, query.point, machine, model, status)
                }
                _ => described::predict(query.point, machine, Some((model, status))),
            };
        }
        let answer = model
            .predict(query.point, query.basis, query.extrapolate)
            .map_err(|location| self.outside(query.point, model, &location))?;
        // Ranks may be more than there are devices within the measured range too.
        let suspect = answer.domain == DomainStatus::Outside || model.family == Family::Collective;
        if suspect && answer.basis != Basis::Measured {
            let location = model.domain.locate(&query.point.parameters());
            self.not_never(query.point, model, &location)?;
        }
        Ok(answer)
    }

    /// Refuses where not even `--extrapolate` gets an answer.
    pub(crate) fn not_never(
        &self,
        point: &Point,
        model: &VariantModel,
        location: &Location,
    ) -> Result<(), PredictError> {
        match self.never(point, model, location) {
            Some(_) => Err(self.outside(point, model, location)),
            None => Ok(()),
        }
    }

    /// Why there is no answer at all, and the parameter it is about.
    fn never(
        &self,
        point: &Point,
        model: &VariantModel,
        location: &Location,
    ) -> Option<(Never, usize)> {
        if let Point::Collective(asked) = point
            && let Some((nodes, fewest, most)) = model.domain.range("nodes")
        {
            if !(fewest..=most).contains(&asked.nodes) {
                return Some((Never::Nodes { measured: (fewest, most) }, nodes));
            }
            let (ranks, per_node) = self.devices_per_node(model, fewest == most)?;
            if asked.ranks > per_node.saturating_mul(asked.nodes) {
                return Some((Never::Devices { per_node, nodes: most }, ranks));
            }
        }
        if location.status == DomainStatus::Inside {
            return None;
        }
        if model.family == Family::Custom
            && let Some(fixed) = model.domain.refixed(&point.parameters())
        {
            return Some((Never::Fixed { domain: model.domain.text(model.family) }, fixed));
        }
        location.too_far.then_some((Never::TooFar, location.furthest))
    }

    /// Where ranks stand among the parameters, and how many devices a node has: as stated, and
    /// at least as many as were measured where that tells.
    fn devices_per_node(&self, model: &VariantModel, same_nodes: bool) -> Option<(usize, u64)> {
        let (ranks, _, most) = model.domain.range("ranks")?;
        let stated = u64::from(self.header.machine.count);
        let nodes = model.domain.range("nodes").map_or(1, |(_, fewest, _)| fewest.max(1));
        // A count of one is what nobody stated.
        let measured = if same_nodes || stated <= 1 { most.div_ceil(nodes) } else { 0 };
        Some((ranks, stated.max(measured)))
    }

    /// Answers a question and says how.
    ///
    /// # Errors
    /// As [`Model::predict`].
    pub fn explain(&self, query: &Query<'_>) -> Result<Explanation, PredictError> {
        query.point.check()?;
        if query.basis == BasisChoice::Described {
            let prediction = self.predict(query)?;
            return described::explain(query.point, &self.header.machine, prediction);
        }
        let model = self.variant(query.point, query.cache)?;
        let point = arranged(query.point, model)?;
        let prediction = self.answer(model, &Query { point: &point, ..*query })?;
        let prediction = self.uneven(model, &point, query, prediction);
        let mut explanation = explain(model, &point, query.basis, prediction);
        if matches!(query.point, Point::Collective(_)) && *point != *query.point {
            let answered = format!("; as {point}: what the rank that sends most sends");
            explanation.domain.push_str(&answered);
        }
        Ok(explanation)
    }

    /// The model of a point's variant, or why there is none.
    pub(crate) fn variant(
        &self,
        point: &Point,
        cache: CacheState,
    ) -> Result<&VariantModel, PredictError> {
        let family = point.family();
        let variant = point.variant();
        let mut found = None;
        for section in &self.sections {
            if section.family == family && section.name == variant.as_str() {
                if section.cache == cache {
                    return Ok(section.get()?);
                }
                // Unstated sorts before hot, hot before cold.
                found = found.or(Some(section));
            }
        }
        // Who does not say how the operands lie means what a machine has, or the usual.
        let measured = |usual: &Point| self.has_variant(family, usual.variant().as_str());
        if let (None, Some(usual)) = (found, in_usual_layout(point).filter(measured)) {
            return self.variant(&usual, cache);
        }
        let names = || {
            let collectives = self.sections.iter().filter(|of| of.family == Family::Collective);
            collectives.map(|section| section.name.as_str())
        };
        if let (None, Some(other)) = (found, uneven::stand_in(point, names()))
            && other.variant().as_str() != variant.as_str()
        {
            return self.variant(&other, cache);
        }
        match found {
            Some(section)
                if cache == CacheState::Unstated || section.cache == CacheState::Unstated =>
            {
                Ok(section.get()?)
            }
            Some(section) => Err(PredictError::UnknownCacheState {
                machine: self.header.machine.name.clone(),
                family,
                variant: variant.as_str().to_owned(),
                have: section.cache,
            }),
            None => Err(self.unknown(family, variant.as_str())),
        }
    }

    fn unknown(&self, family: Family, variant: &str) -> PredictError {
        let machine = self.header.machine.name.clone();
        let lacking = self.header.insufficient.iter();
        let mut lacking = lacking.filter(|lacking| lacking.family == family);
        if let Some(lacking) = lacking.find(|lacking| lacking.variant == variant) {
            let (variant, reason) = (variant.to_owned(), lacking.reason.clone());
            return PredictError::Insufficient { machine, family, variant, reason };
        }
        let have = self.families();
        if !have.contains(&family) {
            return PredictError::UnknownFamily { machine, family, have };
        }
        let unknown = nearest::unknown("variant", variant, self.variants(family));
        PredictError::UnknownVariant { machine, family, unknown }
    }

    fn outside(&self, point: &Point, model: &VariantModel, location: &Location) -> PredictError {
        let never = self.never(point, model, location);
        let about = never.as_ref().map_or(location.furthest, |(_, about)| *about);
        let (parameter, value, mut beyond) = model.domain.beyond(&point.parameters(), about);
        if let (Some((Never::Devices { per_node, .. }, _)), Point::Collective(asked)) =
            (&never, point)
        {
            let nodes = asked.nodes;
            beyond = Beyond::TooMany { devices: per_node.saturating_mul(nodes), nodes };
        }
        PredictError::Outside {
            machine: self.header.machine.name.clone(),
            family: model.family,
            variant: model.name.clone(),
            parameter,
            value,
            beyond,
            never: never.map(|(never, _)| Box::new(never)),
        }
    }
}

/// A product whose layout is not stated, in that of a linear layer.
fn in_usual_layout(point: &Point) -> Option<Point> {
    match point {
        Point::Gemm(gemm) if gemm.layout == GemmLayout::Unstated => {
            Some(Point::Gemm(GemmPoint { layout: GemmLayout::Nt, ..*gemm }))
        }
        _ => None,
    }
}

/// `point` as `model` was measured: with its parameters in that order, which only custom points
/// can name at will, in the layout that speaks for one not stated, and of the size that an
/// imbalance amounts to.
pub(crate) fn arranged<'point>(
    point: &'point Point,
    model: &VariantModel,
) -> Result<Cow<'point, Point>, PredictError> {
    let custom = match point {
        Point::Custom(custom) => custom,
        Point::Gemm(_) if point.variant().as_str() != model.name => {
            return Ok(in_usual_layout(point).map_or(Cow::Borrowed(point), Cow::Owned));
        }
        Point::Collective(_) if point.variant().as_str() != model.name => {
            return Ok(
                uneven::as_variant(point, &model.name).map_or(Cow::Borrowed(point), Cow::Owned)
            );
        }
        _ => return Ok(Cow::Borrowed(point)),
    };
    let names: Vec<&str> = model.domain.names().collect();
    let value = |name: &str| custom.parameters.iter().find(|(given, _)| given == name);
    let parameters: Vec<(String, u64)> =
        names.iter().filter_map(|name| value(name).cloned()).collect();
    if parameters.len() != names.len() || custom.parameters.len() != names.len() {
        return Err(PredictError::Parameters {
            op: custom.op.clone(),
            given: custom.parameters.iter().map(|(name, _)| name.clone()).collect(),
            measured: names.into_iter().map(str::to_owned).collect(),
        });
    }
    Ok(Cow::Owned(Point::Custom(CustomPoint { op: custom.op.clone(), parameters })))
}
