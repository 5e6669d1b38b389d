//! Terms whose constants several machines share.
//!
//! Rates are fitted as shares of what each machine sustains ([`Figures`]), latencies as they
//! are, one launch per machine; with a machine's figures the shared constants become a term for
//! it. Which machines lend and what their figures are is left to `borrow`.

use kernelgauge_data::{Family, Point};

use super::{AnalyticalTerm, Features, gemm, passes};
use crate::borrow::Figures;
use crate::math::log2;
use crate::rows::Row;

/// A machine whose rows others learn from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Party<'party, 'data> {
    /// What it sustains.
    pub figures: Figures,
    /// Its rows of one variant.
    pub rows: &'party [Row<'data>],
}

/// Constants that machines share, before they are told any machine's figures.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SharedTerm {
    /// Tile- and wave-quantised roofline.
    Gemm(gemm::SharedGemm),
    /// Passes over rows.
    Passes(passes::SharedPasses),
}

impl SharedTerm {
    /// Fits the constants of `parties`, of which there is at least one with rows; none for
    /// families whose constants nobody has made comparable.
    pub(crate) fn fit(family: Family, parties: &[Party<'_, '_>]) -> Option<Self> {
        match family {
            Family::Gemm => Some(SharedTerm::Gemm(gemm::shared(parties))),
            Family::Memory => Some(SharedTerm::Passes(passes::shared(parties))),
            _ => None,
        }
    }

    /// The term of a machine with these figures; with a launch of its own where it is a party.
    pub(crate) fn of(&self, figures: &Figures, party: Option<usize>) -> AnalyticalTerm {
        match self {
            SharedTerm::Gemm(shared) => AnalyticalTerm::Gemm(shared.of(figures, party)),
            SharedTerm::Passes(shared) => AnalyticalTerm::Passes(shared.of(figures, party)),
        }
    }

    /// The term of a machine whose own `rows` move the constants as far as they tell.
    pub(crate) fn adapted(&self, figures: &Figures, rows: &[Row<'_>]) -> AnalyticalTerm {
        match self {
            SharedTerm::Gemm(shared) => AnalyticalTerm::Gemm(shared.adapted(figures, rows)),
            SharedTerm::Passes(shared) => AnalyticalTerm::Passes(shared.adapted(figures, rows)),
        }
    }
}

impl AnalyticalTerm {
    /// Smooth coordinates of a point, which a regression between few points is made in. All of
    /// one term's have the same number.
    pub(crate) fn coordinates(&self, point: &Point) -> Vec<f64> {
        if let AnalyticalTerm::Gemm(term) = self {
            return term.coordinates(point);
        }
        let sizes = point.parameters();
        let mut coordinates: Vec<f64> =
            sizes.iter().map(|size| log2((*size).max(1) as f64)).collect();
        coordinates.push(self.log_ns(point, &mut Features::new()));
        coordinates
    }
}
