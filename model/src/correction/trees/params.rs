//! Hyper-parameters of the trees, unchecked and checked, and the fit.

use linfa::ParamGuard;
use linfa::dataset::{AsSingleTargets, DatasetBase};
use linfa::traits::{Fit, PredictInplace};
use ndarray::{Array1, ArrayBase, Axis, Data, Ix2};
use thiserror::Error;

use super::bins::Bins;
use super::forest::{DEPTH, Forest};
use super::grow::{Boosting, grow};

/// Hyper-parameters, not yet checked.
#[derive(Debug, Clone)]
pub(crate) struct TreesParams(TreesValidParams);

/// Hyper-parameters that were checked.
#[derive(Debug, Clone)]
pub(crate) struct TreesValidParams {
    /// Number of trees.
    pub rounds: usize,
    /// Most leaves of a tree.
    pub leaves: usize,
    /// Longest path of a tree.
    pub depth: usize,
    /// Share of each tree's answer that is taken.
    pub learning_rate: f64,
    /// Fewest rows of a leaf.
    pub least_rows: usize,
    /// Rows' worth of zero that each leaf is pulled by.
    pub ridge: f64,
    /// Most bins of a feature.
    pub bins: usize,
    /// Residuals beyond this count as this.
    pub clip: f64,
}

/// Why trees cannot be fitted.
#[derive(Debug, Error)]
pub(crate) enum TreesError {
    /// A hyper-parameter out of range.
    #[error("{0} is out of range")]
    Parameter(&'static str),
    /// No rows or no columns, or numbers of rows that differ.
    #[error("records and targets do not fit each other")]
    Shape,
    /// A target is not finite.
    #[error("a target is not finite")]
    NotFinite,
    /// As linfa's traits ask.
    #[error(transparent)]
    Linfa(#[from] linfa::Error),
}

impl Default for TreesParams {
    /// The knee of accuracy against time per prediction on four GEMM tables of 9 to 36 thousand
    /// rows.
    fn default() -> Self {
        TreesParams(TreesValidParams {
            rounds: 120,
            leaves: 31,
            depth: DEPTH,
            learning_rate: 0.2,
            least_rows: 5,
            ridge: 1.0,
            bins: 128,
            clip: 0.5,
        })
    }
}

impl TreesParams {
    /// Number of trees.
    pub(crate) fn rounds(mut self, rounds: usize) -> Self {
        self.0.rounds = rounds;
        self
    }

    /// Many trees of so many leaves, each taken with a small share.
    pub(crate) fn many(mut self, rounds: usize, leaves: usize, learning_rate: f64) -> Self {
        (self.0.rounds, self.0.leaves, self.0.learning_rate) = (rounds, leaves, learning_rate);
        self
    }

    /// Residuals beyond this count as this.
    pub(crate) fn clipped(mut self, clip: f64) -> Self {
        self.0.clip = clip;
        self
    }

    /// The hyper-parameters, for tests that vary them all.
    #[cfg(test)]
    pub(crate) fn with(change: impl FnOnce(&mut TreesValidParams)) -> Self {
        let mut params = TreesParams::default();
        change(&mut params.0);
        params
    }
}

impl ParamGuard for TreesParams {
    type Checked = TreesValidParams;
    type Error = TreesError;

    fn check_ref(&self) -> Result<&TreesValidParams, TreesError> {
        let params = &self.0;
        let ranges = [
            ("rounds", (1..=10_000).contains(&params.rounds)),
            ("leaves", (2..=1024).contains(&params.leaves)),
            ("depth", (1..=DEPTH).contains(&params.depth)),
            ("learning rate", params.learning_rate > 0.0 && params.learning_rate <= 1.0),
            ("least rows", params.least_rows >= 1),
            ("ridge", params.ridge >= 0.0 && params.ridge.is_finite()),
            ("bins", (2..=256).contains(&params.bins)),
            ("clip", params.clip > 0.0),
        ];
        match ranges.iter().find(|(_, within)| !within) {
            Some((name, _)) => Err(TreesError::Parameter(name)),
            None => Ok(params),
        }
    }

    fn check(self) -> Result<TreesValidParams, TreesError> {
        self.check_ref()?;
        Ok(self.0)
    }
}

impl<D: Data<Elem = f64>, T: AsSingleTargets<Elem = f64>> Fit<ArrayBase<D, Ix2>, T, TreesError>
    for TreesValidParams
{
    type Object = Forest;

    fn fit(&self, dataset: &DatasetBase<ArrayBase<D, Ix2>, T>) -> Result<Forest, TreesError> {
        let targets = dataset.as_single_targets();
        let records = dataset.records();
        if records.is_empty() || records.nrows() != targets.len() {
            return Err(TreesError::Shape);
        }
        if targets.iter().any(|target| !target.is_finite()) {
            return Err(TreesError::NotFinite);
        }
        let bins = Bins::of(records, self.bins);
        let mut boosting = Boosting::new(&bins, targets.iter().copied().collect());
        let mut forest = Forest::new(boosting.base());
        for _ in 0..self.rounds {
            let tree = grow(&mut boosting, self);
            if tree.leaves() < 2 {
                break;
            }
            forest.push(&tree);
        }
        Ok(forest)
    }
}

impl<D: Data<Elem = f64>> PredictInplace<ArrayBase<D, Ix2>, Array1<f64>> for Forest {
    fn predict_inplace(&self, records: &ArrayBase<D, Ix2>, targets: &mut Array1<f64>) {
        let mut slots = [f32::NEG_INFINITY; crate::terms::FEATURES + 1];
        for (record, target) in records.axis_iter(Axis(0)).zip(targets.iter_mut()) {
            for (slot, value) in slots[..crate::terms::FEATURES].iter_mut().zip(&record) {
                *slot = *value as f32;
            }
            *target = self.answer(&slots);
        }
    }

    fn default_target(&self, records: &ArrayBase<D, Ix2>) -> Array1<f64> {
        Array1::zeros(records.nrows())
    }
}
