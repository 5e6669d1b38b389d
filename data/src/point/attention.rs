//! Scaled dot-product attention, over a prompt or one token at a time.

use std::str::FromStr;

use crate::dtype::Dtype;
use crate::nearest::{self, UnknownName};
use crate::point::parts::{Parameters, PointError, VariantName, Work, at_least_one, fits};

/// Which phase of inference, hence which kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttentionPhase {
    /// A prompt: `query_len` causal queries.
    Context,
    /// One query against `kv_len` cached keys.
    Generation,
}

impl AttentionPhase {
    /// `context` or `generation`.
    pub const fn name(self) -> &'static str {
        match self {
            AttentionPhase::Context => "context",
            AttentionPhase::Generation => "generation",
        }
    }
}

impl FromStr for AttentionPhase {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        match text {
            "context" | "prefill" => Ok(AttentionPhase::Context),
            "generation" | "decode" => Ok(AttentionPhase::Generation),
            _ => Err(nearest::unknown("attention phase", text, ["context", "generation"])),
        }
    }
}

/// An attention op.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttentionPoint {
    /// Context or generation.
    pub phase: AttentionPhase,
    /// Element type of queries and output.
    pub dtype: Dtype,
    /// Element type of the key and value cache.
    pub kv_dtype: Dtype,
    /// Sequences.
    pub batch: u64,
    /// Query heads.
    pub heads: u64,
    /// Key and value heads.
    pub kv_heads: u64,
    /// Elements of a head.
    pub head_dim: u64,
    /// Queries per sequence.
    pub query_len: u64,
    /// Keys per sequence, the new ones included.
    pub kv_len: u64,
    /// Sliding window in keys; 0 for none.
    pub window: u64,
}

impl AttentionPoint {
    pub(super) fn variant(&self) -> VariantName {
        VariantName::join(&[self.phase.name(), self.dtype.name(), self.kv_dtype.name()])
    }

    pub(super) fn parameter_names(&self) -> [&'static str; 7] {
        ["batch", "heads", "kv_heads", "head_dim", "query_len", "kv_len", "window"]
    }

    pub(super) fn parameters(&self) -> Parameters {
        Parameters::new(&[
            self.batch,
            self.heads,
            self.kv_heads,
            self.head_dim,
            self.query_len,
            self.kv_len,
            self.window,
        ])
    }

    /// Batch: it is swept at every length, while the two lengths move together.
    pub(super) fn axis(&self) -> usize {
        0
    }

    /// Two products of `2 q k d` per head over the causal, windowed pairs of query and key.
    pub(super) fn work(&self) -> Work {
        let [batch, heads, kv_heads, dim] =
            [self.batch, self.heads, self.kv_heads, self.head_dim].map(|v| v as f64);
        let [queries, keys] = [self.query_len, self.kv_len].map(|v| v as f64);
        let seen = if self.window > 0 { keys.min(self.window as f64) } else { keys };
        // Query i of the last `queries` sees `keys - queries + i` keys, at most the window.
        let earlier = (keys - queries).max(0.0);
        let ramp = (seen - earlier).clamp(0.0, queries);
        let pairs = queries * seen.min(keys) - ramp * (ramp - 1.0).max(0.0) / 2.0;
        let reach = keys.min(seen + queries - 1.0);
        Work {
            flops: 4.0 * batch * heads * pairs * dim,
            bytes_read: batch
                * dim
                * (heads * queries * self.dtype.size() as f64
                    + 2.0 * kv_heads * reach * self.kv_dtype.size() as f64),
            bytes_written: batch * heads * queries * dim * self.dtype.size() as f64,
        }
    }

    pub(super) fn check(&self) -> Result<(), PointError> {
        at_least_one(&[
            ("batch", self.batch),
            ("heads", self.heads),
            ("kv_heads", self.kv_heads),
            ("head_dim", self.head_dim),
            ("query_len", self.query_len),
            ("kv_len", self.kv_len),
        ])?;
        if !self.heads.is_multiple_of(self.kv_heads) {
            let (heads, kv_heads) = (self.heads, self.kv_heads);
            return Err(PointError::Inconsistent(format!(
                "`heads` {heads} is not a multiple of `kv_heads` {kv_heads}: each key and value \
                 head serves equally many query heads"
            )));
        }
        if self.kv_len < self.query_len {
            let (query_len, kv_len) = (self.query_len, self.kv_len);
            return Err(PointError::Inconsistent(format!(
                "`kv_len` {kv_len} is below `query_len` {query_len}: it counts the new keys too"
            )));
        }
        fits(
            "batch * heads * query_len * head_dim in bytes",
            &[self.batch, self.heads, self.query_len, self.head_dim, 8],
        )?;
        fits(
            "batch * kv_heads * kv_len * head_dim in bytes",
            &[self.batch, self.kv_heads, self.kv_len, self.head_dim, 16],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(query_len: u64, kv_len: u64, window: u64) -> AttentionPoint {
        AttentionPoint {
            phase: AttentionPhase::Context,
            dtype: Dtype::Bf16,
            kv_dtype: Dtype::Bf16,
            batch: 1,
            heads: 1,
            kv_heads: 1,
            head_dim: 1,
            query_len,
            kv_len,
            window,
        }
    }

    #[test]
    fn key_heads_must_divide_the_query_heads() {
        let checked = |heads, kv_heads| {
            let point = AttentionPoint { heads, kv_heads, ..prompt(4, 4, 0) };
            point.check().map_err(|error| error.to_string())
        };
        for (heads, kv_heads) in [(1, 1), (32, 8), (71, 1), (32, 32)] {
            assert_eq!(checked(heads, kv_heads), Ok(()), "{heads} {kv_heads}");
        }
        for (heads, kv_heads) in [(32, 5), (8, 32), (71, 2)] {
            let error = checked(heads, kv_heads).unwrap_err();
            let named = format!("`heads` {heads} is not a multiple of `kv_heads` {kv_heads}");
            assert!(error.starts_with(&named), "{error}");
        }
    }

    #[test]
    fn pairs_are_causal_and_windowed() {
        let pairs = |point: AttentionPoint| point.work().flops / 4.0;
        assert_eq!(pairs(prompt(4, 4, 0)), 10.0);
        assert_eq!(pairs(prompt(1, 9, 0)), 9.0);
        assert_eq!(pairs(prompt(4, 4, 2)), 7.0);
        assert_eq!(pairs(prompt(2, 8, 3)), 6.0);
    }
}
