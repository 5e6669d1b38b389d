//! Fitted trees, flat.
//!
//! Every tree is stored as a perfect one of [`DEPTH`] levels: node `i` has its children at
//! `2 i + 1` and `2 i + 2`, so a step down is arithmetic, not a branch and not a load, and
//! sixteen trees descend in step, so that their loads overlap. Where a tree is shallower, the
//! nodes below a leaf compare the slot past the last feature, which is minus infinity, and all
//! answers there are the leaf's.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::grow::{Node, Tree};
use crate::terms::FEATURES;

/// Leaf answers are multiples of this log ratio: a hundredth of a per mille.
pub(crate) const LEAF_STEP: f64 = 1e-5;

/// Longest path of a tree.
pub(super) const DEPTH: usize = 6;

/// Trees that descend together; more do not fit the processor's registers.
const LANES: usize = 16;

/// Trees that descend together where fewer than [`LANES`] are left.
const FEW: usize = LANES / 2;

/// Answers of a perfect tree, one more than it has nodes.
const LEAVES: usize = 1 << DEPTH;

/// Slots of the features; [`FEATURES`] is one less, which makes it a mask.
type Slots = [f32; FEATURES + 1];

/// A perfect tree. Arrays are padded to a power of two, so that masked indices need no check.
#[derive(Debug, Clone, PartialEq)]
struct Perfect {
    thresholds: [f32; LEAVES],
    slots: [u8; LEAVES],
    answers: [f32; LEAVES],
}

/// Fitted trees.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Forest {
    base: f64,
    trees: Vec<Perfect>,
}

impl Perfect {
    /// One leaf.
    fn empty() -> Self {
        Perfect {
            thresholds: [f32::INFINITY; LEAVES],
            slots: [FEATURES as u8; LEAVES],
            answers: [0.0; LEAVES],
        }
    }

    #[inline(always)]
    fn step(&self, at: usize, slots: &Slots) -> usize {
        let at = at & (LEAVES - 1);
        let value = slots[usize::from(self.slots[at]) & FEATURES];
        2 * at + 1 + usize::from(value > self.thresholds[at])
    }

    #[inline(always)]
    fn answer(&self, at: usize) -> f64 {
        f64::from(self.answers[(at + 1) & (LEAVES - 1)])
    }

    /// Sets the answer of every path that passes node `at` of level `level`.
    fn fill(&mut self, at: usize, level: usize, steps: i32) {
        let span = 1 << (DEPTH - level);
        // The first answer below the node: go left to the bottom.
        let first = (at + 1) * span - LEAVES;
        self.answers[first..first + span].fill((f64::from(steps) * LEAF_STEP) as f32);
    }

    fn is_split(&self, at: usize) -> bool {
        usize::from(self.slots[at]) < FEATURES
    }
}

impl Forest {
    /// No trees: answers `base`.
    pub(super) fn new(base: f64) -> Self {
        Forest { base, trees: Vec::new() }
    }

    /// Adds a tree, whose paths are at most [`DEPTH`] long.
    pub(super) fn push(&mut self, tree: &Tree) {
        let mut perfect = Perfect::empty();
        let mut queue = VecDeque::from([(0, 0, 0)]);
        while let Some((node, at, level)) = queue.pop_front() {
            match tree.nodes[node] {
                Node::Leaf { steps } => perfect.fill(at, level, steps),
                Node::Split { feature, threshold, first_child } => {
                    perfect.thresholds[at] = threshold;
                    perfect.slots[at] = feature as u8;
                    queue.push_back((first_child, 2 * at + 1, level + 1));
                    queue.push_back((first_child + 1, 2 * at + 2, level + 1));
                }
            }
        }
        self.trees.push(perfect);
    }

    /// Number of trees.
    pub(crate) fn trees(&self) -> usize {
        self.trees.len()
    }

    /// The answer for the features in `slots`. Never allocates.
    pub(crate) fn answer(&self, slots: &Slots) -> f64 {
        let mut sum = self.base;
        let mut groups = self.trees.chunks_exact(LANES);
        for group in &mut groups {
            sum += answers::<LANES>(group, slots).iter().sum::<f64>();
        }
        // The last ones' answers are added one by one, however many descend together.
        let mut few = groups.remainder().chunks_exact(FEW);
        for group in &mut few {
            sum = answers::<FEW>(group, slots).iter().fold(sum, |sum, answer| sum + answer);
        }
        for tree in few.remainder() {
            sum += answers::<1>(std::slice::from_ref(tree), slots)[0];
        }
        sum
    }

    /// The trees as plain numbers.
    pub(crate) fn text(&self) -> ForestText {
        let mut edges: Vec<Vec<f32>> = Vec::new();
        for tree in &self.trees {
            for at in (0..LEAVES - 1).filter(|at| tree.is_split(*at)) {
                let feature = usize::from(tree.slots[at]);
                edges.resize(edges.len().max(feature + 1), Vec::new());
                edges[feature].push(tree.thresholds[at]);
            }
        }
        for of_feature in &mut edges {
            of_feature.sort_by(f32::total_cmp);
            of_feature.dedup();
        }
        let trees = self.trees.iter().map(|tree| tree_text(tree, &edges)).collect();
        ForestText { base: (self.base / LEAF_STEP).round() as i64, edges, trees }
    }
}

/// The answers of `trees`, of which there are `N`.
#[inline(always)]
fn answers<const N: usize>(trees: &[Perfect], slots: &Slots) -> [f64; N] {
    let mut at = [0; N];
    for _ in 0..DEPTH {
        for (at, tree) in at.iter_mut().zip(trees) {
            *at = tree.step(*at, slots);
        }
    }
    let mut answers = [0.0; N];
    for ((answer, at), tree) in answers.iter_mut().zip(at).zip(trees) {
        *answer = tree.answer(at);
    }
    answers
}

/// A forest as it stands in a model file: per tree its nodes breadth first as pairs, a split as
/// feature and index into the feature's edges, a leaf as -1 and its answer in steps of 1e-5.
/// Children are not named: every split's follow side by side, in the order splits are listed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForestText {
    base: i64,
    edges: Vec<Vec<f32>>,
    trees: Vec<Vec<i32>>,
}

fn tree_text(tree: &Perfect, edges: &[Vec<f32>]) -> Vec<i32> {
    let mut text = Vec::new();
    let mut queue = VecDeque::from([(0, 0)]);
    while let Some((at, level)) = queue.pop_front() {
        if level < DEPTH && tree.is_split(at) {
            let feature = usize::from(tree.slots[at]);
            let threshold = tree.thresholds[at];
            let edge = edges[feature].partition_point(|edge| *edge < threshold);
            text.extend([feature as i32, edge as i32]);
            queue.extend([(2 * at + 1, level + 1), (2 * at + 2, level + 1)]);
        } else {
            let first = (at + 1) * (1 << (DEPTH - level)) - LEAVES;
            let steps = f64::from(tree.answers[first]) / LEAF_STEP;
            text.extend([-1, steps.round() as i32]);
        }
    }
    text
}

impl ForestText {
    /// The forest, or what is wrong with the numbers.
    pub(crate) fn forest(&self) -> Result<Forest, &'static str> {
        if self.edges.len() > FEATURES {
            return Err("more features than there are");
        }
        if self.edges.iter().flatten().any(|edge| edge.is_nan()) {
            return Err("a threshold is not a number");
        }
        if self.base.unsigned_abs() > 10_000_000 {
            return Err("a base beyond e^100");
        }
        let trees = self.trees.iter().map(|text| self.tree(text)).collect::<Result<_, _>>()?;
        Ok(Forest { base: self.base as f64 * LEAF_STEP, trees })
    }

    fn tree(&self, text: &[i32]) -> Result<Perfect, &'static str> {
        let mut tree = Perfect::empty();
        let mut queue = VecDeque::from([(0, 0)]);
        let mut pairs = text.chunks_exact(2);
        for pair in &mut pairs {
            let (at, level) = queue.pop_front().ok_or("a node that no split leads to")?;
            let (feature, value) = (pair[0], pair[1]);
            if feature < 0 {
                if value.unsigned_abs() > 10_000_000 {
                    return Err("a leaf beyond e^100");
                }
                tree.fill(at, level, value);
                continue;
            }
            if level == DEPTH {
                return Err("a path that is too long");
            }
            let edges = self.edges.get(feature as usize).ok_or("a feature without edges")?;
            let edge = usize::try_from(value).ok().and_then(|value| edges.get(value));
            tree.thresholds[at] = *edge.ok_or("an edge that is not there")?;
            tree.slots[at] = feature as u8;
            queue.extend([(2 * at + 1, level + 1), (2 * at + 2, level + 1)]);
        }
        if !queue.is_empty() || !pairs.remainder().is_empty() {
            return Err("a tree that ends before its leaves");
        }
        Ok(tree)
    }
}
