//! The value by which the ranks of a communicator find each other.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::bindings::{KERNELGAUGE_NCCL_UNIQUE_ID_BYTES, ncclUniqueId};
use super::error::NcclError;

const BYTES: usize = KERNELGAUGE_NCCL_UNIQUE_ID_BYTES as usize;

/// 128 opaque bytes. They hold an address of the process that made them, so they travel from
/// rank to rank (as bytes or as hexadecimal text) and never into a file or a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UniqueId([u8; BYTES]);

impl UniqueId {
    /// The value in its bytes.
    pub const fn from_bytes(bytes: [u8; BYTES]) -> Self {
        UniqueId(bytes)
    }

    /// The bytes of the value.
    pub const fn as_bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// 256 hexadecimal digits, which read back.
    pub fn to_hex(&self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 0xf)]);
        self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
    }

    pub(super) fn from_nccl(id: &ncclUniqueId) -> Self {
        // `char` has a sign on some processors; the bytes are the same.
        UniqueId(id.internal.map(|byte| byte as u8))
    }

    pub(super) fn to_nccl(self) -> ncclUniqueId {
        ncclUniqueId { internal: self.0.map(|byte| byte as std::ffi::c_char) }
    }
}

/// Without the bytes, which hold an address.
impl fmt::Debug for UniqueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UniqueId(..)")
    }
}

/// What [`UniqueId::to_hex`] writes, spaces around it ignored.
impl FromStr for UniqueId {
    type Err = NcclError;

    fn from_str(text: &str) -> Result<Self, NcclError> {
        let digits = text.trim().as_bytes();
        let wrong = |what: String| NcclError::Argument { what };
        if digits.len() != 2 * BYTES {
            let (wanted, found) = (2 * BYTES, digits.len());
            return Err(wrong(format!("a unique id has {wanted} hexadecimal digits, not {found}")));
        }
        let mut bytes = [0; BYTES];
        for (index, byte) in bytes.iter_mut().enumerate() {
            let pair: Range<usize> = 2 * index..2 * index + 2;
            let value = digits[pair].iter().try_fold(0, |value, digit| {
                char::from(*digit).to_digit(16).map(|digit| value << 4 | digit as u8)
            });
            *byte = value.ok_or_else(|| {
                wrong(format!(
                    "digit {} or {} of a unique id is none",
                    2 * index + 1,
                    2 * index + 2
                ))
            })?;
        }
        Ok(UniqueId(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> UniqueId {
        UniqueId::from_bytes(std::array::from_fn(|index| (index * 37 + 250) as u8))
    }

    #[test]
    fn text_reads_back() {
        let id = sample();
        assert_eq!(id.to_hex().len(), 256);
        assert_eq!(id.to_hex().parse(), Ok(id));
        assert_eq!(format!(" {}\n", id.to_hex().to_uppercase()).parse(), Ok(id));
        assert_eq!(UniqueId::from_nccl(&id.to_nccl()), id);
    }

    #[test]
    fn other_text_is_refused() {
        let hex = sample().to_hex();
        for text in ["", "00", &hex[1..], &hex.replace('a', "g"), &"é".repeat(128)] {
            let error = text.parse::<UniqueId>().unwrap_err();
            assert!(error.to_string().contains("unique id"), "{error}");
        }
    }

    #[test]
    fn the_bytes_are_not_shown_by_accident() {
        assert_eq!(format!("{:?}", sample()), "UniqueId(..)");
    }
}
