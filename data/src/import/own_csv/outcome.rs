//! What a row says became of its point: a time, or the reason why there is none.
//!
//! A number that cannot be a time is never repaired: not clamped to zero, not rounded up, not
//! taken without its sign.

use std::borrow::Cow;

use crate::fields::{FieldError, failure_from_text, failure_text, skip_from_text, skip_text};
use crate::import::own_csv::marks::Verdict;
use crate::measurement::{Failure, SkipReason};
use crate::table::shorten;
use crate::units::{Nanos, UnitError};

/// The cells of a row that decide its outcome; an absent column is an empty cell.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cells<'a> {
    pub time: &'a str,
    /// Nanoseconds in the unit of `time`.
    pub nanos: f64,
    /// Name of the time column, for messages.
    pub time_column: &'a str,
    pub samples: Option<&'a str>,
    pub skipped: &'a str,
    pub status: &'a str,
    pub reason: &'a str,
}

/// What became of the point of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Judged {
    Time(Nanos),
    Skipped(SkipReason),
    Failed(Failure),
}

impl Judged {
    /// Status and reason as the field codec writes them.
    pub fn status_and_reason(&self) -> (&'static str, String) {
        match self {
            Judged::Time(_) => ("ok", String::new()),
            Judged::Skipped(reason) => ("skipped", skip_text(reason)),
            Judged::Failed(failure) => ("failed", failure_text(failure)),
        }
    }
}

/// Judges a row by its skip mark, its status, the `verdict` of its other marks, its number of samples and its time, in this order.
///
/// # Errors
/// [`FieldError::NotANumber`] when the time is neither a number nor a word for none.
pub(super) fn judge(cells: &Cells<'_>, verdict: Option<&Verdict>) -> Result<Judged, FieldError> {
    if let Some(words) = marked(cells.skipped) {
        return Ok(Judged::Skipped(SkipReason::Stated(shorten(words))));
    }
    if let Some(judged) = by_status(cells) {
        return Ok(judged);
    }
    if let Some(Verdict::Failed(failure)) = verdict
        && (cells.reason.is_empty() || !is_word_for_nothing(cells.time))
    {
        return Ok(Judged::Failed(failure.clone()));
    }
    let no_samples = cells.samples.and_then(|samples| samples.parse::<f64>().ok()) == Some(0.0);
    if no_samples {
        let why = "the source kept 0 samples".to_owned();
        return Ok(Judged::Failed(Failure::NoValidSamples(why)));
    }
    by_time(cells)
}

/// The words of a skip mark, unless it says that nothing was skipped.
fn marked(skipped: &str) -> Option<&str> {
    match skipped.to_ascii_lowercase().as_str() {
        "" | "0" | "false" | "no" | "n" | "-" | "none" | "null" | "nan" => None,
        "1" | "true" | "yes" | "y" => Some("skipped"),
        _ => Some(skipped),
    }
}

/// Whether a status says that all is well.
pub(super) fn is_fine(status: &str) -> bool {
    matches!(
        status.to_ascii_lowercase().as_str(),
        "ok" | "0"
            | "0.0"
            | "success"
            | "succeeded"
            | "successful"
            | "pass"
            | "passed"
            | "true"
            | "done"
            | "valid"
            | "measured"
            | "completed"
            | "complete"
            | "finished"
            | "cudasuccess"
    )
}

fn by_status(cells: &Cells<'_>) -> Option<Judged> {
    let status = cells.status.to_ascii_lowercase();
    match status.as_str() {
        "" => None,
        word if is_fine(word) => None,
        "skipped" | "skip" | "unsupported" | "not_supported" | "not supported" => {
            let words = if cells.reason.is_empty() { cells.status } else { cells.reason };
            Some(Judged::Skipped(skip_from_text(words)))
        }
        "failed" | "fail" | "error" if !cells.reason.is_empty() => {
            Some(Judged::Failed(failure_from_text(cells.reason)))
        }
        _ if cells.reason.is_empty() => {
            Some(Judged::Failed(Failure::Stated(shorten(cells.status))))
        }
        _ => {
            let words = format!("{}: {}", shorten(cells.status), shorten(cells.reason));
            Some(Judged::Failed(Failure::Stated(words)))
        }
    }
}

fn by_time(cells: &Cells<'_>) -> Result<Judged, FieldError> {
    let Cells { time, time_column, .. } = *cells;
    let no_valid = |why: String| Ok(Judged::Failed(Failure::NoValidSamples(why)));
    if is_word_for_nothing(time) && !cells.reason.is_empty() {
        return Ok(Judged::Failed(failure_from_text(cells.reason)));
    }
    if is_word_for_nothing(time) {
        return no_valid(match time {
            "" => format!("{time_column} is empty"),
            _ => format!("{time_column} is `{}`", shorten(time)),
        });
    }
    let value: f64 = time.parse().map_err(|_| FieldError::NotANumber {
        column: Cow::Owned(time_column.to_owned()),
        value: shorten(time),
    })?;
    match Nanos::measured(value * cells.nanos) {
        Ok(nanos) => Ok(Judged::Time(nanos)),
        Err(UnitError::NotPositive(_) | UnitError::BelowResolution(_)) => {
            Ok(Judged::Failed(Failure::BelowTimerResolution))
        }
        Err(_) => no_valid(format!("{time_column} is `{}`", shorten(time))),
    }
}

fn is_word_for_nothing(time: &str) -> bool {
    matches!(
        time.to_ascii_lowercase().trim_start_matches(['-', '+']),
        "" | "nan" | "n/a" | "na" | "none" | "null" | "inf" | "infinity" | "oom"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(cells: Cells<'_>) -> Judged {
        judge(&Cells { nanos: 1e3, time_column: "time_us", ..cells }, None).unwrap()
    }

    #[test]
    fn times_that_are_none_fail_with_a_reason() {
        for (time, expected) in [
            ("-1780.0", Failure::BelowTimerResolution),
            ("0.0", Failure::BelowTimerResolution),
            ("-0.0", Failure::BelowTimerResolution),
            ("0e-20", Failure::BelowTimerResolution),
            ("0.0003", Failure::BelowTimerResolution),
            ("1e400", Failure::NoValidSamples("time_us is `1e400`".to_owned())),
            ("1e30", Failure::NoValidSamples("time_us is `1e30`".to_owned())),
            ("-nan", Failure::NoValidSamples("time_us is `-nan`".to_owned())),
            ("inf", Failure::NoValidSamples("time_us is `inf`".to_owned())),
            ("", Failure::NoValidSamples("time_us is empty".to_owned())),
        ] {
            assert_eq!(judged(Cells { time, ..Cells::default() }), Judged::Failed(expected));
        }
        let time = "2.4";
        assert_eq!(judged(Cells { time, ..Cells::default() }), Judged::Time(Nanos::new(2400)));
    }

    #[test]
    fn marks_and_states_come_before_the_time() {
        let time = "4.2";
        let skipped = |skipped| judged(Cells { time, skipped, ..Cells::default() });
        let stated = |words: &str| Judged::Skipped(SkipReason::Stated(words.to_owned()));
        assert_eq!(skipped("deprecated combination"), stated("deprecated combination"));
        assert_eq!(skipped("true"), stated("skipped"));
        assert_eq!(skipped("0"), Judged::Time(Nanos::new(4200)));

        let status = |status, reason| judged(Cells { time, status, reason, ..Cells::default() });
        let failed = |words: &str| Judged::Failed(Failure::Stated(words.to_owned()));
        assert_eq!(status("OK", ""), Judged::Time(Nanos::new(4200)));
        assert_eq!(status("launch_failed", ""), failed("launch_failed"));
        assert_eq!(status("launch_failed", "code 700"), failed("launch_failed: code 700"));
        let device = Judged::Failed(Failure::Device("code 700".to_owned()));
        assert_eq!(status("failed", "device: code 700"), device);

        let no_time = Cells { reason: "CUDA error 700", ..Cells::default() };
        assert_eq!(judged(no_time), failed("CUDA error 700"));
        let none = judged(Cells { time, samples: Some("0"), ..Cells::default() });
        assert!(matches!(none, Judged::Failed(Failure::NoValidSamples(_))));
    }

    #[test]
    fn words_that_are_no_time_are_not_guessed() {
        let cells = Cells { time: "4,2", nanos: 1e3, time_column: "time_us", ..Cells::default() };
        assert!(matches!(judge(&cells, None), Err(FieldError::NotANumber { .. })));
    }
}
