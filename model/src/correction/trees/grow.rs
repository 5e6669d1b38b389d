//! Growing one tree: the leaf whose split gains most is split next.

use super::bins::Bins;
use super::forest::LEAF_STEP;
use super::histogram::{Bin, Layout, Scale};
use super::params::{Loss, TreesValidParams};
use crate::math::{Stream, median};

/// A split or a leaf, in the order the tree is stored: a node's children lie side by side.
#[derive(Debug, Clone, Copy, PartialEq)]
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
    /// What trees are grown on: residuals clipped, or their signs.
    gradients: Vec<f64>,
    scale: Scale,
    layout: Layout,
    drawn: Stream,
    rows: Vec<u32>,
    /// Rows of a second child, while they are told apart.
    second: Vec<u32>,
    /// Gradients of the rows that are being counted.
    values: Vec<Bin>,
    spare: Vec<Vec<Bin>>,
}

#[derive(Debug, Clone, Copy)]
struct Split {
    gain: f64,
    /// Place among the tree's features.
    place: usize,
    bin: usize,
}

/// Far above what rounding can make of a gain that is computed in two ways.
const SLACK: f64 = 1.0 + 1e-9;

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
    /// Starts from the mean of `targets`, or from the median where absolute values count: with
    /// nearly all rows on one side of it no split would gain, and nothing would be learned.
    pub(super) fn new(bins: &'bins Bins, targets: Vec<f64>, loss: Loss) -> Self {
        let middle = match loss {
            Loss::Huber { .. } => targets.iter().sum::<f64>() / targets.len().max(1) as f64,
            Loss::Absolute => median(targets.clone()),
        };
        let base = (middle / LEAF_STEP).round() * LEAF_STEP;
        let residuals: Vec<f64> = targets.iter().map(|target| target - base).collect();
        let rows: Vec<u32> = (0..residuals.len() as u32).collect();
        Boosting {
            bins,
            base,
            scale: Scale::of(rows.len(), 1.0),
            layout: Layout::of(bins, Vec::new()),
            drawn: Stream::new(0),
            second: vec![0; rows.len()],
            values: Vec::new(),
            gradients: residuals.clone(),
            residuals,
            rows,
            spare: Vec::new(),
        }
    }

    /// What boosting starts from.
    pub(super) fn base(&self) -> f64 {
        self.base
    }

    /// Takes the gradients anew and draws the features of the next tree.
    fn begin(&mut self, params: &TreesValidParams) {
        for (slot, residual) in self.gradients.iter_mut().zip(&self.residuals) {
            *slot = match params.loss {
                Loss::Huber { clip } => residual.clamp(-clip, clip),
                Loss::Absolute if *residual == 0.0 => 0.0,
                Loss::Absolute => residual.signum(),
            };
        }
        let largest = self.gradients.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        self.scale = Scale::of(self.gradients.len(), largest);
        let mut features: Vec<usize> = (0..self.bins.width()).collect();
        let wanted = (params.features * features.len() as f64).ceil() as usize;
        if wanted < features.len() {
            self.drawn.shuffle(&mut features);
            features.truncate(wanted.max(1));
            features.sort_unstable();
        }
        self.layout = Layout::of(self.bins, features);
    }

    fn histogram(&mut self, from: usize, to: usize) -> Vec<Bin> {
        let mut histogram = self.spare.pop().unwrap_or_default();
        histogram.clear();
        histogram.resize(self.layout.total(), Bin::default());
        let rows = &self.rows[from..to];
        self.values.clear();
        let (scale, gradients) = (self.scale, &self.gradients);
        self.values.extend(rows.iter().map(|&row| scale.row(gradients[row as usize])));
        self.layout.count(self.bins, rows, &self.values, &mut histogram);
        histogram
    }

    fn best_split(&self, histogram: &[Bin], params: &TreesValidParams) -> Option<Split> {
        let offsets = &self.layout.offsets;
        let mut whole = Bin::default();
        histogram[..offsets[1]].iter().for_each(|bin| whole.add(*bin));
        let least = params.least_rows as f64;
        let score = |sum: f64, count: f64| sum * sum / (count + params.ridge);
        let (total, count) = (self.scale.residual(whole.sum()), whole.count());
        let parent = score(total, count);
        // The least gain that is one, then the best so far.
        let mut least_gain = 1e-9;
        let mut best: Option<Split> = None;
        for place in 0..self.layout.features.len() {
            let mut low = Bin::default();
            let of_feature = &histogram[offsets[place]..offsets[place + 1]];
            for (bin, slot) in of_feature[..of_feature.len() - 1].iter().enumerate() {
                if slot.is_empty() {
                    continue;
                }
                low.add(*slot);
                let below = low.count();
                if below < least {
                    continue;
                }
                if count - below < least {
                    break;
                }
                // Whether the gain can be enough, without a division: most splits end here.
                let sum = self.scale.residual(low.sum());
                let (rest, above) = (total - sum, count - below);
                let (first, second) = (below + params.ridge, above + params.ridge);
                let scores = sum * sum * second + rest * rest * first;
                if scores * SLACK < (parent + least_gain) * first * second {
                    continue;
                }
                let gain = score(sum, below) + score(rest, above) - parent;
                if gain > least_gain {
                    least_gain = gain;
                    best = Some(Split { gain, place, bin });
                }
            }
        }
        best.map(|split| {
            // No row of this node lies in the bins that follow empty: the threshold goes to
            // their middle, which serves rows never seen best.
            let after = &histogram[offsets[split.place] + split.bin + 1..offsets[split.place + 1]];
            let empty = after.iter().take_while(|slot| slot.is_empty()).count();
            Split { bin: split.bin + empty / 2, ..split }
        })
    }

    /// Moves the rows of a split's first child to the front, keeping their order.
    fn partition(&mut self, from: usize, to: usize, split: &Split) -> usize {
        let column = self.bins.column(self.layout.features[split.place]);
        let (mut at, mut seconds) = (from, 0);
        for index in from..to {
            let row = self.rows[index];
            let is_first = usize::from(column[row as usize]) <= split.bin;
            // Written to both, kept in one: which one cannot be foreseen, and a branch would.
            self.rows[at] = row;
            self.second[seconds] = row;
            at += usize::from(is_first);
            seconds += usize::from(!is_first);
        }
        self.rows[at..to].copy_from_slice(&self.second[..seconds]);
        at
    }

    /// The answer of a leaf, which is taken off the residuals of its rows.
    fn close(&mut self, from: usize, to: usize, params: &TreesValidParams) -> i32 {
        let rows = &self.rows[from..to];
        let sum: f64 = match params.loss {
            Loss::Huber { .. } => rows.iter().map(|&row| self.gradients[row as usize]).sum(),
            // Signs say which rows belong together, not by how much they are off.
            Loss::Absolute => {
                let residuals = rows.iter().map(|&row| self.residuals[row as usize]).collect();
                median(residuals) * rows.len() as f64
            }
        };
        let answer = sum / (rows.len() as f64 + params.ridge);
        let steps = (params.learning_rate * answer / LEAF_STEP).round() as i32;
        for &row in rows {
            self.residuals[row as usize] -= f64::from(steps) * LEAF_STEP;
        }
        steps
    }

    /// A leaf with its best split; one without a histogram cannot be split.
    fn open(
        &self,
        node: usize,
        span: (usize, usize),
        depth: usize,
        histogram: Vec<Bin>,
        params: &TreesValidParams,
    ) -> Open {
        let (from, to) = span;
        let may_split = !histogram.is_empty() && may_split(span, depth, params);
        let best = if may_split { self.best_split(&histogram, params) } else { None };
        Open { node, from, to, depth, histogram, best }
    }

    /// Histograms of both children, of which the one with fewer rows is counted and the other
    /// is what is left of the parent's.
    fn split_histogram(
        &mut self,
        parent: Vec<Bin>,
        first: (usize, usize),
        second: (usize, usize),
    ) -> (Vec<Bin>, Vec<Bin>) {
        let first_is_small = first.1 - first.0 <= second.1 - second.0;
        let (from, to) = if first_is_small { first } else { second };
        let small = self.histogram(from, to);
        let mut large = parent;
        for (large, small) in large.iter_mut().zip(&small) {
            large.take(*small);
        }
        if first_is_small { (small, large) } else { (large, small) }
    }
}

/// Whether the rows of a leaf are enough for two, and its path not too long for a longer one.
fn may_split(span: (usize, usize), depth: usize, params: &TreesValidParams) -> bool {
    depth < params.depth && span.1 - span.0 >= 2 * params.least_rows
}

/// Grows a tree on the residuals and takes its answers off them.
pub(super) fn grow(boosting: &mut Boosting<'_>, params: &TreesValidParams) -> Tree {
    boosting.begin(params);
    let rows = boosting.bins.rows();
    let histogram = boosting.histogram(0, rows);
    let mut nodes = vec![Node::Leaf { steps: 0 }];
    let mut leaves = vec![boosting.open(0, (0, rows), 0, histogram, params)];
    while leaves.len() < params.leaves {
        let Some((index, split)) = next_split(&leaves) else { break };
        let Open { node, from, to, depth, histogram, .. } = leaves.swap_remove(index);
        let middle = boosting.partition(from, to, &split);
        let (first, second, depth) = ((from, middle), (middle, to), depth + 1);
        // The last split's children, and those at the end of the longest path, stay leaves.
        let goes_on = leaves.len() + 2 < params.leaves
            && (may_split(first, depth, params) || may_split(second, depth, params));
        let (of_first, of_second) = if goes_on {
            boosting.split_histogram(histogram, first, second)
        } else {
            boosting.spare.push(histogram);
            (Vec::new(), Vec::new())
        };
        let first_child = nodes.len();
        let feature = boosting.layout.features[split.place];
        let threshold = boosting.bins.edge(feature, split.bin);
        nodes[node] = Node::Split { feature, threshold, first_child };
        nodes.extend([Node::Leaf { steps: 0 }; 2]);
        leaves.push(boosting.open(first_child, first, depth, of_first, params));
        leaves.push(boosting.open(first_child + 1, second, depth, of_second, params));
    }
    for leaf in leaves {
        let steps = boosting.close(leaf.from, leaf.to, params);
        nodes[leaf.node] = Node::Leaf { steps };
        if !leaf.histogram.is_empty() {
            boosting.spare.push(leaf.histogram);
        }
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
