//! Points in time of a recording, as integer nanoseconds, and their reading from text.
//!
//! Kineto writes microseconds: integers before 2023, decimals with nanosecond digits since. A
//! double cannot hold microseconds since 1970 to the nanosecond, so digits are read as digits.

use std::ops::Add;

use kernelgauge_data::Nanos;

/// A point in time, in nanoseconds since an origin that all events of a recording share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

impl Moment {
    /// `nanos` nanoseconds after the origin.
    pub const fn new(nanos: i64) -> Self {
        Moment(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// How long after `earlier` this is; nothing if it is before.
    pub fn since(self, earlier: Moment) -> Nanos {
        Nanos::new(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Nanoseconds from `other` to this, negative if this comes first.
    pub fn minus(self, other: Moment) -> i64 {
        self.0.saturating_sub(other.0)
    }

    /// This moment `nanos` nanoseconds later, or earlier if negative.
    pub fn shifted(self, nanos: i64) -> Moment {
        Moment(self.0.saturating_add(nanos))
    }
}

impl Add<Nanos> for Moment {
    type Output = Moment;
    fn add(self, duration: Nanos) -> Moment {
        self.shifted(i64::try_from(duration.get()).unwrap_or(i64::MAX))
    }
}

/// Why a text is no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoTime {
    /// It is no decimal number.
    NoNumber,
    /// It does not fit: more than 292 years.
    TooLarge,
}

/// Nanoseconds of a decimal number of microseconds as JSON writes it, with or without an
/// exponent, rounded to the nearest nanosecond (halves away from zero). Exact: no digit passes
/// through a double.
pub fn nanos_of_micros(text: &str) -> Result<i64, NoTime> {
    /// A microsecond has a thousand nanoseconds.
    const SHIFT: i64 = 3;
    if let Some(nanos) = nanos_of_plain(text) {
        return Ok(nanos);
    }
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent_of(exponent)?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    if whole.is_empty() || fraction.is_empty() {
        return Err(NoTime::NoNumber);
    }
    let point = whole.len() as i64 + exponent + SHIFT;
    let mut value = 0i64;
    let mut place = 0;
    for byte in whole.bytes().chain(fraction.bytes()) {
        if !byte.is_ascii_digit() {
            return Err(NoTime::NoNumber);
        }
        let digit = i64::from(byte - b'0');
        if place < point {
            value = appended(value, digit)?;
        } else if place == point {
            value = value.checked_add(i64::from(digit >= 5)).ok_or(NoTime::TooLarge)?;
        }
        place += 1;
    }
    // Zeros that were not written; more than 19 fit nowhere unless there is nothing to shift.
    while place < point && value != 0 {
        value = appended(value, 0)?;
        place += 1;
    }
    Ok(if negative { -value } else { value })
}

/// The same for the usual way of writing, at once: no sign, at most 19 digits, which fit into 64
/// bits, and at most three of them behind the point.
fn nanos_of_plain(text: &str) -> Option<i64> {
    const SHIFTED: [u64; 4] = [1000, 100, 10, 1];
    let mut value = 0u64;
    let mut point = None;
    let bytes = text.as_bytes();
    if bytes.len() > 19 + usize::from(bytes.contains(&b'.')) {
        return None;
    }
    for (place, &byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => value = value * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() && place > 0 => point = Some(place + 1),
            _ => return None,
        }
    }
    let decimals = point.map_or(0, |point| bytes.len() - point);
    if bytes.is_empty() || point.is_some() && decimals == 0 {
        return None;
    }
    i64::try_from(value.checked_mul(*SHIFTED.get(decimals)?)?).ok()
}

fn appended(value: i64, digit: i64) -> Result<i64, NoTime> {
    value.checked_mul(10).and_then(|value| value.checked_add(digit)).ok_or(NoTime::TooLarge)
}

/// An exponent; those beyond a thousand million mean the same as that.
fn exponent_of(text: &str) -> Result<i64, NoTime> {
    const ENDLESS: i64 = 1_000_000_000;
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NoTime::NoNumber);
    }
    let size = digits.parse().unwrap_or(ENDLESS).min(ENDLESS);
    Ok(if text.starts_with('-') { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_counts() {
        let cases = [
            ("1694128201435418.123", 1_694_128_201_435_418_123),
            ("4458676524670.502", 4_458_676_524_670_502),
            ("12", 12_000),
            ("0.35", 350),
            ("-0.0005", -1),
            ("0.0004999", 0),
            ("2.9999996", 3_000),
            ("1.5e-3", 2),
            ("1.6941282014354181e+15", 1_694_128_201_435_418_100),
            ("1E2", 100_000),
            ("0e999999999999999999999", 0),
            ("0", 0),
            ("7e-999999999999", 0),
            ("9223372036854775.807", i64::MAX),
        ];
        for (text, expected) in cases {
            assert_eq!(nanos_of_micros(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "-", ".5", "5.", "1e", "1e+", "0x10", "NaN", "+1", "1.2.3", "1 "] {
            assert_eq!(nanos_of_micros(text), Err(NoTime::NoNumber), "{text}");
        }
        for text in ["1.8e+19", "9223372036854775.808", "1e999999999999"] {
            assert_eq!(nanos_of_micros(text), Err(NoTime::TooLarge), "{text}");
        }
    }
}
