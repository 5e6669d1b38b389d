//! Matrix products: `c[m,n] = a[m,k] * b[k,n]`, `batch` of them.

use crate::dtype::Dtype;
use crate::point::gemm_layout::GemmLayout;
use crate::point::parts::{Parameters, PointError, VariantName, Work, at_least_one, fits};

/// A matrix product, or `batch` independent ones of the same shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GemmPoint {
    /// Element type of the operands.
    pub dtype: Dtype,
    /// Independent products in one call.
    pub batch: u64,
    /// Rows of `a` and `c` (tokens, in a linear layer).
    pub m: u64,
    /// Columns of `b` and `c` (output features).
    pub n: u64,
    /// The contracted dimension (input features).
    pub k: u64,
    /// How the operands lie in memory.
    pub layout: GemmLayout,
}

impl GemmPoint {
    /// Bytes of one element of the result: 8-bit floats are written with 16 bits, integers as the
    /// 32 bits that they are added up in.
    pub fn output_size(&self) -> u64 {
        match self.dtype {
            Dtype::Int8 if self.layout != GemmLayout::Unstated => 4,
            _ => self.dtype.size().max(2),
        }
    }

    pub(super) fn variant(&self) -> VariantName {
        match self.layout {
            GemmLayout::Unstated => VariantName::join(&[self.dtype.name()]),
            layout => VariantName::join(&[self.dtype.name(), layout.name()]),
        }
    }

    pub(super) fn parameter_names(&self) -> [&'static str; 4] {
        ["batch", "m", "n", "k"]
    }

    pub(super) fn parameters(&self) -> Parameters {
        Parameters::new(&[self.batch, self.m, self.n, self.k])
    }

    pub(super) fn axis(&self) -> usize {
        1
    }

    pub(super) fn work(&self) -> Work {
        let [batch, m, n, k] = [self.batch, self.m, self.n, self.k].map(|v| v as f64);
        Work {
            flops: 2.0 * batch * m * n * k,
            bytes_read: batch * k * (m + n) * self.dtype.size() as f64,
            bytes_written: batch * m * n * self.output_size() as f64,
        }
    }

    pub(super) fn check(&self) -> Result<(), PointError> {
        at_least_one(&[("batch", self.batch), ("m", self.m), ("n", self.n), ("k", self.k)])?;
        let size = self.dtype.size();
        fits("batch * m * k in bytes", &[self.batch, self.m, self.k, size])?;
        fits("batch * k * n in bytes", &[self.batch, self.k, self.n, size])?;
        fits("batch * m * n in bytes", &[self.batch, self.m, self.n, self.output_size()])
    }
}
