//! Fitted trees, flat.
//!
//! A node is eight bytes and a node's children lie side by side, so that a step down is an
//! addition, not a branch; eight trees descend in step, so that their loads overlap. A leaf
//! compares the slot past the last feature, which is minus infinity, with its own answer, which
//! sends it back to itself: every tree of a group can then take as many steps as the deepest.

use serde::{Deserialize, Serialize};

use super::grow::{Node, Tree};
use crate::terms::FEATURES;

/// Leaf answers are multiples of this log ratio: a hundredth of a per mille.
pub(crate) const LEAF_STEP: f64 = 1e-5;

/// Trees that descend together.
const LANES: usize = 8;

/// Most nodes of one tree.
const MOST_NODES: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Packed {
    /// Threshold of a split, answer of a leaf.
    value: f32,
    /// Slot compared; [`FEATURES`] in a leaf.
    slot: u16,
    /// Where the first child lies, from the tree's root; the node itself in a leaf.
    first_child: u16,
}

/// Fitted trees.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Forest {
    base: f64,
    nodes: Vec<Packed>,
    roots: Vec<u32>,
    /// Longest path of each group of [`LANES`] trees.
    depths: Vec<u8>,
}

impl Forest {
    /// No trees: answers `base`.
    pub(super) fn new(base: f64) -> Self {
        Forest { base, nodes: Vec::new(), roots: Vec::new(), depths: Vec::new() }
    }

    /// Adds a tree.
    pub(super) fn push(&mut self, tree: &Tree) {
        let packed: Vec<Packed> = tree
            .nodes
            .iter()
            .enumerate()
            .map(|(index, node)| match *node {
                Node::Split { feature, threshold, first_child } => Packed {
                    value: threshold,
                    slot: feature as u16,
                    first_child: first_child as u16,
                },
                Node::Leaf { steps } => leaf(steps, index),
            })
            .collect();
        self.append(&packed);
    }

    fn append(&mut self, tree: &[Packed]) {
        if self.roots.len().is_multiple_of(LANES) {
            self.depths.push(0);
        }
        self.roots.push(self.nodes.len() as u32);
        self.nodes.extend_from_slice(tree);
        if let Some(depth) = self.depths.last_mut() {
            *depth = (*depth).max(depth_of(tree));
        }
    }

    /// Number of trees.
    pub(crate) fn trees(&self) -> usize {
        self.roots.len()
    }

    /// The answer for the features in `slots`. Never allocates.
    pub(crate) fn predict(&self, slots: &[f32; FEATURES + 1]) -> f64 {
        let mut sum = self.base;
        let mut groups = self.roots.chunks_exact(LANES);
        for (roots, depth) in (&mut groups).zip(&self.depths) {
            let mut at = [0_u32; LANES];
            for _ in 0..*depth {
                for (at, root) in at.iter_mut().zip(roots) {
                    *at = self.step(*root, *at, slots);
                }
            }
            for (at, root) in at.iter().zip(roots) {
                sum += f64::from(self.node(*root, *at).value);
            }
        }
        let depth = self.depths.last().copied().unwrap_or(0);
        for root in groups.remainder() {
            let mut at = 0;
            for _ in 0..depth {
                at = self.step(*root, at, slots);
            }
            sum += f64::from(self.node(*root, at).value);
        }
        sum
    }

    #[inline(always)]
    fn node(&self, root: u32, at: u32) -> Packed {
        self.nodes[(root + at) as usize]
    }

    #[inline(always)]
    fn step(&self, root: u32, at: u32, slots: &[f32; FEATURES + 1]) -> u32 {
        let node = self.node(root, at);
        let greater = slots[usize::from(node.slot) & FEATURES] > node.value;
        u32::from(node.first_child) + u32::from(greater)
    }

    /// The trees as plain numbers.
    pub(crate) fn text(&self) -> ForestText {
        let mut edges: Vec<Vec<f32>> = Vec::new();
        for node in self.nodes.iter().filter(|node| usize::from(node.slot) < FEATURES) {
            let feature = usize::from(node.slot);
            edges.resize(edges.len().max(feature + 1), Vec::new());
            edges[feature].push(node.value);
        }
        for of_feature in &mut edges {
            of_feature.sort_by(f32::total_cmp);
            of_feature.dedup();
        }
        let ends = self.roots.iter().skip(1).map(|root| *root as usize);
        let ends = ends.chain([self.nodes.len()]);
        let trees = self
            .roots
            .iter()
            .zip(ends)
            .map(|(root, end)| tree_text(&self.nodes[*root as usize..end], &edges))
            .collect();
        ForestText { base: (self.base / LEAF_STEP).round() as i64, edges, trees }
    }
}

fn leaf(steps: i32, index: usize) -> Packed {
    let value = (f64::from(steps) * LEAF_STEP) as f32;
    Packed { value, slot: FEATURES as u16, first_child: index as u16 }
}

fn depth_of(tree: &[Packed]) -> u8 {
    let mut depth = vec![0_u8; tree.len()];
    let mut deepest = 0;
    for (index, node) in tree.iter().enumerate() {
        let first = usize::from(node.first_child);
        deepest = deepest.max(depth[index]);
        // Children come after their parent.
        if usize::from(node.slot) < FEATURES && first > index && first + 1 < tree.len() {
            depth[first] = depth[index].saturating_add(1);
            depth[first + 1] = depth[index].saturating_add(1);
        }
    }
    deepest
}

/// A forest as it stands in a model file: per tree its nodes in storage order as pairs, a split
/// as feature and index into the feature's edges, a leaf as -1 and its answer in steps of 1e-5.
/// Children are not named: every split's follow side by side, in the order splits are listed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForestText {
    base: i64,
    edges: Vec<Vec<f32>>,
    trees: Vec<Vec<i32>>,
}

/// A tree's nodes breadth-first, whatever the order it was grown in.
fn tree_text(tree: &[Packed], edges: &[Vec<f32>]) -> Vec<i32> {
    let mut text = Vec::with_capacity(2 * tree.len());
    let mut queue = std::collections::VecDeque::from([0_usize]);
    while let Some(index) = queue.pop_front() {
        let node = tree[index];
        let feature = usize::from(node.slot);
        if feature < FEATURES {
            let edge = edges[feature].partition_point(|edge| *edge < node.value);
            text.extend([feature as i32, edge as i32]);
            let first = usize::from(node.first_child);
            queue.extend([first, first + 1]);
        } else {
            text.extend([-1, (f64::from(node.value) / LEAF_STEP).round() as i32]);
        }
    }
    text
}

impl ForestText {
    /// The forest, or what is wrong with the numbers. By construction every child lies within
    /// its tree and after its parent.
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
        let mut forest = Forest::new(self.base as f64 * LEAF_STEP);
        for text in &self.trees {
            forest.append(&self.tree(text)?);
        }
        if forest.nodes.len() > u32::MAX as usize {
            return Err("too many nodes");
        }
        Ok(forest)
    }

    fn tree(&self, text: &[i32]) -> Result<Vec<Packed>, &'static str> {
        let count = text.len() / 2;
        if text.len() % 2 != 0 || count == 0 || count > MOST_NODES {
            return Err("a tree of no, half or too many nodes");
        }
        let mut next_child = 1;
        let mut tree = Vec::new();
        for (index, pair) in text.chunks_exact(2).enumerate() {
            let (feature, value) = (pair[0], pair[1]);
            if index >= next_child {
                return Err("a node that no split leads to");
            }
            if feature < 0 {
                if value.unsigned_abs() > 10_000_000 {
                    return Err("a leaf beyond e^100");
                }
                tree.push(leaf(value, index));
                continue;
            }
            let edges = self.edges.get(feature as usize).ok_or("a feature without edges")?;
            let edge = usize::try_from(value).ok().and_then(|value| edges.get(value));
            let value = *edge.ok_or("an edge that is not there")?;
            tree.push(Packed { value, slot: feature as u16, first_child: next_child as u16 });
            next_child += 2;
        }
        if next_child != count { Err("a tree that ends before its leaves") } else { Ok(tree) }
    }
}
