//! Nanoseconds as text in microseconds, with at most three decimals and nothing lost.

use std::borrow::Cow;

use crate::fields::error::FieldError;
use crate::units::Nanos;

/// `time` in microseconds with as many decimals as it needs, at most three.
pub fn microseconds(time: Nanos) -> String {
    let (whole, thousandths) = (time.get() / 1_000, time.get() % 1_000);
    if thousandths == 0 {
        return whole.to_string();
    }
    let text = format!("{whole}.{thousandths:03}");
    text.trim_end_matches('0').to_owned()
}

/// A measured time from text in microseconds.
///
/// # Errors
/// [`FieldError::NotANumber`], or [`FieldError::NotATime`] for what [`Nanos::measured`] refuses.
pub fn read_microseconds(column: &'static str, text: &str) -> Result<Nanos, FieldError> {
    let us = number(column, text)?;
    let problem = |problem| FieldError::NotATime { column: Cow::Borrowed(column), problem };
    Nanos::from_us(us).map_err(problem)
}

/// A duration that may be zero, such as a standard deviation, from text in microseconds.
pub(super) fn read_spread(column: &'static str, text: &str) -> Result<Nanos, FieldError> {
    if number(column, text)? == 0.0 {
        return Ok(Nanos::new(0));
    }
    read_microseconds(column, text)
}

fn number(column: &'static str, text: &str) -> Result<f64, FieldError> {
    text.parse().map_err(|_| FieldError::NotANumber {
        column: Cow::Borrowed(column),
        value: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nanosecond_survives_the_way_through_text() {
        let mut time = 1_u64;
        while time < 1_000_000_000_000_000 {
            for nanos in [time, time + 1, time + 999] {
                let text = microseconds(Nanos::new(nanos));
                assert_eq!(read_microseconds("time_us", &text), Ok(Nanos::new(nanos)), "{text}");
            }
            time = time * 7 / 2 + 13;
        }
        assert_eq!(microseconds(Nanos::new(168_100)), "168.1");
        assert_eq!(microseconds(Nanos::new(60_000)), "60");
        assert_eq!(microseconds(Nanos::new(7)), "0.007");
    }

    #[test]
    fn what_is_no_time_is_refused_by_name() {
        for text in ["-nan", "inf", "0.0", "-1780.0", "1e400", "4,2", "", "fast", "0e-20"] {
            let error = read_microseconds("time_us", text).unwrap_err();
            assert_eq!(error.column(), Some("time_us"), "{text}");
        }
    }
}
