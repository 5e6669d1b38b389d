//! The inputs of an op, from the texts of recordings and execution traces.

use kernelgauge_data::Dtype;
use serde_json::Value;

use super::Uncovered;
use crate::names::Names;
use crate::recording::OpFacts;

/// An input that is a tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Its sizes.
    pub sizes: Vec<u64>,
    /// Its strides, where stated.
    pub strides: Option<Vec<u64>>,
    /// Its element type as written.
    pub dtype: String,
}

impl Tensor {
    /// How many elements it has; none beyond 2^64 - 1.
    pub fn elements(&self) -> Option<u64> {
        self.sizes.iter().try_fold(1_u64, |product, &size| product.checked_mul(size))
    }

    /// Its element type.
    ///
    /// # Errors
    /// A type that no family has.
    pub fn dtype(&self) -> Result<Dtype, Uncovered> {
        dtype(&self.dtype).ok_or_else(|| Uncovered::Dtype(self.dtype.clone()))
    }
}

/// An element type by the names of PyTorch; of collectives' metadata too.
pub fn dtype(name: &str) -> Option<Dtype> {
    let name = name.trim_start_matches("Tensor(").trim_end_matches(')');
    let name = name.trim_start_matches("c10::").to_ascii_lowercase();
    Some(match name.as_str() {
        "float" | "float32" => Dtype::F32,
        "double" | "float64" => Dtype::F64,
        "half" | "float16" => Dtype::F16,
        "bfloat16" => Dtype::Bf16,
        "int" | "int32" => Dtype::Int32,
        "long int" | "long" | "int64" => Dtype::Int64,
        "signed char" | "char" | "int8" | "unsigned char" | "byte" | "uint8" | "bool" => {
            Dtype::Int8
        }
        _ if name.starts_with("float8") => Dtype::Fp8,
        _ => return None,
    })
}

/// The inputs of an op by position.
#[derive(Debug)]
pub struct Inputs {
    dims: Vec<Value>,
    types: Vec<Value>,
    strides: Vec<Value>,
    values: Vec<Value>,
}

impl Inputs {
    /// Reads the texts; what is no list is as good as nothing.
    pub fn read(facts: &OpFacts, names: &Names) -> Self {
        let list = |symbol| match serde_json::from_str(names.text(symbol)) {
            Ok(Value::Array(list)) => list,
            _ => Vec::new(),
        };
        Inputs {
            dims: list(facts.dims),
            types: list(facts.types),
            strides: list(facts.strides),
            values: list(facts.values),
        }
    }

    /// How many inputs there are.
    pub fn len(&self) -> usize {
        self.dims.len()
    }

    /// The tensor at a position; a list of tensors is none.
    ///
    /// # Errors
    /// No tensor there, or one with a size that has no value.
    pub fn tensor(&self, position: usize) -> Result<Tensor, Uncovered> {
        let Some(Value::Array(dims)) = self.dims.get(position) else {
            return Err(Uncovered::NoShapes);
        };
        let dtype = self.types.get(position).and_then(Value::as_str).unwrap_or_default();
        if dtype.is_empty() || is_scalar(dtype) {
            return Err(Uncovered::NoShapes);
        }
        let sizes = dims.iter().map(size).collect::<Result<Vec<u64>, Uncovered>>()?;
        let strides = self.strides.get(position).and_then(Value::as_array);
        let strides: Option<Vec<u64>> =
            strides.and_then(|strides| strides.iter().map(Value::as_u64).collect());
        let strides = strides.filter(|strides| strides.len() == sizes.len() && !sizes.is_empty());
        Ok(Tensor { sizes, strides, dtype: dtype.to_owned() })
    }

    /// The tensors of a list at a position.
    ///
    /// # Errors
    /// As [`Inputs::tensor`].
    pub fn tensors(&self, position: usize) -> Result<Vec<Tensor>, Uncovered> {
        let Some(Value::Array(dims)) = self.dims.get(position) else {
            return Err(Uncovered::NoShapes);
        };
        let types = self.types.get(position).and_then(Value::as_str).unwrap_or_default();
        let first = types.trim_start_matches("GenericList[");
        let first = first.split([',', ']']).next().unwrap_or_default();
        if !types.starts_with("GenericList[") {
            // Profilers write `TensorList`, whatever is in it.
            return match dims.first() {
                Some(Value::Array(_)) => Err(Uncovered::Missing("the element type of a list is")),
                _ => Err(Uncovered::NoShapes),
            };
        }
        let tensors = dims.iter().map(|dims| {
            let Value::Array(dims) = dims else { return Err(Uncovered::NoShapes) };
            let sizes = dims.iter().map(size).collect::<Result<Vec<u64>, Uncovered>>()?;
            Ok(Tensor { sizes, strides: None, dtype: first.to_owned() })
        });
        let tensors = tensors.collect::<Result<Vec<Tensor>, Uncovered>>()?;
        if tensors.is_empty() { Err(Uncovered::NoShapes) } else { Ok(tensors) }
    }

    /// The first tensor.
    ///
    /// # Errors
    /// As [`Inputs::tensor`].
    pub fn first(&self) -> Result<Tensor, Uncovered> {
        let found = (0..self.len()).map(|position| self.tensor(position));
        let mut unset = Uncovered::NoShapes;
        for tensor in found {
            match tensor {
                Ok(tensor) => return Ok(tensor),
                Err(Uncovered::NoShapes) => {}
                Err(other) => unset = other,
            }
        }
        Err(unset)
    }

    /// The whole number at a position, where values were recorded.
    pub fn integer(&self, position: usize) -> Option<i64> {
        match self.values.get(position)? {
            Value::String(text) => text.parse().ok(),
            value => value.as_i64(),
        }
    }

    /// The truth value at a position, where values were recorded.
    pub fn truth(&self, position: usize) -> Option<bool> {
        match self.values.get(position)? {
            Value::String(text) => match text.as_str() {
                "True" | "true" => Some(true),
                "False" | "false" => Some(false),
                _ => None,
            },
            value => value.as_bool(),
        }
    }
}

fn is_scalar(dtype: &str) -> bool {
    matches!(
        dtype,
        "Scalar"
            | "ScalarList"
            | "TensorList"
            | "Int"
            | "Double"
            | "Bool"
            | "String"
            | "None"
            | "<None>"
            | "Device"
    ) || dtype.starts_with("GenericList")
        || dtype.starts_with("Tensor(nullptr")
}

/// A size; symbolic ones of traced programs (`s0`) have no value.
fn size(value: &Value) -> Result<u64, Uncovered> {
    match value {
        Value::String(symbol) => Err(Uncovered::Symbolic(symbol.clone())),
        value => value.as_u64().ok_or(Uncovered::NoShapes),
    }
}
