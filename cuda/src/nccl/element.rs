//! Element types and reductions, as NCCL numbers them.

use kernelgauge_data::Dtype;

use super::bindings::{ncclDataType_t, ncclRedOp_t};
use super::error::NcclError;
use super::version::Version;

/// An element type that NCCL moves and reduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element {
    dtype: Dtype,
    value: ncclDataType_t,
}

impl Element {
    /// The element type of NCCL for `dtype` in a library of this version.
    ///
    /// # Errors
    /// [`NcclError::Argument`] where there is none: tf32 and block-scaled fp8 are ways to
    /// multiply, not to store.
    pub fn of(dtype: Dtype, version: Version) -> Result<Self, NcclError> {
        let (value, since) = match dtype {
            Dtype::F64 => (ncclDataType_t::ncclFloat64, Version::new(2, 0, 0)),
            Dtype::F32 => (ncclDataType_t::ncclFloat32, Version::new(2, 0, 0)),
            Dtype::F16 => (ncclDataType_t::ncclFloat16, Version::new(2, 0, 0)),
            Dtype::Bf16 => (ncclDataType_t::ncclBfloat16, Version::new(2, 10, 0)),
            Dtype::Fp8 => (ncclDataType_t::ncclFloat8e4m3, Version::new(2, 24, 0)),
            Dtype::Int8 => (ncclDataType_t::ncclInt8, Version::new(2, 0, 0)),
            Dtype::Int32 => (ncclDataType_t::ncclInt32, Version::new(2, 0, 0)),
            Dtype::Int64 => (ncclDataType_t::ncclInt64, Version::new(2, 0, 0)),
            Dtype::Tf32 | Dtype::Fp8Block => {
                let what = format!("NCCL has no elements of type {dtype}");
                return Err(NcclError::Argument { what });
            }
        };
        if version < since {
            let what = format!("NCCL {version} has no elements of type {dtype}, {since} has");
            return Err(NcclError::Argument { what });
        }
        Ok(Element { dtype, value })
    }

    /// Bytes of one element.
    pub const fn size(self) -> u64 {
        self.dtype.size()
    }

    pub(super) const fn value(self) -> ncclDataType_t {
        self.value
    }
}

/// How the elements of several ranks are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// Their product.
    Product,
    /// The largest.
    Maximum,
    /// The smallest.
    Minimum,
    /// Their mean.
    Average,
}

impl Reduction {
    /// Every reduction.
    pub const ALL: [Reduction; 5] = [
        Reduction::Sum,
        Reduction::Product,
        Reduction::Maximum,
        Reduction::Minimum,
        Reduction::Average,
    ];

    /// The name nccl-tests gives it.
    pub const fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Product => "prod",
            Reduction::Maximum => "max",
            Reduction::Minimum => "min",
            Reduction::Average => "avg",
        }
    }

    pub(super) const fn value(self) -> ncclRedOp_t {
        match self {
            Reduction::Sum => ncclRedOp_t::ncclSum,
            Reduction::Product => ncclRedOp_t::ncclProd,
            Reduction::Maximum => ncclRedOp_t::ncclMax,
            Reduction::Minimum => ncclRedOp_t::ncclMin,
            Reduction::Average => ncclRedOp_t::ncclAvg,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dtype_has_an_element_or_a_reason() {
        let newest = Version::new(2, 32, 3);
        let found = Dtype::ALL.map(|dtype| Element::of(dtype, newest).ok().map(|e| e.value().0));
        let expected = [Some(8), Some(7), None, Some(6), Some(9), Some(10), None];
        assert_eq!(found[..7], expected);
        assert_eq!(found[7..], [Some(0), Some(2), Some(4)]);
    }

    #[test]
    fn an_old_library_lacks_the_newer_elements() {
        let old = Version::new(2, 21, 5);
        assert!(Element::of(Dtype::Bf16, old).is_ok());
        let error = Element::of(Dtype::Fp8, old).unwrap_err().to_string();
        assert_eq!(error, "NCCL 2.21.5 has no elements of type fp8, 2.24.0 has");
    }

    #[test]
    fn reductions_are_numbered_as_listed() {
        for (number, reduction) in Reduction::ALL.into_iter().enumerate() {
            assert_eq!(reduction.value().0 as usize, number, "{}", reduction.name());
        }
    }
}
