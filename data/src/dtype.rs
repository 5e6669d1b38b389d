//! Element types, their names in files and their sizes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::nearest::{self, UnknownName};

/// The element type of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dtype {
    /// 64-bit IEEE float.
    F64,
    /// 32-bit IEEE float.
    F32,
    /// 32-bit storage, 19-bit tensor-core arithmetic.
    Tf32,
    /// 16-bit IEEE float.
    F16,
    /// bfloat16.
    Bf16,
    /// 8-bit float with one scale per tensor or row.
    Fp8,
    /// 8-bit float with one scale per block.
    Fp8Block,
    /// 8-bit integer.
    Int8,
    /// 32-bit integer.
    Int32,
    /// 64-bit integer.
    Int64,
}

impl Dtype {
    /// Every element type, in file-name order.
    pub const ALL: [Dtype; 10] = [
        Dtype::F64,
        Dtype::F32,
        Dtype::Tf32,
        Dtype::F16,
        Dtype::Bf16,
        Dtype::Fp8,
        Dtype::Fp8Block,
        Dtype::Int8,
        Dtype::Int32,
        Dtype::Int64,
    ];

    /// The name used in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::F64 => "f64",
            Dtype::F32 => "f32",
            Dtype::Tf32 => "tf32",
            Dtype::F16 => "f16",
            Dtype::Bf16 => "bf16",
            Dtype::Fp8 => "fp8",
            Dtype::Fp8Block => "fp8_block",
            Dtype::Int8 => "int8",
            Dtype::Int32 => "int32",
            Dtype::Int64 => "int64",
        }
    }

    /// Bytes of one element in memory.
    pub const fn size(self) -> u64 {
        match self {
            Dtype::F64 | Dtype::Int64 => 8,
            Dtype::F32 | Dtype::Tf32 | Dtype::Int32 => 4,
            Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::Fp8 | Dtype::Fp8Block | Dtype::Int8 => 1,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Our names, and the names frameworks and NCCL use (`bfloat16`, `half`, `float`).
impl FromStr for Dtype {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        // Our own names first: this runs once per row of a batch and must not allocate.
        if let Some(dtype) = Dtype::ALL.into_iter().find(|dtype| dtype.name() == text) {
            return Ok(dtype);
        }
        let lower = text.trim().to_ascii_lowercase();
        let found = match lower.as_str() {
            "f64" | "fp64" | "float64" | "double" => Dtype::F64,
            "f32" | "fp32" | "float32" | "float" => Dtype::F32,
            "tf32" => Dtype::Tf32,
            "f16" | "fp16" | "float16" | "half" => Dtype::F16,
            "bf16" | "bfloat16" => Dtype::Bf16,
            "fp8" | "f8" | "fp8_e4m3" | "e4m3" | "f8e4m3" | "f8e5m2" => Dtype::Fp8,
            "fp8_block" => Dtype::Fp8Block,
            "int8" | "i8" | "uint8" => Dtype::Int8,
            "int32" | "i32" | "uint32" => Dtype::Int32,
            "int64" | "i64" | "uint64" => Dtype::Int64,
            _ => return Err(nearest::unknown("dtype", text, Dtype::ALL.map(Dtype::name))),
        };
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for dtype in Dtype::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
        }
    }

    #[test]
    fn a_slip_of_the_finger_gets_the_nearest_name() {
        let error = "bf61".parse::<Dtype>().unwrap_err();
        assert_eq!(error.nearest.as_deref(), Some("bf16"));
    }
}
