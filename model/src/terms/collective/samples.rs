//! Measured times by rank count and dtype, and chords through them.
//!
//! A time whose repeats disagree is trusted less than the chord over it. What curves are made of
//! the samples is left to `borrowed` and `guide`.

use std::collections::BTreeMap;

use kernelgauge_data::{Dtype, Point};

use super::knots::chord;
use crate::math::ln;
use crate::rows::Row;

/// Half the log ratio of a point's repeats at which it counts half. Repeats of published tables
/// differ by 1 % in the median and 5 to 12 % at the 90th percentile.
const DISAGREEMENT: f64 = 0.05;

/// One measured size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    pub bytes: u64,
    pub log_bytes: f64,
    pub log_ns: f64,
    /// 1, or less where repeats disagree.
    pub trust: f64,
}

/// (nodes, ranks), in the order curves are kept in.
pub(super) type Place = (u64, u64);

/// The samples of one dtype at one rank count, in order of their bytes.
pub(super) type Samples = Vec<Sample>;

/// Rows by place and dtype, what repeats disagree about drawn to the chord.
pub(super) fn by_place(rows: &[Row<'_>]) -> BTreeMap<(Place, Dtype), Samples> {
    let mut found: BTreeMap<(Place, Dtype), Samples> = BTreeMap::new();
    for row in rows {
        let Point::Collective(point) = row.point else { continue };
        let spread = row.unsettled / DISAGREEMENT;
        found.entry(((point.nodes, point.ranks), point.dtype)).or_default().push(Sample {
            bytes: point.bytes,
            log_bytes: ln(point.bytes as f64),
            log_ns: row.log_ns,
            trust: 1.0 / (1.0 + spread * spread),
        });
    }
    for samples in found.values_mut() {
        samples.sort_by_key(|sample| sample.bytes);
        *samples = settled(samples);
    }
    found
}

fn settled(samples: &[Sample]) -> Samples {
    let mut settled = samples.to_vec();
    for (sample, around) in settled.iter_mut().skip(1).zip(samples.windows(3)) {
        let [below, at, above] =
            [0, 1, 2].map(|place| (around[place].log_bytes, around[place].log_ns));
        let expected = chord(below, above, at.0);
        sample.log_ns = sample.trust * at.1 + (1.0 - sample.trust) * expected;
    }
    settled
}

/// The log time on the chord of `samples`; none outside them.
pub(super) fn on_chord(samples: &[Sample], log_bytes: f64) -> Option<f64> {
    let after = samples.partition_point(|sample| sample.log_bytes <= log_bytes);
    let below = samples.get(after.checked_sub(1)?)?;
    if below.log_bytes == log_bytes {
        return Some(below.log_ns);
    }
    let above = samples.get(after)?;
    let [below, above] = [below, above].map(|sample| (sample.log_bytes, sample.log_ns));
    Some(chord(below, above, log_bytes))
}
