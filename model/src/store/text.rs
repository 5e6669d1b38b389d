//! The layout of a model file, as serde sees it.

use kernelgauge_data::{CacheState, Family, Machine, Origin};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::points::LinesText;
use crate::correction::Quadratic;
use crate::correction::trees::ForestText;
use crate::domain::Domain;
use crate::held_out::HeldOut;
use crate::interval::Intervals;
use crate::model::Insufficient;
use crate::terms::AnalyticalTerm;

/// The whole document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document<'text> {
    pub format: String,
    pub format_version: u64,
    pub tool_version: String,
    pub machine: Machine,
    pub origin: Origin,
    pub data_sha256: String,
    pub seed: u64,
    pub detail: String,
    pub insufficient: Vec<Insufficient>,
    #[serde(borrow)]
    pub variants: Vec<VariantEntry<'text>>,
}

/// Just enough to say what a file is.
#[derive(Deserialize)]
pub(super) struct Probe {
    pub format: Option<String>,
    pub format_version: Option<u64>,
}

/// One variant, its model unread.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VariantEntry<'text> {
    pub family: Family,
    pub variant: String,
    pub cache: CacheState,
    #[serde(borrow)]
    pub model: &'text RawValue,
}

/// A variant's model.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VariantText {
    pub domain: Domain,
    pub term: AnalyticalTerm,
    pub held_out: HeldOut,
    pub intervals: Intervals,
    pub blend: f64,
    pub confined: bool,
    pub correction: CorrectionText,
    pub learned: Option<Quadratic>,
    pub lines: LinesText,
}

/// The learned part.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CorrectionText {
    None,
    Quadratic(Quadratic),
    Trees(ForestText),
}
