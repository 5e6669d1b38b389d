//! Whether a thinned table predicts as well as the full one.
//!
//! Part of the full table is held out of both tables; a model is fitted on what is left of each;
//! both are asked for the part. It is drawn by the hash of its name, twice: whole lines, and
//! stretches of an eighth of an octave along lines. A stretch and not a point, because
//! published tables measure 4096 and 4097: one of the two would tell the other, which says
//! nothing about a size that nobody measured.

use std::collections::BTreeMap;

use kernelgauge_data::dataset::sha256_hex;
use kernelgauge_data::{DataSet, Record};
use kernelgauge_model::{BasisChoice, FitError, FitOptions, Model, Query};

/// The band of hashes held out: a fifth.
const HELD_OUT: std::ops::Range<f64> = 0.2..0.4;

/// What is held out together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// An eighth of an octave of a line.
    Stretches,
    /// A line: every point that differs in the sweep axis only.
    Lines,
}

impl Split {
    /// Both, in the order they are reported.
    pub const ALL: [Split; 2] = [Split::Stretches, Split::Lines];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Split::Stretches => "stretches",
            Split::Lines => "lines",
        }
    }
}

/// Errors of both models on the same points of one family or variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The family, alone for all its variants or with one of them: `gemm`, `gemm bf16`.
    pub name: String,
    /// What was held out.
    pub split: Split,
    /// Points held out.
    pub points: usize,
    /// Of the model fitted on the full table.
    pub full: Errors,
    /// Of the model fitted on the thinned table.
    pub thinned: Errors,
}

/// Relative errors `|predicted - measured| / measured`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Errors {
    /// Median.
    pub median: f64,
    /// Mean.
    pub mean: f64,
    /// 90th percentile.
    pub p90: f64,
}

impl Comparison {
    /// Whether this is a whole family.
    pub fn is_family(&self) -> bool {
        !self.name.contains(' ')
    }

    /// Mean error of the thinned over that of the full table.
    pub fn mean_ratio(&self) -> f64 {
        self.thinned.mean / self.full.mean
    }

    /// Median error of the thinned over that of the full table.
    pub fn median_ratio(&self) -> f64 {
        self.thinned.median / self.full.median
    }
}

/// Compares `thinned` with the `full` table it came from.
///
/// # Errors
/// A table that cannot be fitted.
pub fn compare(
    full: &DataSet,
    thinned: &DataSet,
    split: Split,
    seed: u64,
) -> Result<Vec<Comparison>, FitError> {
    let options = FitOptions { seed, ..FitOptions::default() };
    let held_out = |record: &Record| is_held_out(record, split, seed);
    let of_full = Model::fit(&without(full, held_out), &options)?;
    let of_thinned = Model::fit(&without(thinned, held_out), &options)?;
    let mut errors: BTreeMap<String, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for record in full.records.iter().filter(|record| held_out(record)) {
        let Some(measured) = record.fit_time() else { continue };
        let error = |model: &Model| {
            let query = Query {
                point: &record.point,
                cache: record.conditions.cache,
                basis: BasisChoice::Best,
                extrapolate: true,
            };
            let predicted = model.predict(&query).ok()?;
            Some((predicted.time.as_f64() / measured.as_f64() - 1.0).abs())
        };
        if let (Some(of_full), Some(of_thinned)) = (error(&of_full), error(&of_thinned)) {
            let (family, variant) = (record.point.family(), record.point.variant());
            for name in [family.name().to_owned(), format!("{family} {}", variant.as_str())] {
                let both = errors.entry(name).or_default();
                both.0.push(of_full);
                both.1.push(of_thinned);
            }
        }
    }
    Ok(errors
        .into_iter()
        .map(|(name, (of_full, of_thinned))| Comparison {
            name,
            split,
            points: of_full.len(),
            full: Errors::of(of_full),
            thinned: Errors::of(of_thinned),
        })
        .collect())
}

fn without(data: &DataSet, held_out: impl Fn(&Record) -> bool) -> DataSet {
    let records = data.records.iter().filter(|record| !held_out(record));
    DataSet { manifest: data.manifest.clone(), records: records.cloned().collect() }
}

/// By name, so that repeats and both tables agree.
fn is_held_out(record: &Record, split: Split, seed: u64) -> bool {
    /// Stretches in an octave.
    const STRETCHES: f64 = 8.0;
    let (line, axis) = super::order::place(record);
    let stretch = match split {
        Split::Stretches => ((axis as f64).log2() * STRETCHES).floor(),
        Split::Lines => 0.0,
    };
    let digest = sha256_hex(format!("{seed}|{line:?}|{stretch}").as_bytes());
    let drawn = u32::from_str_radix(&digest[..8], 16).unwrap_or_default();
    HELD_OUT.contains(&(f64::from(drawn) / 2_f64.powi(32)))
}

impl Errors {
    fn of(mut errors: Vec<f64>) -> Errors {
        errors.sort_by(f64::total_cmp);
        let at = |share: f64| kernelgauge_data::statistics::quantile(&errors, share);
        Errors {
            median: at(0.5).unwrap_or_default(),
            mean: errors.iter().sum::<f64>() / errors.len().max(1) as f64,
            p90: at(0.9).unwrap_or_default(),
        }
    }
}
