//! Questions to a model and its answers.

use std::fmt;

use kernelgauge_data::{CacheState, Nanos, Point};

/// Which part of the model shall answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BasisChoice {
    /// The measured time at a measured point, else the best the model has.
    #[default]
    Best,
    /// The analytical term alone.
    Analytical,
    /// The linfa regression alone, outside any interpolation.
    Learned,
    /// Analytical term times learned correction, measured points not consulted.
    Hybrid,
    /// The analytical term with the figures the machine's maker states in place of what is
    /// fitted: of embedding bags and memory-bound ops, measured or not.
    Described,
    /// A published reference model, by name, for comparison.
    Reference(ReferenceModel),
}

/// Published models that exist beside ours for comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceModel {
    /// max(arithmetic / peak, traffic / bandwidth).
    Roofline,
    /// The reference system's plain embedding heuristic.
    EmbeddingPlain,
    /// The reference system's cache-aware embedding heuristic.
    EmbeddingCache,
    /// The reference system's three-region sigmoid curve for collectives.
    Sigmoid,
}

impl ReferenceModel {
    /// Every reference model.
    pub const ALL: [ReferenceModel; 4] = [
        ReferenceModel::Roofline,
        ReferenceModel::EmbeddingPlain,
        ReferenceModel::EmbeddingCache,
        ReferenceModel::Sigmoid,
    ];

    /// The name on the command line and in every output format.
    pub const fn name(self) -> &'static str {
        match self {
            ReferenceModel::Roofline => "roofline",
            ReferenceModel::EmbeddingPlain => "embedding-plain",
            ReferenceModel::EmbeddingCache => "embedding-cache",
            ReferenceModel::Sigmoid => "sigmoid",
        }
    }
}

/// A question to a model.
#[derive(Debug, Clone, Copy)]
pub struct Query<'point> {
    /// What is asked for.
    pub point: &'point Point,
    /// Cold or hot operands; [`CacheState::Unstated`] takes what the machine was measured in,
    /// hot before cold.
    pub cache: CacheState,
    /// Which part of the model shall answer.
    pub basis: BasisChoice,
    /// Whether to answer outside the domain (with a widened interval) instead of refusing.
    pub extrapolate: bool,
}

/// Where a point lies relative to what was fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DomainStatus {
    /// Every parameter within the fitted range.
    Inside,
    /// At most two octaves beyond, in one parameter.
    Near,
    /// Further out.
    Outside,
}

/// What an answer rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// A measured point, returned as measured.
    Measured,
    /// Between measured points of one line, or between the curves of measured rank counts.
    Interpolated,
    /// Analytical term times learned correction.
    Hybrid,
    /// The learned regression alone.
    Learned,
    /// The analytical term alone.
    Analytical,
    /// As hybrid or analytical, outside the domain.
    Extrapolated,
    /// The analytical term with the machine's published figures, nothing fitted.
    Described,
    /// What other machines were measured at, scaled to what this one sustains.
    Borrowed,
    /// A published reference model.
    Reference,
}

/// A model's answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// The predicted time of one execution.
    pub time: Nanos,
    /// Lower end of the 90 % interval.
    pub low: Nanos,
    /// Upper end of the 90 % interval.
    pub high: Nanos,
    /// Where the point lies.
    pub domain: DomainStatus,
    /// What the answer rests on.
    pub basis: Basis,
}

impl DomainStatus {
    /// The word in every output format.
    pub const fn name(self) -> &'static str {
        match self {
            DomainStatus::Inside => "inside",
            DomainStatus::Near => "near",
            DomainStatus::Outside => "outside",
        }
    }
}

impl Basis {
    /// The word in every output format.
    pub const fn name(self) -> &'static str {
        match self {
            Basis::Measured => "measured",
            Basis::Interpolated => "interpolated",
            Basis::Hybrid => "hybrid",
            Basis::Learned => "learned",
            Basis::Analytical => "analytical",
            Basis::Extrapolated => "extrapolated",
            Basis::Described => "described",
            Basis::Borrowed => "borrowed",
            Basis::Reference => "reference",
        }
    }
}

impl fmt::Display for DomainStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
