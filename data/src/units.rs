//! Time and size as integers: nanoseconds and bytes.
//!
//! A time never leaves this module as a bare number except at a file border, where the column
//! name carries the unit. Bandwidth is decimal GB/s (1e9 bytes per second).

use std::fmt;
use std::ops::Add;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::table::shorten;

/// The longest time accepted from a file: 1e6 seconds. Anything above is a unit mix-up.
const LONGEST_NANOS: f64 = 1e15;

/// A positive or zero duration in integer nanoseconds.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(u64);

/// Why a number is not a usable time or size.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    /// NaN or infinite.
    #[error("{0} is not a finite number")]
    NotFinite(String),
    /// Zero or negative.
    #[error("{0} is not a positive time")]
    NotPositive(String),
    /// Under half a nanosecond: below every timer this tool knows.
    #[error("{0} ns is below timer resolution")]
    BelowResolution(String),
    /// Over 1e6 seconds.
    #[error("{0} s is longer than any measurement; is the unit right?")]
    TooLong(String),
    /// Not a size such as `65536`, `64KiB` or `1.5GB`.
    #[error("`{}` is not a size in bytes", shorten(.0))]
    NotASize(String),
    /// A fraction of a byte.
    #[error("`{}` is not a whole number of bytes", shorten(.0))]
    NotWhole(String),
    /// 2^64 bytes or more.
    #[error("`{}` is larger than 2^64 - 1 bytes, the largest size there is", shorten(.0))]
    TooLarge(String),
}

impl Nanos {
    /// A duration of `nanos` nanoseconds.
    pub const fn new(nanos: u64) -> Self {
        Nanos(nanos)
    }

    /// A measured duration given in nanoseconds, rounded to the nearest integer.
    ///
    /// # Errors
    /// Refuses what cannot be a measurement: not finite, not positive, under half a
    /// nanosecond, over 1e6 seconds. Nothing is clamped.
    pub fn measured(nanos: f64) -> Result<Self, UnitError> {
        if !nanos.is_finite() {
            return Err(UnitError::NotFinite(nanos.to_string()));
        }
        if nanos <= 0.0 {
            return Err(UnitError::NotPositive(nanos.to_string()));
        }
        if nanos < 0.5 {
            return Err(UnitError::BelowResolution(nanos.to_string()));
        }
        if nanos > LONGEST_NANOS {
            return Err(UnitError::TooLong((nanos / 1e9).to_string()));
        }
        Ok(Nanos(nanos.round() as u64))
    }

    /// [`Nanos::measured`] from microseconds.
    ///
    /// # Errors
    /// As [`Nanos::measured`].
    pub fn from_us(us: f64) -> Result<Self, UnitError> {
        Self::measured(us * 1e3)
    }

    /// A model's answer, which is finite and positive by construction; anything else becomes
    /// the nearest representable duration so that arithmetic cannot panic.
    pub fn saturating(nanos: f64) -> Self {
        Nanos(nanos.round().clamp(0.0, LONGEST_NANOS) as u64)
    }

    /// Nanoseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Nanoseconds as a float, for statistics and fits.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Microseconds, for files and people.
    pub fn us(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// What this exceeds another duration by; nothing if it is shorter.
    pub const fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

/// What one time exceeds another by, in integer nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shift(i64);

impl Shift {
    /// From one time to another.
    pub fn between(from: Nanos, to: Nanos) -> Self {
        let signed = |nanos: Nanos| i64::try_from(nanos.0).unwrap_or(i64::MAX);
        Shift(signed(to).saturating_sub(signed(from)))
    }

    /// Nanoseconds, negative where time is saved.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Microseconds, for files.
    pub fn us(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Its size, for people who are told the direction otherwise.
    pub fn size(self) -> Nanos {
        Nanos(self.0.unsigned_abs())
    }
}

/// `+3.1 µs`, `-26.5 µs`
impl fmt::Display for Shift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { '-' } else { '+' };
        write!(f, "{sign}{}", self.size())
    }
}

/// Four significant digits, and the unit a person would choose: `850 ns`, `168.1 µs`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        let (value, unit) = match self.0 {
            0..1_000 => (ns, "ns"),
            1_000..1_000_000 => (ns / 1e3, "µs"),
            1_000_000..1_000_000_000 => (ns / 1e6, "ms"),
            _ => (ns / 1e9, "s"),
        };
        write!(f, "{} {unit}", four_digits(value))
    }
}

/// `value` with at most four significant digits and no trailing zeros.
pub fn four_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (3 - magnitude).max(0) as usize;
    let text = format!("{value:.decimals$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A size in bytes.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(u64);

impl Bytes {
    /// A size of `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Bytes(bytes)
    }

    /// Bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Decimal GB/s when this many bytes move in `time`; none for a zero time.
    pub fn per(self, time: Nanos) -> Option<f64> {
        (time.get() > 0).then(|| self.0 as f64 / time.as_f64())
    }
}

/// Binary units where they divide evenly (`64 MiB`), else the largest with four digits.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        write!(f, "{} {}", four_digits(value), UNITS[unit])
    }
}

/// `65536`, `64K`, `64KiB`, `64 KB`, `1.5GiB`: K, M, G, T, P and E alone and with `iB` are powers
/// of 1024 (as nccl-tests counts them), with `B` powers of 1000.
impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let refuse = || UnitError::NotASize(text.to_owned());
        let trimmed = text.trim();
        let digits =
            trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, suffix) = trimmed.split_at(digits);
        let scale = scale_of(&suffix.trim().to_ascii_lowercase()).ok_or_else(refuse)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let no_digits = whole.is_empty() && fraction.is_empty();
        if no_digits || fraction.contains('.') {
            return Err(refuse());
        }
        let too_large = || UnitError::TooLarge(text.to_owned());
        let whole: u64 =
            if whole.is_empty() { 0 } else { whole.parse().map_err(|_| too_large())? };
        let fraction = part_of(scale, fraction).ok_or(UnitError::NotWhole(text.to_owned()))?;
        let bytes = whole.checked_mul(scale).and_then(|bytes| bytes.checked_add(fraction));
        bytes.map(Bytes).ok_or_else(too_large)
    }
}

/// Bytes of a unit in lower case.
fn scale_of(suffix: &str) -> Option<u64> {
    if matches!(suffix, "" | "b") {
        return Some(1);
    }
    let power = "kmgtpe".find(suffix.chars().next()?)? as u32 + 1;
    match &suffix[1..] {
        "" | "ib" => Some(1 << (10 * power)),
        "b" => Some(1000_u64.pow(power)),
        _ => None,
    }
}

/// What the decimals of a number are of `scale`; none where that is no whole number.
fn part_of(scale: u64, decimals: &str) -> Option<u64> {
    let decimals = decimals.trim_end_matches('0');
    if decimals.is_empty() {
        return Some(0);
    }
    // 2^60, the largest scale, has 60 decimals at most; its halves end long before 2^128 does.
    let numerator: u128 = decimals.parse().ok()?;
    let denominator = 10_u128.checked_pow(decimals.len() as u32)?;
    let product = numerator.checked_mul(u128::from(scale))?;
    if product % denominator != 0 { None } else { u64::try_from(product / denominator).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_are_no_measurements_are_refused() {
        for bad in [f64::NAN, f64::INFINITY, 0.0, -0.0, -1780.0, 0.3, 1e30] {
            assert!(Nanos::measured(bad).is_err(), "{bad} was accepted");
        }
        assert_eq!(Nanos::from_us(168.1), Ok(Nanos::new(168_100)));
    }

    #[test]
    fn people_see_four_digits_and_a_fitting_unit() {
        let shown = |ns| Nanos::new(ns).to_string();
        assert_eq!(shown(850), "850 ns");
        assert_eq!(shown(168_060), "168.1 µs");
        assert_eq!(shown(1_500_000), "1.5 ms");
        assert_eq!(shown(60_324_042_000), "60.32 s");
        assert_eq!(Bytes::new(64 << 20).to_string(), "64 MiB");
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let read = |text: &str| text.parse::<Bytes>().map(Bytes::get);
        assert_eq!(read("64MiB"), Ok(64 << 20));
        assert_eq!(read("64M"), Ok(64 << 20));
        assert_eq!(read("1.5 GB"), Ok(1_500_000_000));
        assert_eq!(read("8"), Ok(8));
        assert_eq!(read("64MB"), Ok(64_000_000));
        assert_eq!(read("0.5k"), Ok(512));
        assert_eq!(read(".5KB"), Ok(500));
        assert_eq!(read("1.10 GB"), Ok(1_100_000_000));
        assert_eq!(read("15EiB"), Ok(15 << 60));
        let complaint = |text: &str| text.parse::<Bytes>().unwrap_err().to_string();
        for bad in ["", "MiB", "12 parsecs", "-4", "1e3", ".", "1.2.3", "4Ki", "8µ", "4bb"] {
            assert_eq!(complaint(bad), format!("`{bad}` is not a size in bytes"));
        }
        for bad in ["0.3", "1.5B", "0.3KiB", "0.0001KB"] {
            assert_eq!(complaint(bad), format!("`{bad}` is not a whole number of bytes"));
        }
        for bad in ["16EiB", "99999999999T", "18446744073709551616", "18.446744073709551616EB"] {
            let expected =
                format!("`{bad}` is larger than 2^64 - 1 bytes, the largest size there is");
            assert_eq!(complaint(bad), expected);
        }
    }
}
