//! The layout of a model file, as serde sees it.

use kernelgauge_data::{CacheState, Family, Machine, Origin};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::points::LinesText;
use crate::borrow::{Borrowed, LenderName};
use crate::correction::trees::ForestText;
use crate::correction::{Correction, Quadratic};
use crate::domain::Domain;
use crate::held_out::{HeldOut, RegionError};
use crate::interval::{Band, Intervals};
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
    #[serde(default)]
    pub lenders: Vec<LenderName>,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub borrowed: Option<BorrowedText>,
    pub lines: LinesText,
}

/// What other machines lent.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BorrowedText {
    pub from: Vec<String>,
    pub own: Option<Domain>,
    pub correction: CorrectionText,
    pub band: Band,
    pub error: Option<RegionError>,
}

/// The learned part.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CorrectionText {
    None,
    Quadratic(Quadratic),
    Trees(ForestText),
}

impl CorrectionText {
    /// The layout of a correction.
    pub(super) fn of(correction: &Correction) -> Self {
        match correction {
            Correction::None => CorrectionText::None,
            Correction::Quadratic(quadratic) => CorrectionText::Quadratic(quadratic.clone()),
            Correction::Trees(forest) => CorrectionText::Trees(forest.text()),
        }
    }

    /// The correction, or what is wrong with it.
    pub(super) fn read(self) -> Result<Correction, &'static str> {
        match self {
            CorrectionText::None => Ok(Correction::None),
            CorrectionText::Quadratic(quadratic) if quadratic.is_sound() => {
                Ok(Correction::Quadratic(quadratic))
            }
            CorrectionText::Quadratic(_) => Err("a coefficient that cannot be"),
            CorrectionText::Trees(text) => Ok(Correction::Trees(text.forest()?)),
        }
    }
}

impl BorrowedText {
    /// The layout of what was borrowed.
    pub(super) fn of(borrowed: &Borrowed) -> Self {
        BorrowedText {
            from: borrowed.from.clone(),
            own: borrowed.own.clone(),
            correction: CorrectionText::of(&borrowed.correction),
            band: borrowed.band,
            error: borrowed.error,
        }
    }

    /// What was borrowed by a variant of so many parameters, or what is wrong with it.
    pub(super) fn read(self, width: usize) -> Result<Borrowed, &'static str> {
        let fits = |own: &Domain| own.is_sound() && own.width() == width;
        if !self.own.as_ref().is_none_or(fits) {
            return Err("an own domain that cannot be");
        }
        if !self.band.is_sound() || !self.error.is_none_or(|error| error.is_sound()) {
            return Err("a borrowed interval that cannot be");
        }
        let correction = self.correction.read()?;
        let (from, own, band, error) = (self.from, self.own, self.band, self.error);
        Ok(Borrowed { from, own, correction, band, error })
    }
}
