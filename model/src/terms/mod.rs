//! Analytical terms: what physics says an op should take, with constants fitted per machine.
//!
//! Each family has a module with its formula, the published source of it, its constants with
//! their bounds, and the features that trees are grown on (they come out of the same
//! intermediate results). Every formula but those of the
//! processor is non-decreasing in the work. [`AnalyticalTerm`] is
//! the common face. Left to others: how constants are searched (`least_squares`), and what the
//! formula does not explain (`correction`).

mod attention;
mod collective;
mod custom;
mod described;
mod embedding;
mod features;
mod gemm;
mod line;
mod passes;
mod pooled;
mod power;
mod processor;
mod processor_embedding;
mod processor_gemm;
mod processor_memory;
mod shared;
mod traffic;

pub(crate) use collective::Empirical;
pub(crate) use collective::tried as tried_curves;
pub(crate) use features::{FEATURES, Features};
pub(crate) use processor::speaks_for as counts_steps;
pub(crate) use shared::{Party, SharedTerm};

use kernelgauge_data::{CacheState, Family, Hardware, Machine, Point};
use serde::{Deserialize, Serialize};

use crate::math::{Stream, exp};
use crate::rows::Row;

/// The analytical term of one variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "snake_case")]
pub(crate) enum AnalyticalTerm {
    /// Tile- and wave-quantised roofline.
    Gemm(gemm::GemmTerm),
    /// Counted steps of the `gemm` crate.
    ProcessorGemm(processor_gemm::ProcessorGemmTerm),
    /// Counted steps of the host device.
    ProcessorEmbedding(processor_embedding::ProcessorEmbeddingTerm),
    /// Traffic with cache reuse.
    Embedding(embedding::EmbeddingTerm),
    /// Counted steps of the host device.
    ProcessorMemory(processor_memory::ProcessorMemoryTerm),
    /// Launch floor, cache and memory.
    Traffic(traffic::TrafficTerm),
    /// Passes over rows, with constants that machines share.
    Passes(passes::PassesTerm),
    /// Minimum of two knees per rank count.
    Collective(collective::CollectiveTerm),
    /// Roofline over query tiles.
    Attention(attention::AttentionTerm),
    /// A constant, and so much for each of one parameter.
    Line(line::LineTerm),
    /// Power law of the parameters.
    Power(power::PowerTerm),
}

/// A part of a term: what it adds to the parts before it, or takes from them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    /// `launch`, `arithmetic`, `memory`, `overlapped`.
    pub name: &'static str,
    /// Nanoseconds, negative where parts run at the same time.
    pub nanos: f64,
    /// What it is made of, in words.
    pub detail: Option<String>,
}

impl Part {
    fn new(name: &'static str, nanos: f64) -> Self {
        Part { name, nanos, detail: None }
    }

    fn with(mut self, detail: String) -> Self {
        self.detail = Some(detail);
        self
    }
}

/// Runs `$body` with `$term` bound to whichever term `$self` holds.
macro_rules! each {
    ($self:expr, $term:ident => $body:expr) => {
        match $self {
            AnalyticalTerm::Gemm($term) => $body,
            AnalyticalTerm::ProcessorGemm($term) => $body,
            AnalyticalTerm::ProcessorEmbedding($term) => $body,
            AnalyticalTerm::Embedding($term) => $body,
            AnalyticalTerm::ProcessorMemory($term) => $body,
            AnalyticalTerm::Traffic($term) => $body,
            AnalyticalTerm::Passes($term) => $body,
            AnalyticalTerm::Collective($term) => $body,
            AnalyticalTerm::Attention($term) => $body,
            AnalyticalTerm::Line($term) => $body,
            AnalyticalTerm::Power($term) => $body,
        }
    };
}

impl AnalyticalTerm {
    /// Fits the term of `family` to `rows`, of which there is at least one. `kin` are rows of
    /// other variants with the same costs ([`shares_costs`]).
    pub(crate) fn fit(
        family: Family,
        rows: &[Row<'_>],
        kin: &[Row<'_>],
        machine: &Machine,
        cache: CacheState,
    ) -> Self {
        match family {
            Family::Gemm if processor::speaks_for(machine) => {
                AnalyticalTerm::ProcessorGemm(processor_gemm::fit(rows, machine))
            }
            Family::Gemm => AnalyticalTerm::Gemm(gemm::fit(rows, machine)),
            Family::Embedding if processor::speaks_for(machine) => {
                AnalyticalTerm::ProcessorEmbedding(processor_embedding::fit(rows, kin, machine))
            }
            Family::Embedding => AnalyticalTerm::Embedding(embedding::fit(rows, machine, cache)),
            Family::Memory if processor::speaks_for(machine) => {
                let term = processor_memory::fit(rows, kin, machine, cache);
                AnalyticalTerm::ProcessorMemory(term)
            }
            Family::Memory | Family::Copy => {
                AnalyticalTerm::Traffic(traffic::fit(rows, kin, machine))
            }
            Family::Collective => AnalyticalTerm::fit_curves(rows, kin, &[], machine),
            Family::Attention => AnalyticalTerm::Attention(attention::fit(rows, machine)),
            Family::Custom => custom::fit(rows),
        }
    }

    /// The term of a machine of which nothing but the maker's figures is known.
    ///
    /// # Errors
    /// What is lacking.
    pub(crate) fn described(family: Family, hardware: &Hardware) -> Result<Self, &'static str> {
        let figures = described::Figures::of(hardware)?;
        match family {
            Family::Embedding => {
                Ok(AnalyticalTerm::Embedding(embedding::EmbeddingTerm::described(&figures)))
            }
            Family::Memory => {
                Ok(AnalyticalTerm::Traffic(traffic::TrafficTerm::described(&figures)))
            }
            _ => Err("published figures speak for embedding bags and memory-bound ops only"),
        }
    }

    /// The term of a collective. `guides` are rows of collectives on other machines, a slice for
    /// each, whose curves are followed between the points where they prove to foretell them, or
    /// where these are few.
    pub(crate) fn fit_curves(
        rows: &[Row<'_>],
        kin: &[Row<'_>],
        guides: &[&[Row<'_>]],
        machine: &Machine,
    ) -> Self {
        AnalyticalTerm::Collective(collective::fit(rows, kin, guides, machine))
    }

    /// The term with its constants fitted to other rows, where what else it holds (the caches
    /// and loops of a processor) can stay; none where everything is fitted anew.
    pub(crate) fn again(&self, rows: &[Row<'_>], kin: &[Row<'_>]) -> Option<Self> {
        match self {
            AnalyticalTerm::ProcessorEmbedding(term) => Some(AnalyticalTerm::ProcessorEmbedding(
                processor_embedding::again(term, rows, kin),
            )),
            AnalyticalTerm::ProcessorMemory(term) => {
                Some(AnalyticalTerm::ProcessorMemory(processor_memory::again(term, rows, kin)))
            }
            _ => None,
        }
    }

    /// Natural logarithm of the time in nanoseconds, and the features of the point.
    pub(crate) fn log_ns(&self, point: &Point, features: &mut Features) -> f64 {
        features.clear();
        each!(self, term => term.log_ns(point, features))
    }

    /// The parts the time is made of, in the order they are shown; together they are the time.
    ///
    /// What runs at the same time is in the time once but in the parts twice: the last part
    /// takes it back.
    pub(crate) fn parts(&self, point: &Point) -> Vec<Part> {
        let mut parts = each!(self, term => term.parts(point));
        let sum: f64 = parts.iter().map(|part| part.nanos).sum();
        let rest = exp(self.log_ns(point, &mut Features::new())) - sum;
        if rest.abs() >= 0.5 {
            parts.push(Part::new(if rest < 0.0 { "overlapped" } else { "not overlapped" }, rest));
        }
        parts
    }

    /// What measured points say beside the formula: of collectives, whose term keeps them.
    pub(crate) fn empirical(&self, point: &Point) -> Option<Empirical> {
        match (self, point) {
            (AnalyticalTerm::Collective(term), Point::Collective(point)) => {
                Some(term.empirical(point))
            }
            _ => None,
        }
    }

    /// Which points that stands on, in words.
    pub(crate) fn account(&self, point: &Point) -> Option<String> {
        match (self, point) {
            (AnalyticalTerm::Collective(term), Point::Collective(point)) => {
                Some(term.account(point))
            }
            _ => None,
        }
    }

    /// The least that any point takes: the launch, or the latency of a collective.
    pub(crate) fn floor_ns(&self) -> f64 {
        each!(self, term => term.floor_ns())
    }

    /// Whether the term can speak for points of `family`, with constants that are possible.
    pub(crate) fn is_sound(&self, family: Family) -> bool {
        let belongs = match self {
            AnalyticalTerm::Gemm(_) | AnalyticalTerm::ProcessorGemm(_) => family == Family::Gemm,
            AnalyticalTerm::Embedding(_) | AnalyticalTerm::ProcessorEmbedding(_) => {
                family == Family::Embedding
            }
            AnalyticalTerm::ProcessorMemory(_) | AnalyticalTerm::Passes(_) => {
                family == Family::Memory
            }
            AnalyticalTerm::Traffic(_) => matches!(family, Family::Memory | Family::Copy),
            AnalyticalTerm::Collective(_) => family == Family::Collective,
            AnalyticalTerm::Attention(_) => family == Family::Attention,
            AnalyticalTerm::Line(_) | AnalyticalTerm::Power(_) => family == Family::Custom,
        };
        belongs && each!(self, term => term.is_sound())
    }

    /// Fills what is derived from the constants after they were read.
    pub(crate) fn prepare(&mut self) {
        match self {
            AnalyticalTerm::Gemm(term) => term.prepare(),
            AnalyticalTerm::Collective(term) => term.prepare(),
            _ => {}
        }
    }
}

/// A point and the state its operands are in.
pub(crate) type InState<'point> = (&'point Point, CacheState);

/// Whether the times of two points of different variants come from the same costs: on a
/// processor, bags whatever their indices and optimizer, and a memory-bound op hot and cold; on
/// any other device a memory-bound op whatever its element type, since traffic is in bytes;
/// anywhere, a collective in several dtypes.
pub(crate) fn shares_costs(one: InState<'_>, other: InState<'_>, machine: &Machine) -> bool {
    if let (Point::Collective(one), Point::Collective(other)) = (one.0, other.0) {
        return (one.collective, one.imbalance) == (other.collective, other.imbalance);
    }
    if !processor::speaks_for(machine) {
        let ((Point::Memory(one), cache), (Point::Memory(other), other_cache)) = (one, other)
        else {
            return false;
        };
        return (one.op, cache) == (other.op, other_cache);
    }
    match (one, other) {
        ((Point::Embedding(one), cache), (Point::Embedding(other), other_cache)) => {
            (one.direction, one.dtype, cache) == (other.direction, other.dtype, other_cache)
        }
        ((Point::Memory(one), cache), (Point::Memory(other), other_cache)) => {
            let states = [cache, other_cache];
            let both = states.contains(&CacheState::Hot) && states.contains(&CacheState::Cold);
            (one.op, one.dtype) == (other.op, other.dtype) && both
        }
        _ => false,
    }
}

/// Whether every constant is finite, not negative and below what any machine will reach.
fn possible(constants: &[f64]) -> bool {
    constants.iter().all(|value| value.is_finite() && (0.0..=1e18).contains(value))
}

/// At most `limit` of `rows`, drawn by a fixed seed: analytical constants need no more, and an
/// even stride would keep step with the sweep.
fn thinned<'rows, 'data>(rows: &'rows [Row<'data>], limit: usize) -> Vec<&'rows Row<'data>> {
    Stream::new(0).drawn(rows.len(), limit).into_iter().map(|index| &rows[index]).collect()
}
