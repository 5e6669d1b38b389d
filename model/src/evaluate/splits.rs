//! Which points are held out.
//!
//! Points and lines are drawn by a hash of their parameters, so that the same ones are held out
//! of every table that has them and of every tool that is compared: the first 32 bits of
//! `sha256(parameters joined by '|')` over 2^32, parameters that never vary left out, lies in
//! the band.

use kernelgauge_data::dataset::sha256_hex;
use serde::Serialize;

use super::EvaluateOptions;
use crate::rows::Row;

/// How many octaves of the axis the frontier holds out.
const FRONTIER_OCTAVES: u32 = 3;

/// A way to hold points out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Single points.
    Point,
    /// Whole lines: for products, sites (n, k) never seen.
    Line,
    /// Every second value of the axis; odd seeds hold the other half out.
    EverySecond,
    /// The top three octaves of the axis.
    Frontier,
}

impl Split {
    /// Every split.
    pub const ALL: [Split; 4] = [Split::Point, Split::Line, Split::EverySecond, Split::Frontier];

    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Split::Point => "point",
            Split::Line => "line",
            Split::EverySecond => "every_second",
            Split::Frontier => "frontier",
        }
    }

    /// Whether each row is held out.
    pub(super) fn held(self, rows: &[Row<'_>], options: &EvaluateOptions) -> Vec<bool> {
        let Some(first) = rows.first() else { return Vec::new() };
        let axis = first.point.axis();
        match self {
            Split::Point => by_hash(rows, None, options),
            Split::Line => by_hash(rows, Some(axis), options),
            Split::EverySecond => every_second(rows, axis, (options.seed % 2) as usize),
            Split::Frontier => {
                let largest = rows.iter().map(|row| row.parameters[axis]).max().unwrap_or(0);
                let limit = largest >> FRONTIER_OCTAVES;
                rows.iter().map(|row| row.parameters[axis] > limit).collect()
            }
        }
    }
}

fn by_hash(rows: &[Row<'_>], without: Option<usize>, options: &EvaluateOptions) -> Vec<bool> {
    let varying: Vec<usize> = (0..rows[0].parameters.len())
        .filter(|index| Some(*index) != without)
        .filter(|&index| rows.iter().any(|row| row.parameters[index] != rows[0].parameters[index]))
        .collect();
    let (low, high) = options.band;
    rows.iter()
        .map(|row| {
            let parts: Vec<String> =
                varying.iter().map(|&index| row.parameters[index].to_string()).collect();
            (low..high).contains(&share(&parts.join("|"), options.seed))
        })
        .collect()
}

/// Where a key lies in 0..1.
fn share(key: &str, seed: u64) -> f64 {
    let text = if seed == 0 { key.to_owned() } else { format!("{seed}|{key}") };
    let digest = sha256_hex(text.as_bytes());
    let drawn = u32::from_str_radix(&digest[..8], 16).unwrap_or_default();
    f64::from(drawn) / 2_f64.powi(32)
}

fn every_second(rows: &[Row<'_>], axis: usize, parity: usize) -> Vec<bool> {
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
