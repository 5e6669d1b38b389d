//! Bands between measured points of a line, by how far apart these are.
//!
//! Held-out points lie in gaps wider than those that answers are given in: what was held out
//! stood between. So bands are kept by gap, and taken for the gap of the question.

use super::Band;
use super::residuals::Held;
use crate::math::{log2, pow, round9};

/// The band where no gap was tried: between rank counts of published machines nine tenths of
/// interpolations lie within 15 % (NVSwitch) to 31 % (PCIe).
pub(super) const UNTRIED: Band = Band(-0.3, 0.3);

/// A class of gaps has at least this many residuals.
const LEAST_IN_CLASS: usize = 30;

/// Upper ends of the classes, in octaves.
const CLASSES: [f64; 7] = [0.3, 0.75, 1.5, 2.5, 4.5, 8.5, f64::INFINITY];

/// Bands shrink with no more than this power of a gap that is smaller than all that were tried:
/// what is left of errors there is noise, which does not shrink at all.
pub(super) const MOST_SHRINKING: f64 = 0.5;

/// Mean gap of a class and its band, ascending.
pub(super) type Gaps = Vec<(f64, Band)>;

/// Bands by gap of the residuals that have one; `band` makes a band of the residuals of a class.
pub(super) fn by_gap(held: &[Held], band: impl Fn(Vec<f64>) -> Option<Band>) -> Gaps {
    let mut sorted: Vec<(f64, f64)> =
        held.iter().map(|held| (held.gap, held.residual)).filter(|(gap, _)| *gap > 0.0).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let class = |gap: f64| CLASSES.partition_point(|end| *end < gap);
    let mut groups: Vec<Vec<(f64, f64)>> = Vec::new();
    for run in sorted.chunk_by(|a, b| class(a.0) == class(b.0)) {
        match groups.last_mut() {
            Some(last) if last.len() < LEAST_IN_CLASS => last.extend(run),
            _ => groups.push(run.to_vec()),
        }
    }
    if groups.len() > 1 && groups[groups.len() - 1].len() < LEAST_IN_CLASS {
        let last = groups.pop().unwrap_or_default();
        if let Some(before) = groups.last_mut() {
            before.extend(last);
        }
    }
    groups
        .into_iter()
        .filter_map(|group| {
            let gap = group.iter().map(|(gap, _)| gap).sum::<f64>() / group.len() as f64;
            band(group.into_iter().map(|(_, residual)| residual).collect())
                .map(|band| (round9(gap), band))
        })
        .collect()
}

/// The band at a gap: between those of the nearest gaps known, or scaled by their power law.
pub(super) fn by_gap_at(table: &[(f64, Band)], gap: f64) -> Band {
    let after = table.partition_point(|(have, _)| *have <= gap);
    let below = after.checked_sub(1).and_then(|index| table.get(index));
    match (below, table.get(after)) {
        (Some((low, below)), Some((high, above))) => {
            let weight = (log2(gap) - log2(*low)) / (log2(*high) - log2(*low));
            let mix = |a: f64, b: f64| a + weight * (b - a);
            Band(mix(below.0, above.0), mix(below.1, above.1))
        }
        (Some((edge, band)), None) => band.scaled(pow(gap / edge, growth(table))),
        (None, Some((edge, band))) => {
            band.scaled(pow(gap / edge, growth(table).min(MOST_SHRINKING)))
        }
        (None, None) => UNTRIED,
    }
}

/// The power of the gap that bands grow with. Straight lines through a smooth curve err with its
/// square, through noise not at all; where only one gap is known, with its square root.
fn growth(table: &[(f64, Band)]) -> f64 {
    match (table.first(), table.last()) {
        (Some((low, narrow)), Some((high, wide))) if high > low => {
            (log2(wide.width() / narrow.width()) / log2(high / low)).clamp(0.0, 2.0)
        }
        _ => 0.5,
    }
}

/// Whether gaps ascend and bands are where bands can be.
pub(super) fn is_sound(table: &[(f64, Band)]) -> bool {
    table.iter().all(|(gap, band)| gap.is_finite() && *gap > 0.0 && band.is_sound())
        && table.windows(2).all(|pair| pair[0].0 < pair[1].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_grow_with_the_gap_and_shrink_with_its_root() {
        let class = |gap: f64, half: f64| {
            (0..50).map(move |i| Held {
                gap,
                log_ns: 10.0,
                residual: half * f64::from(i - 25) / 25.0,
            })
        };
        let held: Vec<Held> = class(2.0, 0.1).chain(class(4.0, 0.2)).collect();
        let table = by_gap(&held, Band::of);
        let width = |gap| by_gap_at(&table, gap).width();
        assert!((width(1.0) / width(2.0) - 0.5_f64.sqrt()).abs() < 0.05);
        assert!((width(8.0) / width(4.0) - 2.0).abs() < 0.1);
        assert!(width(3.0) > width(2.0) && width(3.0) < width(4.0));
    }
}
