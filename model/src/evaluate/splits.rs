//! Which points are held out.
//!
//! Points and lines are drawn by a hash of their parameters, so that the same ones are held out
//! of every table that has them and of every tool that is compared: the first 32 bits of
//! `sha256(parameters joined by '|')` over 2^32, parameters that never vary left out, lies in
//! the band.

use std::collections::BTreeMap;

use kernelgauge_data::Family;
use kernelgauge_data::dataset::sha256_hex;
use serde::Serialize;

use super::{Band, EvaluateOptions};
use crate::fit::top_octaves;
use crate::math::log2;
use crate::rows::Row;

/// How many octaves of a parameter a frontier holds out.
const FRONTIER_OCTAVES: u32 = 3;

/// How many the far frontier of collectives does.
const FAR_FRONTIER_OCTAVES: u32 = 4;

/// A way to hold points out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Single points.
    Point,
    /// Whole lines: for products, sites (n, k) never seen.
    Line,
    /// Every second value of the axis; odd seeds hold the other half out.
    EverySecond,
    /// The same, where other dtypes at the same bytes may be known: collectives only.
    SisterDtype,
    /// The top three octaves of the axis.
    Frontier,
    /// The top four octaves of a collective's sizes: up to sixteen times the largest known.
    FarFrontier,
    /// The top three octaves of a product's columns n.
    WideFrontier,
    /// A rank count between others: collectives only, whose lines are rank counts.
    Ranks,
    /// All but the smallest, the largest and the middle size of each curve of a collective, as of
    /// a machine measured for a minute.
    FewPoints,
    /// All but a twentieth of the points, as of a machine hardly measured.
    FewShot,
    /// Every point, as of a machine never measured: only where others lend.
    UnseenMachine,
}

/// One fit without, and questions about, some of the rows.
pub(super) struct Fold {
    /// The band that drew them, where a hash did.
    pub band: Option<Band>,
    /// Whether each row is held out.
    pub held: Vec<bool>,
}

impl Split {
    /// Every split.
    pub const ALL: [Split; 11] = [
        Split::Point,
        Split::Line,
        Split::EverySecond,
        Split::SisterDtype,
        Split::Frontier,
        Split::FarFrontier,
        Split::WideFrontier,
        Split::Ranks,
        Split::FewPoints,
        Split::FewShot,
        Split::UnseenMachine,
    ];

    /// The name in tables, JSON and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Split::Point => "point",
            Split::Line => "line",
            Split::EverySecond => "every_second",
            Split::SisterDtype => "sister_dtype",
            Split::Frontier => "frontier",
            Split::FarFrontier => "far_frontier",
            Split::WideFrontier => "wide_frontier",
            Split::Ranks => "ranks",
            Split::FewPoints => "few_points",
            Split::FewShot => "few_shot",
            Split::UnseenMachine => "unseen_machine",
        }
    }

    /// The folds of this split; none where it has no meaning for the rows' family.
    pub(super) fn folds(self, rows: &[Row<'_>], options: &EvaluateOptions<'_>) -> Vec<Fold> {
        let Some(first) = rows.first() else { return Vec::new() };
        let (family, axis) = (first.point.family(), first.point.axis());
        let is_collective = family == Family::Collective;
        let whole = |held| vec![Fold { band: None, held }];
        match self {
            Split::Point => by_bands(rows, None, options),
            Split::Line if !is_collective => by_bands(rows, Some(axis), options),
            Split::EverySecond => whole(every_second(rows, axis, options.seed)),
            Split::SisterDtype if is_collective => whole(every_second(rows, axis, options.seed)),
            Split::Frontier => whole(top_octaves(rows, axis, FRONTIER_OCTAVES)),
            Split::FarFrontier if is_collective => {
                whole(top_octaves(rows, axis, FAR_FRONTIER_OCTAVES))
            }
            Split::WideFrontier if family == Family::Gemm => index_of(first, "n")
                .map_or_else(Vec::new, |n| whole(top_octaves(rows, n, FRONTIER_OCTAVES))),
            Split::Ranks => index_of(first, "ranks").map_or_else(Vec::new, |at| between(rows, at)),
            Split::FewPoints if is_collective => whole(all_but_three(rows, axis)),
            Split::FewShot => few_shots(rows, options),
            Split::UnseenMachine if !options.lenders.is_empty() => whole(vec![true; rows.len()]),
            _ => Vec::new(),
        }
    }
}

/// Curves of fewer sizes, or over fewer octaves, are kept whole: three points are nearly all.
const LEAST_OF_A_CURVE: (usize, f64) = (6, 4.0);

/// All but the ends of each line and the point nearest to the middle between them, in logarithms.
fn all_but_three(rows: &[Row<'_>], axis: usize) -> Vec<bool> {
    let line = |row: &Row<'_>| crate::shape::replaced(&row.parameters, axis, 0);
    let mut lines: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for row in rows {
        lines.entry(line(row)).or_default().push(row.parameters[axis]);
    }
    for values in lines.values_mut() {
        values.sort_unstable();
    }
    let held = |row: &Row<'_>| {
        let values = lines.get(&line(row)).map_or(&[][..], Vec::as_slice);
        let (Some(first), Some(last)) = (values.first(), values.last()) else { return false };
        let [low, high] = [first, last].map(|value| log2(*value as f64));
        if values.len() < LEAST_OF_A_CURVE.0 || high - low < LEAST_OF_A_CURVE.1 {
            return false;
        }
        let off = |value: u64| (log2(value as f64) - (low + high) / 2.0).abs();
        let middle = values.iter().min_by(|a, b| off(**a).total_cmp(&off(**b)));
        let value = &row.parameters[axis];
        ![Some(first), Some(last), middle].contains(&Some(value))
    };
    rows.iter().map(held).collect()
}

/// The share of points that few shots keep.
const SHOTS: f64 = 0.05;

/// The first twentieth of each band stays, all else is held out.
fn few_shots(rows: &[Row<'_>], options: &EvaluateOptions<'_>) -> Vec<Fold> {
    let shots = options.bands.iter().map(|band| (band.0, band.0 + SHOTS)).collect();
    let options = EvaluateOptions { bands: shots, ..options.clone() };
    let mut folds = by_bands(rows, None, &options);
    for fold in &mut folds {
        fold.held.iter_mut().for_each(|held| *held = !*held);
    }
    folds
}

fn index_of(row: &Row<'_>, parameter: &str) -> Option<usize> {
    row.point.parameter_names().iter().position(|name| *name == parameter)
}

fn by_bands(rows: &[Row<'_>], without: Option<usize>, options: &EvaluateOptions<'_>) -> Vec<Fold> {
    let varying: Vec<usize> = (0..rows[0].parameters.len())
        .filter(|index| Some(*index) != without)
        .filter(|&index| rows.iter().any(|row| row.parameters[index] != rows[0].parameters[index]))
        .collect();
    let shares: Vec<f64> = rows
        .iter()
        .map(|row| {
            let parts: Vec<String> =
                varying.iter().map(|&index| row.parameters[index].to_string()).collect();
            share(&parts.join("|"), options.seed)
        })
        .collect();
    let fold = |band: &Band| {
        let held = shares.iter().map(|share| (band.0..band.1).contains(share)).collect();
        Fold { band: Some(*band), held }
    };
    options.bands.iter().map(fold).collect()
}

/// Where a key lies in 0..1.
fn share(key: &str, seed: u64) -> f64 {
    let text = if seed == 0 { key.to_owned() } else { format!("{seed}|{key}") };
    let digest = sha256_hex(text.as_bytes());
    let drawn = u32::from_str_radix(&digest[..8], 16).unwrap_or_default();
    f64::from(drawn) / 2_f64.powi(32)
}

fn every_second(rows: &[Row<'_>], axis: usize, seed: u64) -> Vec<bool> {
    let parity = (seed % 2) as usize;
    let mut values: Vec<u64> = rows.iter().map(|row| row.parameters[axis]).collect();
    values.sort_unstable();
    values.dedup();
    let last = values.len().saturating_sub(1);
    let held = |value: u64| {
        // The ends stay, or their neighbours would lie beyond everything kept.
        values
            .binary_search(&value)
            .is_ok_and(|index| index % 2 != parity && index != 0 && index != last)
    };
    rows.iter().map(|row| held(row.parameters[axis])).collect()
}

/// Each value but the smallest and the largest, held out alone.
fn between(rows: &[Row<'_>], parameter: usize) -> Vec<Fold> {
    let mut values: Vec<u64> = rows.iter().map(|row| row.parameters[parameter]).collect();
    values.sort_unstable();
    values.dedup();
    let inner = values.get(1..values.len().saturating_sub(1)).unwrap_or_default();
    let held =
        |value: u64| rows.iter().map(|row| row.parameters[parameter] == value).collect::<Vec<_>>();
    inner.iter().map(|value| Fold { band: None, held: held(*value) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_one_others_use() {
        // python: int(hashlib.sha256(b'16|4096|4096').hexdigest()[:8], 16) / 2**32
        assert!((share("16|4096|4096", 0) - 0.720_967_938_192_189).abs() < 1e-12);
        assert!((share("4096|4096", 0) - 0.466_682_781_698_182).abs() < 1e-12);
        assert_ne!(share("16|4096|4096", 0), share("16|4096|4096", 1));
    }
}
