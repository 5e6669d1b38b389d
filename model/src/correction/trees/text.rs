//! A forest as it stands in a model file.
//!
//! Per tree its nodes breadth first as [`crate::digits`]: a split as its feature's place among
//! the features in use plus one and the index of its threshold among that feature's edges, a leaf
//! as 0 and its answer in steps of 1e-5. Children are not named: every split's follow side by
//! side, in the order splits are listed.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::forest::{Forest, LEAF_STEP, LONGEST};
use super::grow::{Node, Tree};
use crate::digits::{self, Digits};
use crate::terms::FEATURES;

/// Answers beyond e^100 are no log ratios.
const MOST_STEPS: u64 = 10_000_000;

/// A forest as plain numbers and text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForestText {
    base: i64,
    /// Features in use, the commonest first, each with its thresholds in ascending order.
    edges: Vec<(usize, Vec<f32>)>,
    trees: Vec<String>,
}

impl Forest {
    /// The trees as plain numbers.
    pub(crate) fn text(&self) -> ForestText {
        let trees: Vec<Vec<Node>> = (0..self.trees()).map(|index| self.tree(index)).collect();
        let mut used: Vec<(usize, Vec<f32>)> =
            (0..FEATURES).map(|feature| (feature, Vec::new())).collect();
        for node in trees.iter().flatten() {
            if let Node::Split { feature, threshold, .. } = node {
                used[*feature].1.push(*threshold);
            }
        }
        // The commonest features have the shortest numbers.
        used.retain(|(_, thresholds)| !thresholds.is_empty());
        used.sort_by_key(|(_, thresholds)| std::cmp::Reverse(thresholds.len()));
        for (_, thresholds) in &mut used {
            thresholds.sort_by(f32::total_cmp);
            thresholds.dedup();
        }
        let mut places = [0; FEATURES];
        for (place, (feature, _)) in used.iter().enumerate() {
            places[*feature] = place;
        }
        let write = |nodes: &Vec<Node>| {
            let mut text = String::new();
            for node in nodes {
                match *node {
                    Node::Leaf { steps } => {
                        digits::push(&mut text, 0);
                        digits::push_signed(&mut text, i64::from(steps));
                    }
                    Node::Split { feature, threshold, .. } => {
                        let place = places[feature];
                        let edge = used[place].1.partition_point(|edge| *edge < threshold);
                        digits::push(&mut text, place as u64 + 1);
                        digits::push(&mut text, edge as u64);
                    }
                }
            }
            text
        };
        let trees = trees.iter().map(write).collect();
        ForestText { base: (self.base() / LEAF_STEP).round() as i64, edges: used, trees }
    }
}

impl ForestText {
    /// The forest, or what is wrong with the numbers.
    pub(crate) fn forest(&self) -> Result<Forest, &'static str> {
        if self.edges.iter().any(|(feature, _)| *feature >= FEATURES) {
            return Err("more features than there are");
        }
        if self.edges.iter().any(|(_, edges)| edges.iter().any(|edge| edge.is_nan())) {
            return Err("a threshold is not a number");
        }
        if self.base.unsigned_abs() > MOST_STEPS {
            return Err("a base beyond e^100");
        }
        let mut forest = Forest::new(self.base as f64 * LEAF_STEP);
        for text in &self.trees {
            forest.push(&self.tree(text)?)?;
        }
        Ok(forest)
    }

    fn tree(&self, text: &str) -> Result<Tree, &'static str> {
        let mut digits = Digits::of(text);
        let mut nodes = Vec::new();
        // The level of every node that is still to come.
        let mut levels = VecDeque::from([0]);
        while let Some(level) = levels.pop_front() {
            let Some(place) = digits.number()?.checked_sub(1) else {
                let steps = digits.signed()?;
                if steps.unsigned_abs() > MOST_STEPS {
                    return Err("a leaf beyond e^100");
                }
                nodes.push(Node::Leaf { steps: steps as i32 });
                continue;
            };
            if level == LONGEST {
                return Err("a path that is too long");
            }
            let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
            let (feature, edges) = self.edges.get(at(place)).ok_or("a feature without edges")?;
            let threshold = *edges.get(at(digits.number()?)).ok_or("an edge that is not there")?;
            let first_child = nodes.len() + 1 + levels.len();
            nodes.push(Node::Split { feature: *feature, threshold, first_child });
            levels.extend([level + 1; 2]);
        }
        if !digits.is_empty() {
            return Err("a node that no split leads to");
        }
        Ok(Tree { nodes })
    }
}
