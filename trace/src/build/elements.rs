//! Element types and shapes as recorders write them.

use serde_json::Value;

/// Bytes of an element, by any of the names recorders give its type.
///
/// Names: PyTorch's `Input type` (`float`, `c10::BFloat16`, `long int`), its scalar types in
/// collectives' metadata (`Float`, `BFloat16`, `Long`), execution traces (`Tensor(float)`).
pub fn bytes_of(dtype: &str) -> Option<u64> {
    let inner = dtype.trim_start_matches("GenericList[").trim_start_matches("Tensor(");
    let inner = inner.split([')', ',', ']']).next().unwrap_or(inner).trim();
    let bytes = match inner.trim_start_matches("c10::").to_ascii_lowercase().as_str() {
        "bool" | "byte" | "char" | "signed char" | "unsigned char" | "int8" | "uint8" => 1,
        "qint8" | "quint8" => 1,
        name if name.starts_with("float8") => 1,
        "half" | "bfloat16" | "short" | "short int" | "int16" | "uint16" | "float16" => 2,
        "float" | "int" | "int32" | "uint32" | "float32" | "unsigned int" => 4,
        "double" | "long" | "long int" | "int64" | "uint64" | "float64" => 8,
        "complex<half>" | "complexhalf" => 4,
        "complex<float>" | "complexfloat" => 8,
        "complex<double>" | "complexdouble" => 16,
        _ => return None,
    };
    Some(bytes)
}

/// Elements and type of the first tensor among inputs, from the texts of their shapes and types
/// as JSON; lists of tensors are summed.
pub fn first_tensor(dims: &str, types: &str) -> Option<(u64, String)> {
    let dims: Value = serde_json::from_str(dims).ok()?;
    let types: Value = serde_json::from_str(types).ok()?;
    let pairs = dims.as_array()?.iter().zip(types.as_array()?);
    pairs.into_iter().find_map(|(shape, name)| {
        let name = name.as_str()?;
        bytes_of(name)?;
        Some((elements(shape)?, name.to_owned()))
    })
}

/// Elements of a shape: a list of sizes, or a list of such lists.
fn elements(shape: &Value) -> Option<u64> {
    let sizes = shape.as_array()?;
    if sizes.iter().any(Value::is_array) {
        return sizes.iter().try_fold(0_u64, |sum, inner| {
            let product = inner.as_array()?.iter().try_fold(1_u64, times)?;
            sum.checked_add(product)
        });
    }
    sizes.iter().try_fold(1_u64, times)
}

fn times(product: u64, size: &Value) -> Option<u64> {
    product.checked_mul(size.as_u64()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_type_has_many_names() {
        for name in ["float", "Float", "Tensor(float)", "GenericList[Tensor(float)]", "int32"] {
            assert_eq!(bytes_of(name), Some(4), "{name}");
        }
        for name in ["c10::BFloat16", "BFloat16", "Tensor(c10::Half)"] {
            assert_eq!(bytes_of(name), Some(2), "{name}");
        }
        assert_eq!(bytes_of("Tensor(long int)"), Some(8));
        assert_eq!(bytes_of("Scalar"), None);
    }

    #[test]
    fn the_first_tensor_counts() {
        let found = |dims, types| first_tensor(dims, types);
        assert_eq!(found("[[394241]]", r#"["float"]"#), Some((394_241, "float".to_owned())));
        assert_eq!(found("[[],[3,4]]", r#"["Scalar","float"]"#), Some((12, "float".to_owned())));
        let list = found("[[[2,3],[4]]]", r#"["GenericList[Tensor(float),Tensor(float)]"]"#);
        assert_eq!(list.map(|(elements, _)| elements), Some(10));
        assert_eq!(found(r#"[["s0",4]]"#, r#"["float"]"#), None);
        assert_eq!(found("[[18446744073709551615,2]]", r#"["float"]"#), None);
    }
}
