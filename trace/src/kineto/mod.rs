//! Kineto traces: the Chrome-trace JSON of the PyTorch profiler, of 2021 to now, of all vendors.
//!
//! The file is streamed: at any time one window of text is held, and what is kept of an event
//! is interned. Careless writing that changes no number is mended and counted in
//! [`Oddities`](crate::recording::Oddities); times that cannot be are set aside, and a file
//! with too many of them is refused.
//!
//! Left to others: opening and unpacking files (`input`), and what belongs to what (`build`).

mod document;
mod facts;
mod intake;
mod job;
mod kind;
mod scalar;
mod wire;

use std::io::Read;

use document::{Document, Walked};

use crate::TraceError;
use crate::options::ReadOptions;
use crate::recording::Recording;

/// The share of timed events that may be set aside, one in so many. What cannot be is rare
/// where a profiler works; where it is not, neither are the other times to be trusted.
const TOLERATED: u64 = 100;

/// Reads a Kineto trace, not compressed. `source_name` names it in errors.
///
/// # Errors
/// What is not JSON, is JSON but no trace, is cut (unless `options` allow it), holds no event
/// that counts, or has more than one in a hundred events with times that cannot be.
pub fn read(
    source_name: &str,
    reader: impl Read,
    options: &ReadOptions,
) -> Result<Recording, TraceError> {
    let Walked { intake, odd, lists, keys } = Document::new(source_name, reader, options).walk()?;
    let recording = intake.recording;
    if lists == 0 {
        return Err(no_trace(source_name, &keys));
    }
    let oddities = &recording.oddities;
    let set_aside = oddities.absurd_durations + oddities.untimed;
    if set_aside * TOLERATED > oddities.read + set_aside {
        let timed = oddities.read + set_aside;
        let (place, name) =
            odd.map_or_else(Default::default, |(place, name)| (place.to_string(), name));
        let problem = format!(
            "{set_aside} of {timed} timed events have durations or times that cannot be \
             (negative, longer than 1e6 s, or no number); the first is {name:?}"
        );
        let hint = "more than 1 % is more than an accident: record again, with the newest profiler";
        return Err(TraceError::content(source_name, place, problem, hint));
    }
    if oddities.read == 0 {
        let hint = "was the profiler's window open while the program worked, and were activities \
                    of the processor (CPU) and the device (CUDA) enabled?";
        return Err(TraceError::unusable(
            source_name,
            "holds no op, no kernel, no event that counts",
            hint,
        ));
    }
    Ok(recording)
}

fn no_trace(source_name: &str, keys: &[String]) -> TraceError {
    let has = |key: &str| keys.iter().any(|found| found == key);
    let problem = match keys {
        [] => "is JSON, but an empty object".to_owned(),
        _ => format!(
            "is JSON, but no Kineto trace: no list `traceEvents`, only `{}`",
            keys.join("`, `")
        ),
    };
    let hint = if has("nodes") && has("schema") {
        "this is a PyTorch execution trace"
    } else {
        "a Kineto trace is what `torch.profiler` exports with `export_chrome_trace`"
    };
    TraceError::unusable(source_name, problem, hint)
}
