//! Borrowing between machines: models of a machine with few measurements or none, and of sizes
//! that only others measured.
//!
//! [`figures`] says what a machine sustains, which makes constants of different machines
//! comparable; [`loans`] collects what lenders know of a variant and how wrong they would have
//! been about each other; [`fit`] makes a variant's model of that and of the machine's own rows,
//! by how many there are; [`distil`] turns slow regressions of few rows ([`kriging`]) into trees;
//! [`whole`] does so for every variant of a machine. What is borrowed is kept apart in the model
//! ([`Borrowed`]), so that answers can say so. Left to others: the constants themselves
//! (`terms::shared`) and models of machines that know enough of their own (`fit`).

mod cholesky;
mod distil;
mod figures;
mod fit;
mod kriging;
mod loans;
#[cfg(test)]
mod tests;
mod whole;

pub(crate) use figures::Figures;
pub(crate) use fit::fit_variant_borrowing;
pub(crate) use loans::Lender;

use kernelgauge_data::point::Parameters;
use serde::{Deserialize, Serialize};

use crate::correction::Correction;
use crate::domain::Domain;
use crate::held_out::RegionError;
use crate::interval::Band;
use crate::prediction::DomainStatus;

/// A machine whose data others borrowed from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LenderName {
    /// Its name.
    pub machine: String,
    /// Digest of its data.
    pub data_sha256: String,
}

/// What a variant's model has from other machines.
#[derive(Debug, Clone)]
pub(crate) struct Borrowed {
    /// The machines.
    pub from: Vec<String>,
    /// Where the machine's own rows speak; nowhere if there are too few.
    pub own: Option<Domain>,
    /// The correction where they do not.
    pub correction: Correction,
    /// The band there, of how wrong lenders were about each other, or about rows held out.
    pub band: Band,
    /// The errors behind the band; none where nothing could be held out.
    pub error: Option<RegionError>,
}

impl Borrowed {
    /// Whether a point is answered for by other machines. Never allocates.
    pub(crate) fn speaks_for(&self, parameters: &Parameters) -> bool {
        let is_own = |own: &Domain| own.locate(parameters).status == DomainStatus::Inside;
        !self.own.as_ref().is_some_and(is_own)
    }
}
