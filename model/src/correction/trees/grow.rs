//! Growing one tree: the leaf whose split gains most is split next.

use super::bins::Bins;
use super::forest::LEAF_STEP;
use super::params::TreesValidParams;

/// A split or a leaf, in the order the tree is stored: a node's children lie side by side.
#[derive(Debug, Clone, Copy)]
pub(super) enum Node {
    /// Rows whose feature is at most the threshold go to the first child, others to the next.
    Split { feature: usize, threshold: f32, first_child: usize },
    /// The tree's answer, in steps of [`LEAF_STEP`].
    Leaf { steps: i32 },
}

/// One grown tree.
pub(super) struct Tree {
    pub nodes: Vec<Node>,
}

impl Tree {
    /// Number of leaves.
    pub(super) fn leaves(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node, Node::Leaf { .. })).count()
    }
}

/// The state of boosting: what is still unexplained.
pub(super) struct Boosting<'bins> {
    bins: &'bins Bins,
    base: f64,
    residuals: Vec<f64>,
    clipped: Vec<f64>,
    rows: Vec<u32>,
    spare: Vec<Vec<Bin>>,
}

/// Sum of residuals and number of rows of one bin.
#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    sum: f64,
    count: f64,
}

#[derive(Debug, Clone, Copy)]
struct Split {
    gain: f64,
    feature: usize,
    bin: usize,
}

/// A leaf that may still be split.
struct Open {
    node: usize,
    from: usize,
    to: usize,
    depth: usize,
    histogram: Vec<Bin>,
    best: Option<Split>,
}

impl<'bins> Boosting<'bins> {
    /// Starts from the mean of `targets`.
    pub(super) fn new(bins: &'bins Bins, targets: Vec<f64>) -> Self {
        let mean = targets.iter().sum::<f64>() / targets.len().max(1) as f64;
        let base = (mean / LEAF_STEP).round() * LEAF_STEP;
        let residuals: Vec<f64> = targets.iter().map(|target| target - base).collect();
        let rows = (0..residuals.len() as u32).collect();
        Boosting { bins, base, clipped: residuals.clone(), residuals, rows, spare: Vec::new() }
    }

    /// What boosting starts from.
    pub(super) fn base(&self) -> f64 {
        self.base
    }

    fn histogram(&mut self, from: usize, to: usize) -> Vec<Bin> {
        let mut histogram = self.spare.pop().unwrap_or_default();
        histogram.clear();
        histogram.resize(self.bins.total(), Bin::default());
        let offsets = &self.bins.offsets()[..self.bins.width()];
        for &row in &self.rows[from..to] {
            let residual = self.clipped[row as usize];
            for (bin, offset) in self.bins.row(row as usize).iter().zip(offsets) {
                let slot = &mut histogram[offset + usize::from(*bin)];
                slot.sum += residual;
                slot.count += 1.0;
            }
        }
        histogram
    }

    fn best_split(&self, histogram: &[Bin], params: &TreesValidParams) -> Option<Split> {
        let offsets = self.bins.offsets();
        let first = &histogram[..offsets[1]];
        let total = first.iter().map(|bin| bin.sum).sum::<f64>();
        let count = first.iter().map(|bin| bin.count).sum::<f64>();
        let least = params.least_rows as f64;
        let score = |sum: f64, count: f64| sum * sum / (count + params.ridge);
        let parent = score(total, count);
        let mut best: Option<Split> = None;
        for feature in 0..self.bins.width() {
            let (mut sum, mut below) = (0.0, 0.0);
            let of_feature = &histogram[offsets[feature]..offsets[feature + 1]];
            for (bin, slot) in of_feature[..of_feature.len() - 1].iter().enumerate() {
                sum += slot.sum;
                below += slot.count;
                if below < least || slot.count == 0.0 {
                    continue;
                }
                if count - below < least {
                    break;
                }
                let gain = score(sum, below) + score(total - sum, count - below) - parent;
                if gain > 1e-9 && best.is_none_or(|best| gain > best.gain) {
                    best = Some(Split { gain, feature, bin });
                }
            }
        }
        best.map(|split| {
            // No row of this node lies in the bins that follow empty: the threshold goes to
            // their middle, which serves rows never seen best.
            let after = &histogram[offsets[split.feature] + split.bin + 1..];
            let empty = after.iter().take_while(|slot| slot.count == 0.0).count();
            Split { bin: split.bin + empty / 2, ..split }
        })
    }

    /// Moves the rows of a split's first child to the front, keeping their order.
    fn partition(&mut self, from: usize, to: usize, split: &Split) -> usize {
        let mut second = Vec::new();
        let mut at = from;
        for index in from..to {
            let row = self.rows[index];
            if usize::from(self.bins.row(row as usize)[split.feature]) <= split.bin {
                self.rows[at] = row;
                at += 1;
            } else {
                second.push(row);
            }
        }
        self.rows[at..to].copy_from_slice(&second);
        at
    }

    /// The answer of a leaf, which is taken off the residuals of its rows.
    fn close(&mut self, from: usize, to: usize, params: &TreesValidParams) -> i32 {
        let sum: f64 = self.rows[from..to].iter().map(|&row| self.clipped[row as usize]).sum();
        let answer = params.learning_rate * sum / ((to - from) as f64 + params.ridge);
        let steps = (answer / LEAF_STEP).round() as i32;
        for &row in &self.rows[from..to] {
            self.residuals[row as usize] -= f64::from(steps) * LEAF_STEP;
        }
        steps
    }

    fn open(
        &self,
        node: usize,
        span: (usize, usize),
        depth: usize,
        histogram: Vec<Bin>,
        params: &TreesValidParams,
    ) -> Open {
        let (from, to) = span;
        let may_split = depth < params.depth && to - from >= 2 * params.least_rows;
        let best = if may_split { self.best_split(&histogram, params) } else { None };
        Open { node, from, to, depth, histogram, best }
    }
}

/// Grows a tree on the residuals and takes its answers off them.
pub(super) fn grow(boosting: &mut Boosting<'_>, params: &TreesValidParams) -> Tree {
    let clip = params.clip;
    for (clipped, residual) in boosting.clipped.iter_mut().zip(&boosting.residuals) {
        *clipped = residual.clamp(-clip, clip);
    }
    let rows = boosting.bins.rows();
    let histogram = boosting.histogram(0, rows);
    let mut nodes = vec![Node::Leaf { steps: 0 }];
    let mut leaves = vec![boosting.open(0, (0, rows), 0, histogram, params)];
    while leaves.len() < params.leaves {
        let Some((index, split)) = next_split(&leaves) else { break };
        let Open { node, from, to, depth, histogram, .. } = leaves.swap_remove(index);
        let middle = boosting.partition(from, to, &split);
        let (first_rows, second_rows) = (middle - from, to - middle);
        let small = if first_rows <= second_rows { (from, middle) } else { (middle, to) };
        let of_small = boosting.histogram(small.0, small.1);
        let mut of_large = histogram;
        for (large, small) in of_large.iter_mut().zip(&of_small) {
            large.sum -= small.sum;
            large.count -= small.count;
        }
        let (of_first, of_second) =
            if first_rows <= second_rows { (of_small, of_large) } else { (of_large, of_small) };
        let first_child = nodes.len();
        let threshold = boosting.bins.edge(split.feature, split.bin);
        nodes[node] = Node::Split { feature: split.feature, threshold, first_child };
        nodes.extend([Node::Leaf { steps: 0 }; 2]);
        leaves.push(boosting.open(first_child, (from, middle), depth + 1, of_first, params));
        leaves.push(boosting.open(first_child + 1, (middle, to), depth + 1, of_second, params));
    }
    for leaf in leaves {
        let steps = boosting.close(leaf.from, leaf.to, params);
        nodes[leaf.node] = Node::Leaf { steps };
        boosting.spare.push(leaf.histogram);
    }
    Tree { nodes }
}

/// The leaf with the largest gain, the earliest node among equals.
fn next_split(leaves: &[Open]) -> Option<(usize, Split)> {
    leaves
        .iter()
        .enumerate()
        .filter_map(|(index, leaf)| leaf.best.map(|split| (index, split, leaf.node)))
        .max_by(|a, b| a.1.gain.total_cmp(&b.1.gain).then(b.2.cmp(&a.2)))
        .map(|(index, split, _)| (index, split))
}
