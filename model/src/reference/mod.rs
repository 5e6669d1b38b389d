//! Published models beside ours, for comparison.

use kernelgauge_data::{Machine, Point};

use crate::error::PredictError;
use crate::prediction::{Prediction, ReferenceModel};
use crate::variant::VariantModel;

/// The answer of a published model.
pub(crate) fn predict(
    reference: ReferenceModel,
    _point: &Point,
    _machine: &Machine,
    _model: &VariantModel,
) -> Result<Prediction, PredictError> {
    Err(PredictError::NoReference { reference, reason: "not for this op".to_owned() })
}
