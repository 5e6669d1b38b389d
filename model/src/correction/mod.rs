//! Learned corrections: a regression of `ln(measured / analytical)`.
//!
//! Three kinds, from nothing to boosted trees, all fitted through linfa's traits. Which of them
//! a variant gets is decided by cross-validation in `fit`; where it fades is decided in
//! `variant`.

mod quadratic;
pub(crate) mod trees;

pub(crate) use quadratic::{Quadratic, QuadraticParams};

use kernelgauge_data::point::Parameters;
use linfa::DatasetBase;
use linfa::ParamGuard;
use linfa::traits::Fit;
use ndarray::{Array1, Array2};

use crate::terms::Features;
use trees::{Forest, TreesParams};

/// The learned part of a variant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Correction {
    /// The analytical term stands alone.
    None,
    /// Elastic net on quadratic log features of the parameters.
    Quadratic(Quadratic),
    /// Boosted regression trees on the features of the term.
    Trees(Forest),
}

/// How rows are off that no feature explains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Noise {
    /// Little, or nothing is known of it.
    Even,
    /// Some rows are throttled, and features come by the hundred: rows far off count little, and
    /// each tree sees a part of the features.
    Throttled,
    /// Most rows repeat well and a few are far off: rows count by their side alone.
    HeavyTailed,
}

/// A correction that may be chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Candidate {
    /// No correction.
    None,
    /// Elastic net with this share of the absolute-value penalty.
    Quadratic {
        /// 0 is ridge, 1 is lasso.
        l1_ratio: f64,
    },
    /// Boosted trees.
    Trees {
        /// Number of trees.
        trees: usize,
        /// Most leaves of a tree.
        leaves: usize,
        /// How the rows are off.
        noise: Noise,
    },
    /// Many trees of few leaves, for few rows; residuals beyond `clip` count as that.
    SmallTrees {
        /// In log time.
        clip: f64,
    },
    /// Many trees, for what others learned before.
    ManyTrees,
}

/// What corrections are fitted on: features and parameters of each row, and the log ratio.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lessons {
    /// Features, one row after the other.
    pub features: Vec<f32>,
    /// Features per row.
    pub width: usize,
    /// Parameters of each row.
    pub parameters: Vec<Parameters>,
    /// `ln(measured / analytical)`.
    pub log_ratio: Vec<f64>,
}

impl Lessons {
    /// Adds a row.
    pub(crate) fn push(&mut self, features: &Features, parameters: &Parameters, log_ratio: f64) {
        self.width = features.as_slice().len();
        self.features.extend_from_slice(features.as_slice());
        self.parameters.push(*parameters);
        self.log_ratio.push(log_ratio);
    }

    /// The rows at these places, in this order and as often as they are named.
    pub(crate) fn picked(&self, places: &[usize]) -> Lessons {
        let mut picked = Lessons { width: self.width, ..Lessons::default() };
        for place in places {
            let from = place * self.width;
            picked.features.extend_from_slice(&self.features[from..from + self.width]);
            picked.parameters.push(self.parameters[*place]);
            picked.log_ratio.push(self.log_ratio[*place]);
        }
        picked
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.log_ratio.len()
    }
}

impl Candidate {
    /// Fits this candidate; [`Correction::None`] where the rows are too few or not usable.
    pub(crate) fn fit(self, lessons: &Lessons) -> Correction {
        match self {
            Candidate::None => Correction::None,
            Candidate::Quadratic { l1_ratio } => {
                let params = QuadraticParams { l1_ratio, ..QuadraticParams::default() };
                let fitted = params.fit(&lessons.parameters, &lessons.log_ratio);
                fitted.map_or(Correction::None, Correction::Quadratic)
            }
            Candidate::Trees { trees, leaves, noise } => {
                let params = TreesParams::of(trees, leaves);
                let params = match noise {
                    Noise::Even => params,
                    Noise::Throttled => params.robust(),
                    Noise::HeavyTailed => params.absolute(),
                };
                fit_trees(lessons, params).map_or(Correction::None, Correction::Trees)
            }
            Candidate::SmallTrees { clip } => {
                let params = TreesParams::of(300, 15).learning_rate(0.05).clipped(clip);
                fit_trees(lessons, params).map_or(Correction::None, Correction::Trees)
            }
            Candidate::ManyTrees => fit_trees(lessons, TreesParams::of(300, 31).learning_rate(0.1))
                .map_or(Correction::None, Correction::Trees),
        }
    }
}

fn fit_trees(lessons: &Lessons, params: TreesParams) -> Option<Forest> {
    let shape = (lessons.len(), lessons.width);
    let values = lessons.features.iter().map(|value| f64::from(*value)).collect();
    let records = Array2::from_shape_vec(shape, values).ok()?;
    let targets = Array1::from(lessons.log_ratio.clone());
    params.check().ok()?.fit(&DatasetBase::new(records, targets)).ok()
}

impl Correction {
    /// The log ratio at a point. Never allocates.
    #[inline]
    pub(crate) fn log_ratio(&self, features: &Features, parameters: &Parameters) -> f64 {
        match self {
            Correction::None => 0.0,
            Correction::Quadratic(quadratic) => quadratic.predict(parameters),
            Correction::Trees(forest) => forest.answer(features.slots()),
        }
    }

    /// What it is, in words.
    pub(crate) fn describe(&self) -> String {
        match self {
            Correction::None => "none".to_owned(),
            Correction::Quadratic(quadratic) => {
                format!("elastic net of {} quadratic log features", quadratic.len())
            }
            Correction::Trees(forest) => format!("{} boosted trees", forest.trees()),
        }
    }
}
