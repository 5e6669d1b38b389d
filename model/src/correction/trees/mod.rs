//! Boosted regression trees, which linfa lacks, behind linfa's traits.
//!
//! Squared error with clipped gradients (Huber), leaf-wise growth on feature histograms as
//! LightGBM grows them (Ke et al., NIPS 2017): [`params`] holds the hyper-parameters and their
//! checks, [`bins`] cuts features into bins, [`grow`] grows one tree, [`forest`] holds the fitted
//! trees in a form that predicts in well under a microsecond.

mod bins;
mod forest;
mod grow;
mod params;

pub(crate) use forest::{Forest, ForestText};
pub(crate) use params::TreesParams;

#[cfg(test)]
mod reference_test;
