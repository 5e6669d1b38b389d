//! Reading and writing elements, by their `cudaDataType_t`.

/// Bytes of an element; none of a type that is not known.
pub fn bytes(data_type: u32) -> Option<usize> {
    Some(match data_type {
        0 | 10 => 4,
        1 => 8,
        2 | 14 => 2,
        3 | 28 => 1,
        _ => return None,
    })
}

/// The number in `element`.
pub fn read(data_type: u32, element: &[u8]) -> f64 {
    let mut wide = [0; 8];
    wide[..element.len()].copy_from_slice(element);
    let low = u64::from_le_bytes(wide) as u32;
    match data_type {
        0 => f64::from(f32::from_bits(low)),
        1 => f64::from_le_bytes(wide),
        2 => small(low, 10, 5, 15),
        3 => f64::from(low as u8 as i8),
        10 => f64::from(low as i32),
        14 => f64::from(f32::from_bits(low << 16)),
        _ => small(low, 3, 4, 7),
    }
}

fn small(bits: u32, fraction: i32, exponent: i32, bias: i32) -> f64 {
    let part = f64::from(bits & ((1 << fraction) - 1)) / 2.0_f64.powi(fraction);
    let field = (bits >> fraction & ((1 << exponent) - 1)) as i32;
    let size = match field {
        0 => part * 2.0_f64.powi(1 - bias),
        field => (1.0 + part) * 2.0_f64.powi(field - bias),
    };
    if bits >> (fraction + exponent) & 1 == 1 { -size } else { size }
}

/// Writes `value`, rounded to the nearest.
pub fn write(data_type: u32, value: f64, element: &mut [u8]) {
    match data_type {
        0 => element.copy_from_slice(&(value as f32).to_le_bytes()),
        1 => element.copy_from_slice(&value.to_le_bytes()),
        2 => element.copy_from_slice(&half(value).to_le_bytes()),
        10 => element.copy_from_slice(&(value as i32).to_le_bytes()),
        _ => {
            let bits = (value as f32).to_bits();
            let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
            element.copy_from_slice(&((rounded >> 16) as u16).to_le_bytes());
        }
    }
}

/// IEEE binary16, without infinities: results here are small.
fn half(value: f64) -> u16 {
    let sign = u16::from(value.is_sign_negative()) << 15;
    let size = value.abs().min(65_504.0);
    let exponent = if size < 2.0_f64.powi(-14) { -14 } else { size.log2().floor() as i32 };
    let units = (size * 2.0_f64.powi(10 - exponent)).round() as u32;
    // Units of 2048 are those of the next exponent, and carry into its field by themselves.
    let field = if exponent == -14 && units < 1024 { 0 } else { (exponent + 15) as u32 };
    let implied = if field == 0 { 0 } else { 1024 };
    sign | ((field << 10) + units - implied) as u16
}
