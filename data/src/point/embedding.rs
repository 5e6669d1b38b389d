//! Embedding bags: rows of `tables` tables gathered by index and summed per sample.

use std::fmt;
use std::str::FromStr;

use crate::dtype::Dtype;
use crate::nearest::{self, UnknownName};
use crate::point::parts::{Parameters, PointError, VariantName, Work, at_least_one, fits};

/// Bins of a reuse histogram: bin `i` counts the distinct rows looked up `(2^(i-1), 2^i]`
/// times in one batch, the last one everything above (the reference system's RF, 17 bins).
pub const REUSE_BINS: usize = 17;

/// Forward, or backward fused with the optimizer's update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Gather and pool.
    Forward,
    /// Scatter gradients and update the rows.
    Backward,
}

impl Direction {
    /// `forward` or `backward`.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Forward => "forward",
            Direction::Backward => "backward",
        }
    }
}

impl FromStr for Direction {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        match text {
            "forward" => Ok(Direction::Forward),
            "backward" => Ok(Direction::Backward),
            _ => Err(nearest::unknown("direction", text, ["forward", "backward"])),
        }
    }
}

/// The update fused into the backward pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Optimizer {
    /// `w -= rate * gradient`.
    #[default]
    Sgd,
    /// One accumulated square per row.
    RowWiseAdagrad,
    /// None: the gradient of the whole table is written, zeroes included, and what becomes of it
    /// is another op. The backward pass of PyTorch's `nn.Embedding` and `nn.EmbeddingBag`.
    Dense,
}

impl Optimizer {
    /// `sgd`, `rowwise_adagrad` or `dense`.
    pub const fn name(self) -> &'static str {
        match self {
            Optimizer::Sgd => "sgd",
            Optimizer::RowWiseAdagrad => "rowwise_adagrad",
            Optimizer::Dense => "dense",
        }
    }
}

impl FromStr for Optimizer {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        match text {
            "" | "sgd" => Ok(Optimizer::Sgd),
            "rowwise_adagrad" | "row_wise_adagrad" => Ok(Optimizer::RowWiseAdagrad),
            "dense" | "dense_gradient" => Ok(Optimizer::Dense),
            _ => Err(nearest::unknown("optimizer", text, ["sgd", "rowwise_adagrad", "dense"])),
        }
    }
}

/// Shares of distinct rows per reuse bin, in parts per million; see [`REUSE_BINS`].
pub type ReuseHistogram = [u32; REUSE_BINS];

/// How indices are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distribution {
    /// Every row equally likely.
    Uniform,
    /// Row `r` (from 1) with probability proportional to `r^-exponent`.
    Zipf {
        /// The exponent in thousandths: 1050 is 1.05.
        exponent_milli: u32,
    },
    /// Rows reused as often as the histogram says.
    Reuse(ReuseHistogram),
}

impl Distribution {
    /// `uniform`, `zipf` or `reuse`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Distribution::Uniform => "uniform",
            Distribution::Zipf { .. } => "zipf",
            Distribution::Reuse(_) => "reuse",
        }
    }
}

/// The shares of all bins, separated by `/`.
fn all_bins<T>(shares: &str, parse: impl Fn(&str) -> Option<T>) -> Option<[T; REUSE_BINS]> {
    let shares: Option<Vec<T>> = shares.split('/').map(parse).collect();
    shares?.try_into().ok()
}

/// A share: a number from zero on, in any unit.
fn share(text: &str) -> Option<f64> {
    text.parse().ok().filter(|share: &f64| share.is_finite() && (0.0..1e15).contains(share))
}

/// Shares in parts per million of their sum; none where they are all zero.
fn per_million(shares: [f64; REUSE_BINS]) -> Option<ReuseHistogram> {
    let sum: f64 = shares.iter().sum();
    (sum > 0.0).then(|| shares.map(|share| (share / sum * 1e6).round() as u32))
}

/// `uniform`, `zipf:1.05`, `reuse:812000/90000/...` (17 shares in parts per million).
impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Uniform => f.write_str("uniform"),
            Distribution::Zipf { exponent_milli } => {
                write!(f, "zipf:{}", f64::from(*exponent_milli) / 1e3)
            }
            Distribution::Reuse(bins) => {
                let shares: Vec<String> = bins.iter().map(u32::to_string).collect();
                write!(f, "reuse:{}", shares.join("/"))
            }
        }
    }
}

/// As written, and with the shares in any unit; `access:...` has the shares of the lookups that
/// go to the rows of each bin instead of the shares of the rows, and means the same histogram.
impl FromStr for Distribution {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let refuse = || {
            nearest::unknown(
                "distribution",
                text,
                ["uniform", "zipf:1.05", "reuse:.../...", "access:.../..."],
            )
        };
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match (kind, rest) {
            ("uniform", "") => Ok(Distribution::Uniform),
            ("zipf", exponent) => {
                let exponent: f64 = exponent.parse().map_err(|_| refuse())?;
                if !(0.0..=10.0).contains(&exponent) {
                    return Err(refuse());
                }
                Ok(Distribution::Zipf { exponent_milli: (exponent * 1e3).round() as u32 })
            }
            ("reuse", shares) => {
                if let Some(exact) = all_bins(shares, |share| share.parse().ok()) {
                    return Ok(Distribution::Reuse(exact));
                }
                let shares = all_bins(shares, share).ok_or_else(refuse)?;
                Ok(Distribution::Reuse(per_million(shares).ok_or_else(refuse)?))
            }
            ("access", shares) => {
                let lookups = all_bins(shares, share).ok_or_else(refuse)?;
                let rows = std::array::from_fn(|bin| lookups[bin] / middle_of_bin(bin));
                Ok(Distribution::Reuse(per_million(rows).ok_or_else(refuse)?))
            }
            _ => Err(refuse()),
        }
    }
}

/// An embedding-bag op over `tables` equal tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EmbeddingPoint {
    /// Forward or backward.
    pub direction: Direction,
    /// The update of the backward pass; [`Optimizer::Sgd`] for forward points.
    pub optimizer: Optimizer,
    /// Element type of the rows.
    pub dtype: Dtype,
    /// Tables in one op.
    pub tables: u64,
    /// Rows of each table.
    pub rows: u64,
    /// Elements of a row.
    pub dim: u64,
    /// Samples.
    pub batch: u64,
    /// Indices per sample and table.
    pub pooling: u64,
    /// How the indices are drawn.
    pub distribution: Distribution,
}

impl EmbeddingPoint {
    /// Lookups into one table: `batch * pooling`.
    pub fn lookups(&self) -> u64 {
        self.batch.saturating_mul(self.pooling)
    }

    /// Expected number of distinct rows of one table that a batch touches.
    ///
    /// Uniform: `E (1 - (1 - 1/E)^(B L))` (reference system, embedding heuristics). Zipf: the
    /// sum over rows of `1 - (1 - p_r)^(B L)`, in geometric buckets of rows. Reuse: lookups
    /// over the histogram's mean reuse, each bin taken at the middle of its range.
    pub fn distinct_rows(&self) -> f64 {
        let lookups = self.lookups() as f64;
        let rows = self.rows as f64;
        let distinct = match &self.distribution {
            Distribution::Uniform => rows * touched(1.0 / rows, lookups),
            Distribution::Zipf { exponent_milli } => {
                zipf_distinct(rows, f64::from(*exponent_milli) / 1e3, lookups)
            }
            Distribution::Reuse(bins) => {
                let total: f64 = bins.iter().map(|share| f64::from(*share)).sum();
                let reuse: f64 = bins
                    .iter()
                    .enumerate()
                    .map(|(bin, share)| f64::from(*share) * middle_of_bin(bin))
                    .sum();
                if total > 0.0 && reuse > 0.0 { lookups * total / reuse } else { 0.0 }
            }
        };
        distinct.clamp(0.0, rows.min(lookups))
    }

    pub(super) fn variant(&self) -> VariantName {
        let dtype = self.dtype.name();
        let kind = self.distribution.kind();
        match self.direction {
            Direction::Forward => VariantName::join(&["forward", dtype, kind]),
            Direction::Backward => {
                VariantName::join(&["backward", self.optimizer.name(), dtype, kind])
            }
        }
    }

    pub(super) fn parameter_names(&self) -> [&'static str; 6] {
        let last = match self.distribution {
            Distribution::Uniform => "skew",
            Distribution::Zipf { .. } => "exponent_milli",
            Distribution::Reuse(_) => "distinct_rows",
        };
        ["tables", "rows", "dim", "batch", "pooling", last]
    }

    pub(super) fn parameters(&self) -> Parameters {
        let last = match &self.distribution {
            Distribution::Uniform => 0,
            Distribution::Zipf { exponent_milli } => u64::from(*exponent_milli),
            Distribution::Reuse(_) => self.distinct_rows().round() as u64,
        };
        Parameters::new(&[self.tables, self.rows, self.dim, self.batch, self.pooling, last])
    }

    pub(super) fn axis(&self) -> usize {
        3
    }

    /// Traffic without any reuse: each lookup moves its row, each bag its offset and output.
    pub(super) fn work(&self) -> Work {
        let bags = self.tables as f64 * self.batch as f64;
        let lookups = bags * self.pooling as f64;
        let row = self.dim as f64 * self.dtype.size() as f64;
        let indices = 8.0 * (lookups + bags);
        let flops = lookups * self.dim as f64;
        match self.direction {
            Direction::Forward => {
                Work { flops, bytes_read: lookups * row + indices, bytes_written: bags * row }
            }
            Direction::Backward if self.optimizer == Optimizer::Dense => Work {
                flops,
                bytes_read: lookups * row + indices,
                bytes_written: self.tables as f64 * self.rows as f64 * row,
            },
            Direction::Backward => Work {
                flops: 2.0 * flops,
                bytes_read: lookups * row + bags * row + indices,
                bytes_written: lookups * row,
            },
        }
    }

    pub(super) fn check(&self) -> Result<(), PointError> {
        at_least_one(&[
            ("tables", self.tables),
            ("rows", self.rows),
            ("dim", self.dim),
            ("batch", self.batch),
        ])?;
        let size = self.dtype.size();
        fits("tables * rows * dim in bytes", &[self.tables, self.rows, self.dim, size])?;
        fits(
            "tables * batch * pooling in bytes",
            &[self.tables, self.batch, self.pooling.max(1), 8],
        )?;
        fits("tables * batch * dim in bytes", &[self.tables, self.batch, self.dim, size])
    }
}

/// Middle of reuse bin `bin` on a logarithmic axis; bin 0 is exactly one lookup.
fn middle_of_bin(bin: usize) -> f64 {
    if bin == 0 { 1.0 } else { 0.75 * (1_u64 << bin) as f64 }
}

/// Probability that something of probability `share` is drawn at least once in `draws`. From
/// `libm`, because features of models come from it and must be the same on every machine.
fn touched(share: f64, draws: f64) -> f64 {
    -libm::expm1(draws * libm::log1p(-share.min(1.0)))
}

/// Expected distinct rows of `lookups` draws from a Zipf law over `rows` rows.
fn zipf_distinct(rows: f64, exponent: f64, lookups: f64) -> f64 {
    let weight = |middle: f64| libm::pow(middle, -exponent);
    let total: f64 = zipf_buckets(rows).map(|(count, middle)| count * weight(middle)).sum();
    zipf_buckets(rows).map(|(count, middle)| count * touched(weight(middle) / total, lookups)).sum()
}

/// Runs of neighbouring rows that are taken to be equally likely: how many, and their middle.
fn zipf_buckets(rows: f64) -> impl Iterator<Item = (f64, f64)> {
    /// An eighth of an octave; the sum is within 0.5 % of the exact one from there on.
    const RATIO: f64 = 1.090_507_732_665_257_7;
    let mut first = 1.0_f64;
    std::iter::from_fn(move || {
        if first > rows {
            return None;
        }
        let last = (first * RATIO).floor().max(first).min(rows);
        let bucket = (last - first + 1.0, (first + last) / 2.0);
        first = last + 1.0;
        Some(bucket)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bag(rows: u64, batch: u64, pooling: u64, distribution: Distribution) -> EmbeddingPoint {
        EmbeddingPoint {
            direction: Direction::Forward,
            optimizer: Optimizer::Sgd,
            dtype: Dtype::F32,
            tables: 8,
            rows,
            dim: 64,
            batch,
            pooling,
            distribution,
        }
    }

    #[test]
    fn distinct_rows_of_the_reference_example() {
        // Reference system, golden check of the embedding heuristics: U = 185 190.
        let distinct = bag(1_000_000, 2048, 100, Distribution::Uniform).distinct_rows();
        assert!((distinct - 185_190.0).abs() < 5.0, "{distinct}");
    }

    #[test]
    fn zipf_with_exponent_zero_is_uniform_and_skew_lowers_the_count() {
        let count = |exponent_milli| {
            bag(100_000, 512, 20, Distribution::Zipf { exponent_milli }).distinct_rows()
        };
        let uniform = bag(100_000, 512, 20, Distribution::Uniform).distinct_rows();
        assert!((count(0) / uniform - 1.0).abs() < 1e-6);
        assert!(count(800) < uniform && count(1200) < count(800));
    }

    /// Published statistics of facebookresearch/dlrm_datasets, 2021, file 0: 887 017 990 lookups
    /// of 128 435 723 distinct rows, 6.9 each. The shares of rows are printed with three digits,
    /// which is too few for the rows that are looked up most.
    #[test]
    fn published_histograms_give_the_published_reuse() {
        let access = "access:.069/.044/.068/.101/.121/.104/.073/.058/.052/.050/.049/.048/.048/.043\
                      /.031/.023/.019";
        let distribution = access.parse().unwrap();
        let bag = EmbeddingPoint { rows: 1 << 40, ..bag(1, 1_000_000, 10, distribution) };
        let reuse = bag.lookups() as f64 / bag.distinct_rows();
        assert!((reuse / 6.9 - 1.0).abs() < 0.1, "{reuse}");
    }

    #[test]
    fn distributions_read_back_as_written() {
        let mut bins = [0; REUSE_BINS];
        bins[0] = 900_000;
        bins[3] = 100_000;
        for distribution in [
            Distribution::Uniform,
            Distribution::Zipf { exponent_milli: 1050 },
            Distribution::Reuse(bins),
        ] {
            assert_eq!(distribution.to_string().parse(), Ok(distribution));
        }
        for wrong in ["access:1/2", "access:0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0"] {
            assert!(wrong.parse::<Distribution>().is_err(), "{wrong}");
        }
        assert!("zipf:".parse::<Distribution>().is_err());
        assert!("reuse:1/2".parse::<Distribution>().is_err());
    }
}
