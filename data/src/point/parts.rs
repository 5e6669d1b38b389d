//! The pieces every point is made of: parameters, variant name, work, and their errors.

use std::ops::Deref;

use thiserror::Error;

/// Most integer parameters a point can have.
pub const MAX_PARAMETERS: usize = 8;

/// The integer parameters of a point, in a fixed order; a slice that never allocates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Parameters {
    values: [u64; MAX_PARAMETERS],
    len: u8,
}

impl Parameters {
    /// The first [`MAX_PARAMETERS`] of `values`.
    pub fn new(values: &[u64]) -> Self {
        let mut parameters = Parameters::default();
        for (slot, value) in parameters.values.iter_mut().zip(values) {
            *slot = *value;
        }
        parameters.len = values.len().min(MAX_PARAMETERS) as u8;
        parameters
    }
}

impl Deref for Parameters {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &self.values[..usize::from(self.len)]
    }
}

/// The name of a variant: words joined by `/`, at most 63 bytes, on the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariantName {
    bytes: [u8; 63],
    len: u8,
}

impl VariantName {
    /// Joins `words` with `/`; what exceeds 63 bytes is cut at a character border.
    pub fn join(words: &[&str]) -> Self {
        let mut name = VariantName { bytes: [0; 63], len: 0 };
        for (index, word) in words.iter().enumerate() {
            if index > 0 {
                name.push("/");
            }
            name.push(word);
        }
        name
    }

    /// Appends `text` as far as it fits.
    pub fn push(&mut self, text: &str) {
        let start = usize::from(self.len);
        let mut fits = text.len().min(self.bytes.len() - start);
        while !text.is_char_boundary(fits) {
            fits -= 1;
        }
        self.bytes[start..start + fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.len += fits as u8;
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or_default()
    }
}

/// Arithmetic and compulsory memory traffic of one execution, from the shape alone.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Work {
    /// Floating-point (or integer) operations; a multiply-add counts as two.
    pub flops: f64,
    /// Bytes read at least once.
    pub bytes_read: f64,
    /// Bytes written at least once.
    pub bytes_written: f64,
}

impl Work {
    /// Bytes read plus bytes written.
    pub fn bytes(&self) -> f64 {
        self.bytes_read + self.bytes_written
    }
}

/// What is wrong with the parameters of a point.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PointError {
    /// A parameter that must be at least one is zero.
    #[error("`{0}` is 0; it must be at least 1")]
    Zero(String),
    /// A product of parameters does not fit in 63 bits.
    #[error("{0} exceeds 2^63")]
    Overflow(&'static str),
    /// A parameter does not fit the others.
    #[error("{0}")]
    Inconsistent(String),
}

/// Refuses a zero among `named` parameters.
pub(super) fn at_least_one(named: &[(&str, u64)]) -> Result<(), PointError> {
    match named.iter().find(|(_, value)| *value == 0) {
        Some((name, _)) => Err(PointError::Zero((*name).to_owned())),
        None => Ok(()),
    }
}

/// Refuses a product that exceeds 2^63.
pub(super) fn fits(what: &'static str, factors: &[u64]) -> Result<(), PointError> {
    let product = factors.iter().try_fold(1_u64, |product, factor| product.checked_mul(*factor));
    match product {
        Some(bytes) if bytes <= 1 << 63 => Ok(()),
        _ => Err(PointError::Overflow(what)),
    }
}
