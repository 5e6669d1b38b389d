//! Whole numbers as short text.
//!
//! A model file is mostly small integers, and as decimal numbers with commas they take twice the
//! room. Here a number is written in digits of five bits, the lowest first, each one character of
//! the URL-safe base-64 alphabet; all digits but the last carry 32 more. Signed numbers are
//! folded first: 0, -1, 1, -2, 2 become 0, 1, 2, 3, 4. Every number has one way to be written,
//! and any other is refused. What the numbers mean is left to who writes them.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Bits of a digit.
const BITS: u32 = 5;

/// Whether more digits follow.
const MORE: u64 = 1 << BITS;

/// Appends a number.
pub(crate) fn push(text: &mut String, mut value: u64) {
    loop {
        let digit = value & (MORE - 1);
        value >>= BITS;
        let more = if value == 0 { 0 } else { MORE };
        text.push(char::from(ALPHABET[(digit | more) as usize]));
        if value == 0 {
            return;
        }
    }
}

/// Appends a number that may be negative.
pub(crate) fn push_signed(text: &mut String, value: i64) {
    push(text, ((value << 1) ^ (value >> 63)) as u64);
}

/// Reads numbers back.
#[derive(Debug, Clone)]
pub(crate) struct Digits<'text> {
    rest: std::slice::Iter<'text, u8>,
}

impl<'text> Digits<'text> {
    /// The numbers of `text`.
    pub(crate) fn of(text: &'text str) -> Self {
        Digits { rest: text.as_bytes().iter() }
    }

    /// Whether all were read.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.len() == 0
    }

    /// The next number.
    pub(crate) fn number(&mut self) -> Result<u64, &'static str> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let digit = digit(*self.rest.next().ok_or("numbers that end early")?)?;
            let low = digit & (MORE - 1);
            if shift >= u64::BITS || (low << shift) >> shift != low {
                return Err("a number beyond 64 bits");
            }
            value |= low << shift;
            if digit & MORE == 0 {
                let one_way = low != 0 || shift == 0;
                return if one_way { Ok(value) } else { Err("a number with leading zeros") };
            }
            shift += BITS;
        }
    }

    /// The next number, which may be negative.
    pub(crate) fn signed(&mut self) -> Result<i64, &'static str> {
        let folded = self.number()?;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }
}

/// The digit that a character stands for.
fn digit(character: u8) -> Result<u64, &'static str> {
    let value = match character {
        b'A'..=b'Z' => character - b'A',
        b'a'..=b'z' => character - b'a' + 26,
        b'0'..=b'9' => character - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return Err("a character that is no digit"),
    };
    Ok(u64::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_back_as_written() {
        let numbers = [0, 1, 31, 32, 1023, 1024, 123_456_789, u64::MAX];
        let signed = [0, -1, 1, -16, 15, i64::MIN, i64::MAX];
        let mut text = String::new();
        numbers.iter().for_each(|value| push(&mut text, *value));
        signed.iter().for_each(|value| push_signed(&mut text, *value));
        let mut digits = Digits::of(&text);
        for value in numbers {
            assert_eq!(digits.number(), Ok(value));
        }
        for value in signed {
            assert_eq!(digits.signed(), Ok(value));
        }
        assert!(digits.is_empty() && digits.number().is_err());
        let length = |value: i64| {
            let mut text = String::new();
            push_signed(&mut text, value);
            text.len()
        };
        assert_eq!([-16, 15, 16, 511].map(length), [1, 1, 2, 2]);
    }

    #[test]
    fn a_number_is_written_in_one_way() {
        for text in ["gA", "g", "*", "é", "________________", "____________g"] {
            assert!(Digits::of(text).number().is_err(), "{text}");
        }
    }
}
