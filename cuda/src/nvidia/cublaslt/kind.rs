//! What cuBLASLt calls the element types of a product, and which GPUs have them.

use kernelgauge_data::{Dtype, GemmLayout, GemmPoint};

use super::number::Format;

/// `cudaDataType_t` (library_types.h) and `cublasComputeType_t` (cublas_api.h) by number.
mod codes {
    pub const R_32F: u32 = 0;
    pub const R_64F: u32 = 1;
    pub const R_16F: u32 = 2;
    pub const R_8I: u32 = 3;
    pub const R_32I: u32 = 10;
    pub const R_16BF: u32 = 14;
    pub const R_8F_E4M3: u32 = 28;
    pub const COMPUTE_32F: u32 = 68;
    pub const COMPUTE_64F: u32 = 70;
    pub const COMPUTE_32I: u32 = 72;
    pub const COMPUTE_32F_FAST_TF32: u32 = 77;
}

/// The types of a product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kind {
    /// Type of `a` and `b`: `cudaDataType_t`.
    pub input: u32,
    /// Type of `c`.
    pub output: u32,
    /// `cublasComputeType_t`.
    pub compute: u32,
    /// Type of the factors alpha and beta.
    pub factors: u32,
    /// How an element of `a` and `b` is written.
    pub operand: Format,
    /// How one of `c` is.
    pub result: Format,
    /// Whether `a` and `b` have a factor each, in the GPU's memory.
    pub scaled: bool,
}

impl Kind {
    /// The types of `dtype`; none where products of it are not made here.
    pub fn of(dtype: Dtype) -> Option<Self> {
        use codes::*;
        let (input, output, compute, factors, operand, result) = match dtype {
            Dtype::F64 => (R_64F, R_64F, COMPUTE_64F, R_64F, Format::F64, Format::F64),
            Dtype::F32 => (R_32F, R_32F, COMPUTE_32F, R_32F, Format::F32, Format::F32),
            Dtype::Tf32 => (R_32F, R_32F, COMPUTE_32F_FAST_TF32, R_32F, Format::Tf32, Format::F32),
            Dtype::F16 => (R_16F, R_16F, COMPUTE_32F, R_32F, Format::F16, Format::F16),
            Dtype::Bf16 => (R_16BF, R_16BF, COMPUTE_32F, R_32F, Format::Bf16, Format::Bf16),
            Dtype::Fp8 => (R_8F_E4M3, R_16BF, COMPUTE_32F, R_32F, Format::E4m3, Format::Bf16),
            Dtype::Int8 => (R_8I, R_32I, COMPUTE_32I, R_32I, Format::Int8, Format::Int32),
            Dtype::Fp8Block | Dtype::Int32 | Dtype::Int64 => return None,
        };
        let scaled = dtype == Dtype::Fp8;
        Some(Kind { input, output, compute, factors, operand, result, scaled })
    }

    /// The number 1 or 0 in the type of the factors.
    pub fn factor(&self, one: bool) -> [u8; 8] {
        let mut bytes = [0; 8];
        match self.factors {
            codes::R_64F => bytes = f64::from(u8::from(one)).to_ne_bytes(),
            codes::R_32I => bytes[..4].copy_from_slice(&i32::from(one).to_ne_bytes()),
            _ => bytes[..4].copy_from_slice(&f32::from(u8::from(one)).to_ne_bytes()),
        }
        bytes
    }
}

/// Why a GPU of this compute capability does not multiply `point`, before the library is asked.
///
/// Capabilities: cuBLAS documentation, "Tensor Core Usage" and `cublasLtMatmul`; 8-bit operands
/// must lie as in a linear layer there, and be aligned.
pub fn refused(point: &GemmPoint, compute: (u32, u32)) -> Option<String> {
    let dtype = point.dtype;
    if Kind::of(dtype).is_none() {
        return Some(format!("{dtype} products on a GPU"));
    }
    let least = match dtype {
        Dtype::Tf32 | Dtype::Bf16 => (8, 0),
        Dtype::Fp8 => (8, 9),
        Dtype::Int8 => (7, 5),
        _ => (0, 0),
    };
    if compute < least {
        return Some(format!(
            "{dtype} products need compute capability {}.{}, and this GPU has {}.{}",
            least.0, least.1, compute.0, compute.1
        ));
    }
    let multiple = match dtype {
        Dtype::Fp8 => 16,
        Dtype::Int8 => 4,
        _ => return None,
    };
    if !matches!(point.layout, GemmLayout::Nt | GemmLayout::Unstated) {
        return Some(format!("{dtype} products of another layout than nt"));
    }
    let aligned = point.n.is_multiple_of(multiple) && point.k.is_multiple_of(multiple);
    (!aligned).then(|| format!("{dtype} products whose n and k are no multiples of {multiple}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(dtype: Dtype, n: u64, layout: GemmLayout) -> GemmPoint {
        GemmPoint { dtype, batch: 1, m: 1, n, k: 64, layout }
    }

    #[test]
    fn what_a_gpu_lacks_is_refused_with_the_reason() {
        let nt = GemmLayout::Nt;
        for (dtype, n, layout, compute, expected) in [
            (Dtype::Bf16, 8, nt, (7, 5), "need compute capability 8.0, and this GPU has 7.5"),
            (Dtype::Fp8, 16, nt, (8, 6), "need compute capability 8.9"),
            (Dtype::Fp8, 24, nt, (9, 0), "no multiples of 16"),
            (Dtype::Int8, 16, GemmLayout::Nn, (9, 0), "of another layout than nt"),
            (Dtype::Fp8Block, 16, nt, (9, 0), "fp8_block products on a GPU"),
        ] {
            let found = refused(&point(dtype, n, layout), compute).unwrap();
            assert!(found.contains(expected), "{found}");
        }
        assert_eq!(refused(&point(Dtype::F16, 7, GemmLayout::Tn), (7, 0)), None);
        assert_eq!(refused(&point(Dtype::Fp8, 16, nt), (8, 9)), None);
    }

    #[test]
    fn bytes_are_those_the_data_model_counts() {
        for dtype in Dtype::ALL {
            let Some(kind) = Kind::of(dtype) else { continue };
            assert_eq!(kind.operand.bytes() as u64, dtype.size(), "{dtype}");
            let output = point(dtype, 16, GemmLayout::Nt).output_size();
            assert_eq!(kind.result.bytes() as u64, output, "{dtype}");
        }
    }
}
