//! A forest for a block of rows: the same answers as [`Forest::answer`], several times as fast.
//!
//! One row after the other walks down every tree, and each step waits for the one before. Here no
//! row walks. Features become ranks among their thresholds, a byte each; then every split of a tree
//! is decided for all rows of the block at once, the lowest splits first: a split hands on what its
//! second child found where the rank lies above its own, else what its first child found, and the
//! root is left with the place of each row's leaf. Bytes side by side are what vector instructions
//! are for, and loops here are written for the compiler to see them; `pulp` picks those the
//! processor has. Leaf answers are added in the order of the trees, so that sums are the walk's to
//! the last bit.
//!
//! Left to others: forests that do not fit into bytes, and rows too few to fill a block.

use pulp::{Arch, Simd, WithSimd};

use super::forest::Forest;
use super::grow::Node;
use crate::terms::{FEATURES, Features};

/// Rows of a block: enough that what is done once for a split does not show, and few enough that
/// all splits of a tree stay in the first cache.
pub(crate) const BLOCK: usize = 128;

/// Most thresholds of a feature, whose ranks are bytes.
const MOST_THRESHOLDS: usize = u8::MAX as usize;

/// Most leaves of a tree, whose places are bytes.
const MOST_LEAVES: usize = 1 << u8::BITS;

/// Places of a tree: its splits, then its leaves.
const PLACES: usize = 2 * MOST_LEAVES;

/// The rank of one feature, of every row.
type Ranks = [i8; BLOCK];

/// Rows that are ranked together: as many as the processor's registers hold.
const RANKED: usize = 32;

/// A number of thresholds as a signed byte in the same order: older processors compare no others.
#[inline(always)]
fn rank(thresholds: usize) -> i8 {
    (thresholds as u8 ^ 1 << 7) as i8
}

/// The thresholds of one feature.
#[derive(Debug, Clone)]
struct Scale {
    /// Its slot.
    slot: usize,
    /// Ascending.
    thresholds: Vec<f32>,
}

/// A split.
#[derive(Debug, Clone, Copy)]
struct Split {
    /// Place of its feature among the scales.
    scale: u8,
    /// Rank of its threshold.
    rank: i8,
    /// Places of its children.
    children: [u16; 2],
}

/// A forest that answers blocks.
#[derive(Debug, Clone)]
pub(super) struct Blocked {
    base: f64,
    scales: Vec<Scale>,
    /// The splits of all trees, of each the lowest first.
    splits: Vec<Split>,
    /// Of each tree, the end of its splits and its first leaf.
    trees: Vec<(usize, usize)>,
    /// The answers of all leaves, and zeros enough to take [`MOST_LEAVES`] from any tree.
    answers: Vec<f32>,
}

impl Blocked {
    /// `forest` for blocks; none if it has more thresholds or leaves than bytes can tell apart.
    pub(super) fn of(forest: &Forest) -> Option<Self> {
        let trees: Vec<Vec<Node>> = (0..forest.trees()).map(|index| forest.tree(index)).collect();
        let scales = scales(&trees)?;
        let mut places = [0; FEATURES];
        for (place, scale) in scales.iter().enumerate() {
            places[scale.slot] = place as u8;
        }
        let mut blocked =
            Blocked { base: forest.base(), scales, splits: vec![], trees: vec![], answers: vec![] };
        for (index, tree) in trees.iter().enumerate() {
            blocked.push(tree, &places, forest.leaves(index))?;
        }
        blocked.answers.extend([0.0; MOST_LEAVES]);
        Some(blocked)
    }

    fn push(&mut self, tree: &[Node], places: &[u8], leaves: Vec<f32>) -> Option<()> {
        let inner = tree.len() - leaves.len();
        if leaves.len() > MOST_LEAVES {
            return None;
        }
        let (mut next_inner, mut next_leaf) = (0, MOST_LEAVES);
        // Splits from the last to the first: breadth first, children stand after their parents.
        let numbers: Vec<u16> = tree
            .iter()
            .map(|node| {
                let next = match node {
                    Node::Split { .. } => &mut next_inner,
                    Node::Leaf { .. } => &mut next_leaf,
                };
                *next += 1;
                match node {
                    Node::Split { .. } => (inner - *next) as u16,
                    Node::Leaf { .. } => (*next - 1) as u16,
                }
            })
            .collect();
        for node in tree.iter().rev() {
            let Node::Split { feature, threshold, first_child } = *node else { continue };
            let scale = places[feature];
            let thresholds = &self.scales[usize::from(scale)].thresholds;
            let rank = rank(thresholds.partition_point(|have| *have < threshold));
            let children = [numbers[first_child], numbers[first_child + 1]];
            self.splits.push(Split { scale, rank, children });
        }
        self.trees.push((self.splits.len(), self.answers.len()));
        self.answers.extend(leaves);
        Some(())
    }

    /// The answers for the features of at most [`BLOCK`] rows, in order.
    pub(super) fn answer(&self, rows: &[Features]) -> [f64; BLOCK] {
        Arch::new().dispatch(Answering { forest: self, rows })
    }
}

/// The thresholds of every feature in use; none if a feature has too many.
fn scales(trees: &[Vec<Node>]) -> Option<Vec<Scale>> {
    let mut used: Vec<Vec<f32>> = vec![Vec::new(); FEATURES];
    for node in trees.iter().flatten() {
        if let Node::Split { feature, threshold, .. } = node {
            used[*feature].push(*threshold);
        }
    }
    let mut scales = Vec::new();
    for (slot, mut thresholds) in used.into_iter().enumerate() {
        thresholds.sort_by(f32::total_cmp);
        thresholds.dedup();
        if thresholds.len() > MOST_THRESHOLDS {
            return None;
        }
        if !thresholds.is_empty() {
            scales.push(Scale { slot, thresholds });
        }
    }
    Some(scales)
}

impl Scale {
    /// The rank of each row's feature: how many thresholds lie below it. Counting them all takes
    /// no longer than searching, which vectors cannot.
    #[inline(always)]
    fn ranks(&self, rows: &[Features], ranks: &mut Ranks) {
        for (rows, ranks) in rows.chunks(RANKED).zip(ranks.chunks_exact_mut(RANKED)) {
            let mut values = [0.0; RANKED];
            for (value, row) in values.iter_mut().zip(rows) {
                *value = row.slots()[self.slot];
            }
            let mut below = [0_u32; RANKED];
            for threshold in &self.thresholds {
                for (below, value) in below.iter_mut().zip(&values) {
                    *below += u32::from(value > threshold);
                }
            }
            for (slot, below) in ranks.iter_mut().zip(below) {
                *slot = rank(below as usize);
            }
        }
    }
}

/// A block on its way through a forest.
struct Answering<'a> {
    forest: &'a Blocked,
    rows: &'a [Features],
}

impl WithSimd for Answering<'_> {
    type Output = [f64; BLOCK];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [f64; BLOCK] {
        let Answering { forest, rows } = self;
        let mut ranks = [[0; BLOCK]; FEATURES + 1];
        for (scale, ranks) in forest.scales.iter().zip(&mut ranks) {
            scale.ranks(rows, ranks);
        }
        // What each place of a tree found; a leaf itself.
        let mut found = [[0; BLOCK]; PLACES];
        for (leaf, found) in found[MOST_LEAVES..].iter_mut().enumerate() {
            *found = [leaf as u8; BLOCK];
        }
        let mut sums = [forest.base; BLOCK];
        let mut begin = 0;
        for &(end, first_leaf) in &forest.trees {
            for (place, split) in forest.splits[begin..end].iter().enumerate() {
                let ranks = &ranks[usize::from(split.scale) % (FEATURES + 1)];
                let [first, second] =
                    split.children.map(|child| found[usize::from(child) % PLACES]);
                let found = &mut found[place % PLACES];
                for row in 0..BLOCK {
                    // A choice between the two would become one between their addresses.
                    let second_is_it = 0_u8.wrapping_sub(u8::from(ranks[row] > split.rank));
                    found[row] = first[row] ^ ((first[row] ^ second[row]) & second_is_it);
                }
            }
            // A tree of one leaf has no split.
            let root = if end > begin { end - begin - 1 } else { MOST_LEAVES };
            begin = end;
            let answers = &forest.answers[first_leaf..first_leaf + MOST_LEAVES];
            for (sum, leaf) in sums.iter_mut().zip(&found[root % PLACES]) {
                *sum += f64::from(answers[usize::from(*leaf)]);
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correction::trees::grow::Tree;
    use crate::math::Stream;

    /// A tree of so many leaves, of paths as uneven as chance makes them.
    fn tree(stream: &mut Stream, leaves: usize, thresholds: u64) -> Tree {
        let mut nodes = vec![Node::Leaf { steps: 0 }];
        for _ in 1..leaves {
            let open = nodes.iter().enumerate();
            let open: Vec<usize> = open
                .filter(|(_, node)| matches!(node, Node::Leaf { .. }))
                .map(|(at, _)| at)
                .collect();
            // The last leaves are the deepest, the first the shallowest.
            let place = open[stream.next() as usize % open.len().min(12)];
            let feature = stream.next() as usize % FEATURES;
            let threshold = (stream.next() % thresholds) as f32 / 7.0;
            nodes[place] = Node::Split { feature, threshold, first_child: nodes.len() };
            for _ in 0..2 {
                nodes.push(Node::Leaf { steps: (stream.next() % 100_000) as i32 - 50_000 });
            }
        }
        Tree { nodes }
    }

    fn forest(trees: usize, leaves: usize, thresholds: u64) -> Forest {
        let mut stream = Stream::new(5);
        let mut forest = Forest::new(0.25);
        for index in 0..trees {
            let leaves = if index == 1 { 1 } else { leaves };
            forest.push(&tree(&mut stream, leaves, thresholds)).unwrap();
        }
        forest
    }

    /// Rows on thresholds, between them, beyond them, and without an order.
    fn rows(count: usize) -> Vec<Features> {
        let mut stream = Stream::new(8);
        let value = |drawn: u64| match drawn % 16 {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            _ => {
                f64::from((drawn >> 8) as u16 % 260) / 7.0 + if drawn & 64 > 0 { 0.0 } else { 0.01 }
            }
        };
        let row = |stream: &mut Stream| {
            let mut row = Features::new();
            (0..FEATURES).for_each(|_| row.push(value(stream.next())));
            row
        };
        (0..count).map(|_| row(&mut stream)).collect()
    }

    #[test]
    fn a_block_is_answered_as_row_by_row() {
        let rows = rows(BLOCK);
        for (leaves, thresholds) in [(127, 120), (256, 254), (2, 1), (31, 3)] {
            let forest = forest(40, leaves, thresholds);
            let blocked = Blocked::of(&forest).unwrap();
            for count in [BLOCK, 37, 1] {
                let answers = blocked.answer(&rows[..count]);
                for (row, answer) in rows[..count].iter().zip(answers) {
                    let walked = forest.answer(row.slots());
                    assert_eq!(answer.to_bits(), walked.to_bits(), "{leaves} {count}");
                }
                assert_eq!(forest.answer_block(&rows[..count])[..count], answers[..count]);
            }
        }
    }

    #[test]
    fn what_bytes_cannot_tell_apart_walks() {
        let rows = rows(BLOCK);
        for forest in [forest(3, 300, 9), forest(2000, 40, 4000)] {
            assert!(Blocked::of(&forest).is_none());
            let answers = forest.answer_block(&rows);
            assert_eq!(answers[7], forest.answer(rows[7].slots()));
        }
    }
}
