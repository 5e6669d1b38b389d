//! Points: one op with all its parameters fixed.
//!
//! Each op has a module with its parameters, its checks and the work it does. What is common to
//! all is said by [`Point`]: its [`Family`], its *variant* (the categorical parameters, which
//! select a model), its *parameters* (the integers, which are the model's coordinates), the
//! *axis* among them along which sweeps run, and its [`Work`].
//!
//! Left to others: how points are written in files (`dataset`), and which of them a sweep
//! contains (`kernelgauge-calibrate`).

mod attention;
mod collective;
mod copy;
mod custom;
mod embedding;
mod gemm;
mod gemm_layout;
pub mod launching;
mod memory;
mod parts;
mod rebuilt;

pub use attention::{AttentionPhase, AttentionPoint};
pub use collective::{Collective, CollectivePoint, EVEN};
pub use copy::{CopyDirection, CopyPoint};
pub use custom::CustomPoint;
pub use embedding::{
    Direction, Distribution, EmbeddingPoint, Optimizer, REUSE_BINS, ReuseHistogram,
};
pub use gemm::GemmPoint;
pub use gemm_layout::GemmLayout;
pub use memory::{MemoryOp, MemoryPoint};
pub use parts::{MAX_PARAMETERS, Parameters, PointError, VariantName, Work};

use std::fmt;

use crate::dtype::Dtype;
use crate::family::Family;

/// One op with all parameters fixed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// Matrix product.
    Gemm(GemmPoint),
    /// Embedding bag.
    Embedding(EmbeddingPoint),
    /// Memory-bound op.
    Memory(MemoryPoint),
    /// Copy.
    Copy(CopyPoint),
    /// Collective.
    Collective(CollectivePoint),
    /// Attention.
    Attention(AttentionPoint),
    /// Anything else over named integers.
    Custom(CustomPoint),
}

/// Runs `$body` with `$point` bound to whichever op the point holds.
macro_rules! each {
    ($self:expr, $point:ident => $body:expr) => {
        match $self {
            Point::Gemm($point) => $body,
            Point::Embedding($point) => $body,
            Point::Memory($point) => $body,
            Point::Copy($point) => $body,
            Point::Collective($point) => $body,
            Point::Attention($point) => $body,
            Point::Custom($point) => $body,
        }
    };
}

impl Point {
    /// The family the point belongs to.
    pub const fn family(&self) -> Family {
        match self {
            Point::Gemm(_) => Family::Gemm,
            Point::Embedding(_) => Family::Embedding,
            Point::Memory(_) => Family::Memory,
            Point::Copy(_) => Family::Copy,
            Point::Collective(_) => Family::Collective,
            Point::Attention(_) => Family::Attention,
            Point::Custom(_) => Family::Custom,
        }
    }

    /// The element type, of points that have one.
    pub const fn dtype(&self) -> Option<Dtype> {
        match self {
            Point::Gemm(point) => Some(point.dtype),
            Point::Embedding(point) => Some(point.dtype),
            Point::Memory(point) => Some(point.dtype),
            Point::Collective(point) => Some(point.dtype),
            Point::Attention(point) => Some(point.dtype),
            Point::Copy(_) | Point::Custom(_) => None,
        }
    }

    /// The categorical parameters as one name, such as `bf16` or `all_reduce/f16`. Together
    /// with the cache state it selects the model that speaks for the point. Never allocates.
    pub fn variant(&self) -> VariantName {
        each!(self, point => point.variant())
    }

    /// Names of the integer parameters, in the order of [`Point::parameters`].
    pub fn parameter_names(&self) -> Vec<&str> {
        each!(self, point => point.parameter_names().into_iter().collect())
    }

    /// Values of the integer parameters. Never allocates.
    pub fn parameters(&self) -> Parameters {
        each!(self, point => point.parameters())
    }

    /// Index of the parameter along which sweeps run and measured points are interpolated; all
    /// other parameters equal makes a *line*.
    pub fn axis(&self) -> usize {
        each!(self, point => point.axis())
    }

    /// Arithmetic and traffic of the op, from its shape alone.
    pub fn work(&self) -> Work {
        each!(self, point => point.work())
    }

    /// Checks that no parameter is zero where it may not be, and that products fit.
    ///
    /// # Errors
    /// Names the parameter and what is wrong with it.
    pub fn check(&self) -> Result<(), PointError> {
        each!(self, point => point.check())
    }
}

/// `gemm bf16 batch=1 m=4096 n=4096 k=4096`
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.family(), self.variant().as_str())?;
        for (name, value) in self.parameter_names().into_iter().zip(self.parameters().iter()) {
            write!(f, " {name}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;

    #[test]
    fn a_point_names_itself() {
        let point = Point::Gemm(GemmPoint {
            dtype: Dtype::Bf16,
            batch: 1,
            m: 8,
            n: 16,
            k: 32,
            layout: GemmLayout::Unstated,
        });
        assert_eq!(point.to_string(), "gemm bf16 batch=1 m=8 n=16 k=32");
        assert_eq!(point.parameter_names()[point.axis()], "m");
    }

    #[test]
    fn zero_and_overflow_are_refused_by_name() {
        let zero = Point::Gemm(GemmPoint {
            dtype: Dtype::F32,
            batch: 1,
            m: 0,
            n: 1,
            k: 1,
            layout: GemmLayout::Unstated,
        });
        assert!(zero.check().unwrap_err().to_string().contains("`m`"));
        let wide = Point::Gemm(GemmPoint {
            dtype: Dtype::F32,
            batch: 1,
            m: 1 << 40,
            n: 1 << 40,
            k: 1,
            layout: GemmLayout::Unstated,
        });
        assert!(wide.check().is_err());
    }
}
