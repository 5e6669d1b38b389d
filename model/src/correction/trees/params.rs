//! Hyper-parameters of the trees, unchecked and checked, and the fit.

use linfa::ParamGuard;
use linfa::dataset::{AsSingleTargets, DatasetBase};
use linfa::traits::{Fit, PredictInplace};
use ndarray::{Array1, ArrayBase, Axis, Data, Ix2};
use thiserror::Error;

use super::bins::Bins;
use super::forest::{Forest, LONGEST};
use super::grow::{Boosting, grow};
use super::histogram::MOST_ROWS;

/// What the trees make small.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Loss {
    /// Squares, and absolute values beyond `clip`: residuals beyond it count as it.
    Huber {
        /// In units of the target.
        clip: f64,
    },
    /// Absolute values: every row counts by its side alone, and a leaf answers the median.
    Absolute,
}

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
    /// What the trees make small.
    pub loss: Loss,
    /// Share of the features that each tree may split on, drawn anew for every tree.
    pub features: f64,
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

impl TreesParams {
    /// So many trees of so many leaves.
    pub(crate) fn of(trees: usize, leaves: usize) -> Self {
        // What a forest has to explain is split over its trees, in steps of at most a fifth.
        let learning_rate = (42.0 / trees.max(1) as f64).min(0.2);
        // Twice as long as a balanced tree's.
        let depth = 2 * (leaves.max(2) - 1).ilog2() as usize + 2;
        TreesParams(TreesValidParams {
            rounds: trees,
            leaves,
            depth: depth.min(LONGEST),
            learning_rate,
            least_rows: 5,
            ridge: 1.0,
            bins: 128,
            loss: Loss::Huber { clip: 0.5 },
            features: 1.0,
        })
    }

    /// The share of each tree's answer that is taken.
    pub(crate) fn learning_rate(mut self, learning_rate: f64) -> Self {
        self.0.learning_rate = learning_rate;
        self
    }

    /// For many rows, features by the hundred, and rows that are far off for no reason in them.
    ///
    /// Chosen on the band [0.4, 0.6) of the bf16 products of the H200, the A100 and the L40S,
    /// single points and whole lines held out. Residuals beyond 5 % count as 5 %: that is as good
    /// as the mean of a forest of squares and one of absolute values, which takes twice the
    /// trees. Three features of ten for each tree lose nothing and take a third of the time.
    /// Attention, whose terms are further off and have fewer features, does better without.
    pub(crate) fn robust(mut self) -> Self {
        (self.0.loss, self.0.features) = (Loss::Huber { clip: 0.05 }, 0.3);
        self
    }

    /// For rows of which most are good and a few far off, for no reason in them: absolute values,
    /// at most 31 leaves, half the steps, and ten rows a leaf, whose median a few do not move.
    ///
    /// Of the embeddings of estimate-train-time, two times of one shape differ by 4.3 % in the mean
    /// and by 0.8 % in the median. Chosen on their bands other than [0.2, 0.4) and [0.6, 0.8),
    /// single points held out. The price is in the tail, which is followed less: the worst points
    /// are further off.
    pub(crate) fn absolute(self) -> Self {
        let TreesParams(own) = self;
        let TreesParams(small) = TreesParams::of(own.rounds, own.leaves.min(31));
        TreesParams(TreesValidParams {
            loss: Loss::Absolute,
            learning_rate: own.learning_rate / 2.0,
            least_rows: 10,
            ..small
        })
    }

    /// Residuals beyond this count as this.
    pub(crate) fn clipped(mut self, clip: f64) -> Self {
        self.0.loss = Loss::Huber { clip };
        self
    }

    /// The hyper-parameters, for tests that vary them all.
    #[cfg(test)]
    pub(crate) fn with(change: impl FnOnce(&mut TreesValidParams)) -> Self {
        let mut params = TreesParams::of(120, 31);
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
            ("depth", (1..=LONGEST).contains(&params.depth)),
            ("learning rate", params.learning_rate > 0.0 && params.learning_rate <= 1.0),
            ("least rows", params.least_rows >= 1),
            ("ridge", params.ridge >= 0.0 && params.ridge.is_finite()),
            ("bins", (2..=256).contains(&params.bins)),
            ("clip", !matches!(params.loss, Loss::Huber { clip } if clip.is_nan() || clip <= 0.0)),
            ("features", params.features > 0.0 && params.features <= 1.0),
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
        if records.is_empty() || records.nrows() != targets.len() || targets.len() > MOST_ROWS {
            return Err(TreesError::Shape);
        }
        if targets.iter().any(|target| !target.is_finite()) {
            return Err(TreesError::NotFinite);
        }
        let bins = Bins::of(records, self.bins);
        let mut boosting = Boosting::new(&bins, targets.iter().copied().collect(), self.loss);
        let mut forest = Forest::new(boosting.base());
        for _ in 0..self.rounds {
            let tree = grow(&mut boosting, self);
            if tree.leaves() < 2 {
                break;
            }
            forest.push(&tree).map_err(|_| TreesError::Shape)?;
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
