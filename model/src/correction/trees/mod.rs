//! Boosted regression trees, which linfa lacks, behind linfa's traits.
//!
//! Squared error with clipped gradients (Huber) or absolute error with medians in the leaves (LAD,
//! Friedman, Annals of Statistics 2001), leaf-wise growth on feature histograms as LightGBM grows
//! them (Ke et al., NIPS 2017): [`params`] holds the hyper-parameters and their checks, [`bins`]
//! cuts features into bins, [`histogram`] counts residuals by bin, [`grow`] grows one tree,
//! [`forest`] holds the fitted trees in a form that predicts in a microsecond or two, [`block`] in
//! one that predicts many rows at a time, [`text`] writes and reads them.

mod bins;
mod block;
mod forest;
mod grow;
mod histogram;
mod params;
mod text;

pub(crate) use block::BLOCK;
pub(crate) use forest::Forest;
pub(crate) use params::TreesParams;
pub(crate) use text::ForestText;

#[cfg(test)]
mod absolute_test;
#[cfg(test)]
mod reference_test;
