//! What the printed bandwidths say about the times, the ranks and the collective.
//!
//! nccl-tests prints `algbw = size / time` and `busbw = algbw * factor`, where the factor
//! depends on the collective and the ranks (`Collective::bus_factor`). So every row confirms
//! its own time, and its factor names the ranks where the log does not. To June 2020
//! all-gather and reduce-scatter printed the bus bandwidth in both columns.

use super::header::TimeUnit;
use super::row::{Cells, Row};
use crate::import::printed::Printed;
use crate::point::Collective;

/// How far a printed bandwidth may be from size over time beyond the digits printed: room for
/// programs that round in between.
const TOLERANCE: f64 = 0.02;

/// A closed range of possible values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    /// Smallest.
    pub low: f64,
    /// Largest.
    pub high: f64,
}

impl Range {
    fn of(printed: Printed) -> Range {
        Range { low: printed.low(), high: printed.high() }
    }

    fn times(self, other: Range) -> Range {
        Range { low: self.low * other.low, high: self.high * other.high }
    }

    fn scaled(self, by: f64) -> Range {
        Range { low: self.low * by, high: self.high * by }
    }

    /// Whether `value` lies within `tolerance` (relative) of the range.
    fn reaches(self, value: f64, tolerance: f64) -> bool {
        value >= self.low * (1.0 - tolerance) && value <= self.high * (1.0 + tolerance)
    }

    fn relative_width(self) -> f64 {
        (self.high - self.low) / self.low
    }

    fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }
}

/// `bandwidth * time / size`, which is 1 for the algorithm bandwidth and the bus factor for the
/// bus bandwidth.
fn ratio(size: u64, bandwidth: Option<Printed>, cells: &Cells, unit: TimeUnit) -> Option<Range> {
    let (bandwidth, time) = (bandwidth?, cells.time?);
    if size == 0 || bandwidth.low() <= 0.0 || time.low() <= 0.0 {
        return None;
    }
    // GB/s are bytes per nanosecond.
    let nanos = Range::of(time).scaled(unit.us() * 1e3);
    Some(Range::of(bandwidth).times(nanos).scaled(1.0 / size as f64))
}

/// The bus factor of `rows`, from the row whose digits tell most among those that confirm their
/// own time; none if none tells anything.
pub(super) fn bus_factor(rows: &[&Row], unit: TimeUnit, definition: Definition) -> Option<Range> {
    /// A wider range would name the wrong ranks.
    const WIDEST: f64 = 0.2;
    let expected = definition.algorithm_ratio();
    halves(rows)
        .filter(|(size, cells)| confirms(*size, cells, unit, expected))
        .filter_map(|(size, cells)| ratio(size, cells.bus, cells, unit))
        .filter(|range| range.relative_width() < WIDEST)
        .min_by(|a, b| a.relative_width().total_cmp(&b.relative_width()))
}

/// Every half of every row, with the size of the row.
fn halves<'a>(rows: &'a [&'a Row]) -> impl Iterator<Item = (u64, &'a Cells)> {
    rows.iter().flat_map(|row| row.halves().map(|cells| (row.size, cells)))
}

/// Whether every bus bandwidth is 0 although sizes moved: the mark of a single rank.
pub(super) fn bus_is_zero(rows: &[Row]) -> bool {
    let mut moved = false;
    for cells in rows.iter().flat_map(Row::halves) {
        if cells.bus.is_some_and(|bus| bus.value > 0.0) {
            return false;
        }
        // 0.1 GB/s would print as more than 0 with any factor of two ranks or more.
        moved |= cells.algorithm.is_some_and(|algorithm| algorithm.value > 0.1);
    }
    moved
}

/// All numbers of ranks with this factor, up to `LARGEST`.
pub(super) fn ranks_with_factor(collective: Collective, factor: Range) -> Vec<u64> {
    /// More ranks than any posted log; factors of more cannot be told apart anyway.
    const LARGEST: u64 = 65_536;
    let limit = collective.bus_factor(u64::MAX);
    // The same for all ranks, or so near its limit that any large number would do.
    if collective.bus_factor(2) == limit || factor.high >= limit {
        return Vec::new();
    }
    (2..=LARGEST)
        .skip_while(|ranks| collective.bus_factor(*ranks) < factor.low * (1.0 - 1e-6))
        .take_while(|ranks| collective.bus_factor(*ranks) <= factor.high * (1.0 + 1e-6))
        .collect()
}

/// Whether `ranks` of `collective` have this factor.
pub(super) fn factor_fits(collective: Collective, ranks: u64, factor: Range) -> bool {
    factor.reaches(collective.bus_factor(ranks), 1e-3)
}

/// How the algorithm bandwidths of a table relate to its times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Definition {
    /// Size over time.
    Current,
    /// The bus bandwidth, as before June 2020: this many times size over time.
    BusInBoth(f64),
    /// No row has digits enough to tell.
    Unchecked,
    /// Neither: bandwidth times time over size is this.
    Neither(f64),
}

impl Definition {
    /// What `algbw * time / size` should be.
    pub fn algorithm_ratio(self) -> f64 {
        match self {
            Definition::BusInBoth(factor) => factor,
            Definition::Current | Definition::Unchecked | Definition::Neither(_) => 1.0,
        }
    }
}

/// The definition most rows of a table follow.
pub(super) fn definition(rows: &[&Row], unit: TimeUnit) -> Definition {
    /// A row whose digits leave more open than this confirms anything.
    const TELLING: f64 = 0.05;
    let mut ratios: Vec<(Range, &Cells)> = halves(rows)
        .filter_map(|(size, cells)| Some((ratio(size, cells.algorithm, cells, unit)?, cells)))
        .filter(|(range, _)| range.relative_width() < TELLING)
        .collect();
    ratios.sort_by(|(a, _), (b, _)| a.middle().total_cmp(&b.middle()));
    let Some((median, cells)) = ratios.get(ratios.len() / 2) else { return Definition::Unchecked };
    if median.reaches(1.0, TOLERANCE) {
        return Definition::Current;
    }
    // `(n-1)/n` in both columns.
    let same = cells.bus.map(|bus| bus.value) == cells.algorithm.map(|algorithm| algorithm.value);
    if same && median.high >= 0.5 && median.low < 1.0 {
        return Definition::BusInBoth(median.middle());
    }
    Definition::Neither(median.middle())
}

/// Whether the algorithm bandwidth of `cells` confirms their time, or cannot tell.
pub(super) fn confirms(size: u64, cells: &Cells, unit: TimeUnit, expected: f64) -> bool {
    ratio(size, cells.algorithm, cells, unit).is_none_or(|range| range.reaches(expected, TOLERANCE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exactly(factor: f64, half_width: f64) -> Range {
        Range { low: factor - half_width, high: factor + half_width }
    }

    #[test]
    fn the_factor_names_the_ranks() {
        let all_reduce = |factor| ranks_with_factor(Collective::AllReduce, factor);
        assert_eq!(all_reduce(exactly(1.75, 1e-3)), [8]);
        assert_eq!(all_reduce(exactly(1.968_75, 1e-4)), [64]);
        assert_eq!(all_reduce(exactly(1.0, 1e-3)), [2]);
        assert_eq!(all_reduce(exactly(1.0, 0.4)), [2, 3]);
        assert_eq!(ranks_with_factor(Collective::AllGather, exactly(0.857, 1e-3)), [7]);
        assert!(ranks_with_factor(Collective::Broadcast, exactly(1.0, 1e-3)).is_empty());
    }
}
