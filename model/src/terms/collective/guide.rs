//! Curves of other machines as guides between few points.
//!
//! Machines of one kind switch protocols at the same sizes. The log ratio of two such machines'
//! curves is therefore smoother than either, and a curve with points at few sizes follows
//! another machine's course between them, the ratio interpolated. A machine of another kind
//! misleads, so that a guide is followed only where it foretells points of the curve's own that
//! are held out clearly better than chords do. Which machines are asked is left to the caller.

use std::collections::BTreeMap;

use super::samples::{Place, Sample, Samples, on_chord};

/// The curves of a variant.
pub(super) type Curves = BTreeMap<Place, Samples>;

/// A guide has to err less than this share of what chords do.
const CLEARLY: f64 = 0.9;

/// Points held out, at least, before a guide can be told from luck.
const TRIALS: usize = 3;

/// An outlier must not decide.
const MOST: f64 = 0.5;

/// `own` with the sizes of the best guide among `sources`; as it is where none helps.
pub(super) fn guided(own: &Curves, sources: &[Curves]) -> Curves {
    let plain = error(own, |rest, at| on_chord(rest, at.log_bytes));
    let tried = sources.iter().map(|source| {
        let follow = |place: &Place, rest: &[Sample], at: &Sample| {
            ratio(rest, source.get(place)?, at.log_bytes)
        };
        (error_by_place(own, follow), source)
    });
    let best = tried
        .filter(|((trials, _), _)| *trials >= TRIALS)
        .min_by(|((_, a), _), ((_, b), _)| a.total_cmp(b));
    match best {
        Some(((_, least), source)) if least < CLEARLY * plain => own
            .iter()
            .map(|(place, samples)| (*place, filled(samples, source.get(place))))
            .collect(),
        _ => own.clone(),
    }
}

fn error(own: &Curves, foretell: impl Fn(&[Sample], &Sample) -> Option<f64>) -> f64 {
    error_by_place(own, |_, rest, at| foretell(rest, at)).1
}

/// Points that could be held out, and the mean error on them.
fn error_by_place(
    own: &Curves,
    foretell: impl Fn(&Place, &[Sample], &Sample) -> Option<f64>,
) -> (usize, f64) {
    let mut errors = Vec::new();
    for (place, samples) in own {
        for held in 1..samples.len().saturating_sub(1) {
            let mut rest = samples.clone();
            let at = rest.remove(held);
            if let Some(foretold) = foretell(place, &rest, &at) {
                errors.push((foretold - at.log_ns).abs().min(MOST));
            }
        }
    }
    (errors.len(), errors.iter().sum::<f64>() / errors.len().max(1) as f64)
}

/// The log time at a size on the course of `source`, shifted to run through `own`; beyond the
/// ends of `own` by as much as there. None where the source was not measured that far.
fn ratio(own: &[Sample], source: &[Sample], log_bytes: f64) -> Option<f64> {
    let course = |at: f64| on_chord(source, at);
    let shift = |sample: &Sample| Some(sample.log_ns - course(sample.log_bytes)?);
    let after = own.partition_point(|sample| sample.log_bytes <= log_bytes);
    let below = after.checked_sub(1).and_then(|at| own.get(at));
    let shift = match (below, own.get(after)) {
        (Some(below), Some(above)) => {
            let share = (log_bytes - below.log_bytes) / (above.log_bytes - below.log_bytes);
            (1.0 - share) * shift(below)? + share * shift(above)?
        }
        (Some(only), None) | (None, Some(only)) => shift(only)?,
        (None, None) => return None,
    };
    Some(course(log_bytes)? + shift)
}

/// `own` with the other sizes of `source`.
fn filled(own: &[Sample], source: Option<&Samples>) -> Samples {
    let mut curve = own.to_vec();
    for sample in source.into_iter().flatten() {
        let log_ns = ratio(own, source.map_or(&[], Vec::as_slice), sample.log_bytes);
        let is_own = own.binary_search_by_key(&sample.bytes, |own| own.bytes).is_ok();
        if let (Some(log_ns), false) = (log_ns, is_own) {
            curve.push(Sample { log_ns, ..*sample });
        }
    }
    curve.sort_by_key(|sample| sample.bytes);
    curve
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::ln;

    fn samples(log_sizes: &[u32], us: impl Fn(f64) -> f64) -> Samples {
        log_sizes
            .iter()
            .map(|log| {
                let bytes = 1_u64 << log;
                let log_ns = ln(us(bytes as f64) * 1000.0);
                Sample { bytes, log_bytes: ln(bytes as f64), log_ns, trust: 1.0 }
            })
            .collect()
    }

    #[test]
    fn a_machine_of_one_kind_guides_and_another_does_not() {
        // A protocol's switch at 64 KiB: 10 us below, 16 us from there.
        let switching = |scale: f64| {
            move |bytes: f64| scale * (if bytes < 65536.0 { 10.0 } else { 16.0 } + bytes / 3e5)
        };
        let every = |by| (10..=26).step_by(by).collect::<Vec<u32>>();
        let own: Curves = [((1, 8), samples(&every(4), switching(1.1)))].into();
        let alike: Curves = [((1, 8), samples(&every(1), switching(1.0)))].into();
        let other: Curves = [((1, 8), samples(&every(1), |bytes| 5.0 + bytes.sqrt()))].into();
        let curve = &guided(&own, &[other.clone(), alike])[&(1, 8)];
        assert_eq!(curve.len(), 17);
        let truth = samples(&every(1), switching(1.1));
        let worst = curve.iter().zip(&truth).map(|(a, b)| (a.log_ns - b.log_ns).abs());
        assert!(worst.fold(0.0, f64::max) < 1e-9);
        assert_eq!(guided(&own, &[other])[&(1, 8)].len(), 5);
    }
}
