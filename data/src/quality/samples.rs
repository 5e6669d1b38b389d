//! Findings about one record, or about repeats of one point: too few samples, too much spread,
//! repeats that disagree.

use std::collections::HashMap;

use crate::conditions::Conditions;
use crate::measurement::{Flag, Measurement, Outcome, Record};
use crate::point::Point;
use crate::quality::Finding;
use crate::units::{Nanos, four_digits};

/// With fewer samples not even their whole range covers the true median 95 times in 100:
/// the chance that all lie on one side of it is `2 * 0.5^n`.
const FEWEST_SAMPLES: u32 = 6;

/// Distance of the quartiles over the median above which a measurement is called wide: ten
/// times the 1 % to which the method brings a quiet median.
const WIDEST_SPREAD: f64 = 0.10;

/// Ratio of two repeats that noise still explains. Two independent runs of the public GEMM
/// tables differ by 3 to 4 % in the mean.
const LARGEST_DISAGREEMENT: f64 = 1.10;

pub(super) fn findings(records: &[Record]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (record, entry) in records.iter().enumerate() {
        if let Outcome::Measured(measurement) = &entry.outcome {
            let about = about(measurement).map(|(flag, detail)| Finding {
                record,
                flag,
                detail: format!("{}: {detail}", entry.point),
            });
            findings.extend(about);
        }
    }
    findings.extend(conflicts(records));
    findings
}

fn about(measurement: &Measurement) -> impl Iterator<Item = (Flag, String)> {
    let samples = measurement.samples;
    let few = (1..FEWEST_SAMPLES).contains(&samples).then(|| {
        let word = if samples == 1 { "sample" } else { "samples" };
        (Flag::FewSamples, format!("{samples} {word}; a median needs {FEWEST_SAMPLES}"))
    });
    let wide = measurement.spread.and_then(|spread| {
        let range = spread.q3.as_f64() - spread.q1.as_f64();
        let share = range / measurement.time.as_f64().max(1.0);
        let detail = || format!("the quartiles are {} % apart", four_digits(100.0 * share));
        (share > WIDEST_SPREAD).then(|| (Flag::WideSpread, detail()))
    });
    few.into_iter().chain(wide)
}

/// Repeats of one point under the same conditions whose times differ beyond noise.
fn conflicts(records: &[Record]) -> Vec<Finding> {
    let mut repeats: HashMap<(&Point, &Conditions), Vec<(usize, Nanos)>> = HashMap::new();
    for (record, entry) in records.iter().enumerate() {
        if let Some(time) = entry.time() {
            repeats.entry((&entry.point, &entry.conditions)).or_default().push((record, time));
        }
    }
    let mut findings = Vec::new();
    for ((point, _), times) in repeats.into_iter().filter(|(_, times)| times.len() > 1) {
        let (Some(fastest), Some(slowest)) =
            (times.iter().map(|(_, time)| *time).min(), times.iter().map(|(_, time)| *time).max())
        else {
            continue;
        };
        if slowest.as_f64() <= LARGEST_DISAGREEMENT * fastest.as_f64() {
            continue;
        }
        let detail = format!("{point}: {} repeats from {fastest} to {slowest}", times.len());
        findings.extend(times.iter().map(|(record, _)| Finding {
            record: *record,
            flag: Flag::ConflictingRepeats,
            detail: detail.clone(),
        }));
    }
    findings
}
