//! Fitted trees, flat.
//!
//! All nodes of all trees lie in one array, each tree breadth first with a split's children side
//! by side, so a step down is a comparison and an addition. A leaf leads back to itself: it
//! compares the slot past the last feature, which is minus infinity, with its answer. Every tree
//! is walked as many steps as the longest path among its neighbours has, without asking whether
//! it has arrived, and several trees descend in step, so that their loads overlap.

use std::collections::VecDeque;
use std::sync::OnceLock;

use super::block::{BLOCK, Blocked};
use super::grow::{Node, Tree};
use crate::terms::{FEATURES, Features};

/// Leaf answers are multiples of this log ratio: a hundredth of a per mille.
pub(crate) const LEAF_STEP: f64 = 1e-5;

/// Longest path of a tree.
pub(super) const LONGEST: usize = 24;

/// Trees that descend together; more do not fit the processor's registers.
const LANES: usize = 8;

/// Slots of the features; [`FEATURES`] is one less, which makes it a mask.
type Slots = [f32; FEATURES + 1];

/// Bits of a place in the array of nodes; the feature's slot lies above.
const PLACE_BITS: u32 = 24;

/// Most nodes of a forest.
pub(super) const MOST_NODES: usize = 1 << PLACE_BITS;

/// A split, or a leaf.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Packed {
    /// Above this the second child follows; of a leaf, its answer.
    threshold: f32,
    /// Slot of the feature, and place of the first child; of a leaf, its own place.
    next: u32,
}

/// Fewest rows that a block answers sooner than the walk does row by row.
const LEAST_OF_BLOCK: usize = 40;

/// Fitted trees.
#[derive(Debug, Clone)]
pub(crate) struct Forest {
    base: f64,
    nodes: Vec<Packed>,
    /// Root and longest path of every tree.
    trees: Vec<(u32, u8)>,
    /// The same for blocks of rows, where it can be; derived at the first block.
    blocked: OnceLock<Option<Blocked>>,
}

impl PartialEq for Forest {
    fn eq(&self, other: &Self) -> bool {
        (self.base, &self.nodes, &self.trees) == (other.base, &other.nodes, &other.trees)
    }
}

impl Packed {
    fn split(feature: usize, threshold: f32, first_child: usize) -> Self {
        Packed { threshold, next: (feature as u32) << PLACE_BITS | first_child as u32 }
    }

    fn leaf(steps: i32, place: usize) -> Self {
        let answer = (f64::from(steps) * LEAF_STEP) as f32;
        Packed::split(FEATURES, answer, place)
    }

    #[inline(always)]
    fn slot(self) -> usize {
        (self.next >> PLACE_BITS) as usize & FEATURES
    }

    #[inline(always)]
    fn place(self) -> usize {
        self.next as usize & (MOST_NODES - 1)
    }
}

impl Forest {
    /// No trees: answers `base`.
    pub(super) fn new(base: f64) -> Self {
        Forest { base, nodes: Vec::new(), trees: Vec::new(), blocked: OnceLock::new() }
    }

    /// What is answered before any tree is asked.
    pub(super) fn base(&self) -> f64 {
        self.base
    }

    /// Adds a tree, whose paths are at most [`LONGEST`] long; refuses what the array cannot hold.
    pub(super) fn push(&mut self, tree: &Tree) -> Result<(), &'static str> {
        let root = self.nodes.len();
        if root + tree.nodes.len() > MOST_NODES {
            return Err("more nodes than a forest can hold");
        }
        self.blocked = OnceLock::new();
        let mut longest = 0;
        let mut next_place = root + 1;
        let mut queue = VecDeque::from([(0, 0)]);
        while let Some((node, level)) = queue.pop_front() {
            longest = longest.max(level);
            let place = self.nodes.len();
            self.nodes.push(match tree.nodes[node] {
                Node::Leaf { steps } => Packed::leaf(steps, place),
                Node::Split { feature, threshold, first_child } => {
                    queue.extend([(first_child, level + 1), (first_child + 1, level + 1)]);
                    next_place += 2;
                    Packed::split(feature, threshold, next_place - 2)
                }
            });
        }
        self.trees.push((root as u32, longest));
        Ok(())
    }

    /// Number of trees.
    pub(crate) fn trees(&self) -> usize {
        self.trees.len()
    }

    /// The nodes of a tree breadth first, children by their place in it.
    pub(super) fn tree(&self, index: usize) -> Vec<Node> {
        let root = self.trees[index].0 as usize;
        let node = |packed: &Packed| match packed.slot() {
            FEATURES => {
                let steps = f64::from(packed.threshold) / LEAF_STEP;
                Node::Leaf { steps: steps.round() as i32 }
            }
            feature => {
                let first_child = packed.place() - root;
                Node::Split { feature, threshold: packed.threshold, first_child }
            }
        };
        self.nodes_of(index).iter().map(node).collect()
    }

    /// The answers of a tree's leaves breadth first.
    pub(super) fn leaves(&self, index: usize) -> Vec<f32> {
        let leaves = self.nodes_of(index).iter().filter(|packed| packed.slot() == FEATURES);
        leaves.map(|packed| packed.threshold).collect()
    }

    fn nodes_of(&self, index: usize) -> &[Packed] {
        let root = self.trees[index].0 as usize;
        let end = self.trees.get(index + 1).map_or(self.nodes.len(), |next| next.0 as usize);
        &self.nodes[root..end]
    }

    /// The answers for the features of at most [`BLOCK`] rows, in order; beyond the rows there is
    /// nothing of meaning. The same to the last bit as [`Forest::answer`] row by row.
    pub(crate) fn answer_block(&self, rows: &[Features]) -> [f64; BLOCK] {
        if rows.len() >= LEAST_OF_BLOCK
            && let Some(blocked) = self.blocked.get_or_init(|| Blocked::of(self))
        {
            return blocked.answer(rows);
        }
        let mut answers = [self.base; BLOCK];
        for (answer, row) in answers.iter_mut().zip(rows) {
            *answer = self.answer(row.slots());
        }
        answers
    }

    /// The answer for the features in `slots`. Never allocates.
    pub(crate) fn answer(&self, slots: &Slots) -> f64 {
        let mut sum = self.base;
        let mut groups = self.trees.chunks_exact(LANES);
        for group in &mut groups {
            let roots = std::array::from_fn(|lane| group[lane].0 as usize);
            let longest = group.iter().fold(0, |longest, tree| tree.1.max(longest));
            for answer in self.descend::<LANES>(roots, longest, slots) {
                sum += f64::from(answer);
            }
        }
        for &(root, longest) in groups.remainder() {
            sum += f64::from(self.descend([root as usize], longest, slots)[0]);
        }
        sum
    }

    /// The answers of the trees at `roots` after so many steps down.
    #[inline(always)]
    fn descend<const N: usize>(&self, roots: [usize; N], steps: u8, slots: &Slots) -> [f32; N] {
        let nodes = self.nodes.as_slice();
        let mut at = roots;
        for _ in 0..steps {
            for at in &mut at {
                let node = nodes[*at];
                *at = node.place() + usize::from(slots[node.slot()] > node.threshold);
            }
        }
        at.map(|at| nodes[at].threshold)
    }
}
