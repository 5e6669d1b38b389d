//! Numbers as text prints them: the value, and how much its last digit leaves open.

/// A printed number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Printed {
    /// The value as printed.
    pub value: f64,
    /// Half a unit of the last printed digit: the true value lies within it.
    pub half_digit: f64,
}

impl Printed {
    /// Reads `text` if all of it is one finite decimal number, with or without an exponent.
    pub fn parse(text: &str) -> Option<Printed> {
        let (length, decimals, exponent) = number_at(text)?;
        if length != text.len() {
            return None;
        }
        let value: f64 = text.parse().ok()?;
        if !value.is_finite() {
            return None;
        }
        Some(Printed { value, half_digit: 0.5 * 10_f64.powi(exponent - decimals) })
    }

    /// The smallest true value that prints like this.
    pub fn low(self) -> f64 {
        self.value - self.half_digit
    }

    /// The largest true value that prints like this.
    pub fn high(self) -> f64 {
        self.value + self.half_digit
    }
}

/// Splits numbers joined by `-`, such as `9.5e-01-1.1-1.0`: the sign of an exponent belongs to
/// its number. None if anything else is in between.
pub(crate) fn split_joined(text: &str) -> Option<Vec<Printed>> {
    let mut numbers = Vec::new();
    let mut rest = text;
    loop {
        let (length, ..) = number_at(rest)?;
        numbers.push(Printed::parse(&rest[..length])?);
        rest = &rest[length..];
        if rest.is_empty() {
            return Some(numbers);
        }
        rest = rest.strip_prefix('-')?;
    }
}

/// Length, decimals and exponent of the number at the start of `text`.
fn number_at(text: &str) -> Option<(usize, i32, i32)> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let whole = digits(sign);
    if whole == 0 {
        return None;
    }
    let mut end = sign + whole;
    let mut decimals = 0;
    if bytes.get(end) == Some(&b'.') {
        decimals = digits(end + 1);
        end += 1 + decimals;
    }
    let mut exponent = 0;
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let signed = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let length = if signed <= bytes.len() { digits(signed) } else { 0 };
        if length > 0 {
            exponent = text[end + 1..signed + length].parse().ok()?;
            end = signed + length;
        }
    }
    Some((end, i32::try_from(decimals).ok()?, exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_digit_bounds_the_value() {
        let wide = Printed::parse("3.8e+07").unwrap();
        assert_eq!(wide.value, 3.8e7);
        assert!((wide.half_digit - 5e5).abs() < 1e-6);
        assert_eq!(Printed::parse("13552").unwrap().half_digit, 0.5);
        for bad in ["", "N/A", "1.2.3", "12us", "-", "nan", "1e999", "e5", "0x10", "1e"] {
            assert_eq!(Printed::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn joined_numbers_split_by_grammar() {
        let values = |text| -> Option<Vec<f64>> {
            Some(split_joined(text)?.into_iter().map(|number| number.value).collect())
        };
        assert_eq!(values("9.5e-01-1.1-1.0-9.9e-01"), Some(vec![0.95, 1.1, 1.0, 0.99]));
        assert_eq!(values("21.4"), Some(vec![21.4]));
        assert_eq!(values("21.4--1"), Some(vec![21.4, -1.0]));
        assert_eq!(values("21.4-"), None);
        assert_eq!(values("21.4-x"), None);
    }
}
