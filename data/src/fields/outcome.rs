//! Reasons of skipped and failed points as text: a kind, then `: ` and its detail.
//!
//! `out_of_memory: needs 123 free 45` · `budget` · `no_valid_samples: all throttled`. Text of
//! an unknown kind is kept whole, as the source's own words.

use crate::measurement::{Failure, SkipReason};
use crate::units::Bytes;

/// The reason of a skipped point as text.
pub fn skip_text(reason: &SkipReason) -> String {
    match reason {
        SkipReason::OutOfMemory { needs, free } => {
            format!("out_of_memory: needs {} free {}", needs.get(), free.get())
        }
        SkipReason::Unsupported(what) => format!("unsupported: {what}"),
        SkipReason::Budget => "budget".to_owned(),
        SkipReason::Stated(reason) => format!("stated: {reason}"),
    }
}

/// The reason behind [`skip_text`].
pub fn skip_from_text(text: &str) -> SkipReason {
    let (kind, detail) = kind_and_detail(text);
    match kind {
        "out_of_memory" => out_of_memory(detail),
        "unsupported" => Some(SkipReason::Unsupported(detail.to_owned())),
        "budget" if detail.is_empty() => Some(SkipReason::Budget),
        "stated" => Some(SkipReason::Stated(detail.to_owned())),
        _ => None,
    }
    .unwrap_or_else(|| SkipReason::Stated(text.to_owned()))
}

/// The reason of a failed point as text.
pub fn failure_text(failure: &Failure) -> String {
    match failure {
        Failure::NoValidSamples(why) => format!("no_valid_samples: {why}"),
        Failure::BelowTimerResolution => "below_timer_resolution".to_owned(),
        Failure::WrongResult(what) => format!("wrong_result: {what}"),
        Failure::Device(what) => format!("device: {what}"),
        Failure::TimedOut(what) => format!("timed_out: {what}"),
        Failure::AfterDeviceLost(what) => format!("after_device_lost: {what}"),
        Failure::Stated(reason) => format!("stated: {reason}"),
    }
}

/// The reason behind [`failure_text`].
pub fn failure_from_text(text: &str) -> Failure {
    let (kind, detail) = kind_and_detail(text);
    let detail = detail.to_owned();
    match kind {
        "no_valid_samples" => Failure::NoValidSamples(detail),
        "below_timer_resolution" if detail.is_empty() => Failure::BelowTimerResolution,
        "wrong_result" => Failure::WrongResult(detail),
        "device" => Failure::Device(detail),
        "timed_out" => Failure::TimedOut(detail),
        "after_device_lost" => Failure::AfterDeviceLost(detail),
        "stated" => Failure::Stated(detail),
        _ => Failure::Stated(text.to_owned()),
    }
}

fn kind_and_detail(text: &str) -> (&str, &str) {
    text.split_once(": ").unwrap_or((text.strip_suffix(':').unwrap_or(text), ""))
}

/// `needs 123 free 45`
fn out_of_memory(detail: &str) -> Option<SkipReason> {
    let (needs, free) = detail.strip_prefix("needs ")?.split_once(" free ")?;
    let bytes = |text: &str| text.parse().ok().map(Bytes::new);
    Some(SkipReason::OutOfMemory { needs: bytes(needs)?, free: bytes(free)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_read_back_as_written() {
        let odd = "launch failed: code 700, \"sticky\"".to_owned();
        for reason in [
            SkipReason::OutOfMemory { needs: Bytes::new(9), free: Bytes::new(8) },
            SkipReason::Unsupported(odd.clone()),
            SkipReason::Budget,
            SkipReason::Stated(odd.clone()),
            SkipReason::Stated("budget".to_owned()),
            SkipReason::Stated(String::new()),
        ] {
            assert_eq!(skip_from_text(&skip_text(&reason)), reason);
        }
        for failure in [
            Failure::NoValidSamples(String::new()),
            Failure::BelowTimerResolution,
            Failure::WrongResult(odd.clone()),
            Failure::Device(odd.clone()),
            Failure::TimedOut("5 s".to_owned()),
            Failure::AfterDeviceLost(odd.clone()),
            Failure::Stated(odd),
        ] {
            assert_eq!(failure_from_text(&failure_text(&failure)), failure);
        }
    }

    #[test]
    fn foreign_words_are_kept_whole() {
        let words = "deprecated combination";
        assert_eq!(skip_from_text(words), SkipReason::Stated(words.to_owned()));
        assert_eq!(failure_from_text(words), Failure::Stated(words.to_owned()));
    }
}
