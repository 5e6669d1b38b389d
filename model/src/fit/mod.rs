//! Fitting: from the records of a machine to one model per variant.
//!
//! [`mod@groups`] sorts records by variant; [`mod@kin`] finds those that share costs; [`variant`] fits one group and holds points out of repeated
//! fits to learn its intervals and errors; [`mod@train`] is one fit; [`select`] chooses the
//! correction (as finely as [`detail`] says) by cross-validation inside whatever rows it is given, so that the outer folds of
//! [`folds`] report on points that took no part in the choice.

mod detail;
mod folds;
mod groups;
mod kin;
mod select;
mod train;
mod variant;

pub use detail::{Detail, UnknownDetail};
pub(crate) use folds::{Held, dealt, line_folds, point_folds, split, top_octaves};
pub(crate) use groups::{Group, NO_LOAD_SIGNAL, groups};
pub(crate) use kin::Kin;
pub(crate) use train::{Task as VariantTask, learn, lessons, train};
pub(crate) use variant::{fit_variant, residuals};

use kernelgauge_data::{Diagnostic, ExitStatus};
use thiserror::Error;

use crate::model::Insufficient;

/// How a model is fitted.
#[derive(Debug, Clone, Default)]
pub struct FitOptions {
    /// Decides which points are held out together. The same data and seed give the same model
    /// to the byte.
    pub seed: u64,
    /// How finely corrections are learned.
    pub detail: Detail,
}

/// Why no model could be fitted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FitError {
    /// There is nothing to fit.
    #[error("no record of {machine} has a time that may be fitted")]
    NoRecords {
        /// The machine.
        machine: String,
    },
    /// No variant has enough usable points.
    #[error("insufficient data for every variant of {machine}: {first}")]
    Insufficient {
        /// The machine.
        machine: String,
        /// The first variant and what it lacks.
        first: Insufficient,
    },
    /// No variant of the machine or of its lenders can be fitted.
    #[error("nothing can be borrowed for {machine}")]
    NothingToBorrow {
        /// The machine.
        machine: String,
    },
}

impl Diagnostic for FitError {
    fn hint(&self) -> Option<String> {
        let hint: &str = match self {
            FitError::NoRecords { .. } => {
                "measure with `calibrate`, or import a table with `calibrate import`"
            }
            FitError::Insufficient { first, .. } => first.remedy(),
            FitError::NothingToBorrow { .. } => {
                "state units, memory_gb_s, cache_bytes and peak_tflop_s under [machine.hardware] \
                 of its dataset.toml, and borrow from machines that have them too"
            }
        };
        Some(hint.to_owned())
    }

    fn exit_status(&self) -> ExitStatus {
        ExitStatus::Input
    }
}
