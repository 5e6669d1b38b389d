//! What launching costs, in plain words: constants read off the fitted lines.
//!
//! Left to others: how each op is timed (`kernelgauge-cuda`, `nvidia::overheads`).

use kernelgauge_data::point::launching::COUNT;
use kernelgauge_data::{CacheState, CustomPoint, Nanos, Point, Record};
use kernelgauge_model::{BasisChoice, Model, Query};
use serde::Serialize;

use crate::columns::Columns;

/// An op, what one more of it costs, and the short word for that where the summary has it.
const WORDS: [(&str, &str, Option<&str>); 8] = [
    ("launch/kernel", "the call that launches a kernel", Some("launch")),
    ("launch/copy", "the call that launches a copy", Some("copy")),
    ("launch/graph", "a graph's launch, per kernel in it", Some("graph node")),
    ("gap/stream", "an empty kernel after another on a stream", Some("gap between kernels")),
    ("gap/graph", "an empty kernel after another in a graph", None),
    ("event/record", "the call that records an event", Some("event")),
    ("synchronise/idle", "waiting for a stream that has nothing to do", None),
    ("synchronise/kernel", "launching an empty kernel and waiting for it", Some("round trip")),
];

/// One op as a line over how often.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Launching {
    /// The op.
    pub op: &'static str,
    /// What it takes however often, in microseconds; not below zero.
    pub once_us: f64,
    /// What one more takes, in microseconds.
    pub each_us: f64,
    #[serde(skip)]
    meaning: &'static str,
    #[serde(skip)]
    short: Option<&'static str>,
}

/// The constants of every launch that `records` were measured of and `model` has a term for:
/// from what the term says of the least count and of the largest.
pub fn constants(records: &[Record], model: &Model) -> Vec<Launching> {
    let of = |&(op, meaning, short): &(&'static str, &'static str, Option<&'static str>)| {
        let counts = counts(records, op);
        let (least, most) = (*counts.iter().min()?, *counts.iter().max()?);
        let (low, high) = (time(model, op, least)?.us(), time(model, op, most)?.us());
        let each_us = (high - low) / most.checked_sub(least).filter(|more| *more > 0)? as f64;
        let once_us = (low - each_us * least as f64).max(0.0);
        Some(Launching { op, once_us, each_us, meaning, short })
    };
    WORDS.iter().filter_map(of).collect()
}

fn counts(records: &[Record], op: &str) -> Vec<u64> {
    let count = |record: &Record| match &record.point {
        Point::Custom(custom) if custom.op == op && custom.is_launching() => {
            record.fit_time()?;
            custom.parameters.first().map(|(_, count)| *count)
        }
        _ => None,
    };
    records.iter().filter_map(count).collect()
}

fn time(model: &Model, op: &str, count: u64) -> Option<Nanos> {
    let parameters = vec![(COUNT.to_owned(), count)];
    let point = Point::Custom(CustomPoint { op: op.to_owned(), parameters });
    let (cache, basis) = (CacheState::Unstated, BasisChoice::Analytical);
    let query = Query { point: &point, cache, basis, extrapolate: false };
    model.predict(&query).ok().map(|prediction| prediction.time)
}

/// `launch 2.1 us, graph node 0.12 us, event 0.40 us`; nothing without any.
pub fn in_words(constants: &[Launching]) -> String {
    let words = constants.iter().filter_map(|constant| {
        Some(format!("{} {} us", constant.short?, digits(constant.each_us)))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The table of a report; nothing without any.
pub fn markdown(constants: &[Launching]) -> String {
    if constants.is_empty() {
        return String::new();
    }
    let mut columns = Columns::new(&["what", "op", "one more (us)>", "constant (us)>"]);
    for Launching { op, once_us, each_us, meaning, .. } in constants {
        columns.row([(*meaning).to_owned(), format!("`{op}`"), digits(*each_us), digits(*once_us)]);
    }
    format!(
        "## Launching\n\nTime is the constant and so much more each time.\n\n{}",
        columns.markdown()
    )
}

fn digits(us: f64) -> String {
    if us >= 9.95 {
        format!("{us:.0}")
    } else if us >= 0.995 {
        format!("{us:.1}")
    } else {
        format!("{us:.3}")
    }
}
