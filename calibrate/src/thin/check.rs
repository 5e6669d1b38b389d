//! Whether a thinned table predicts as well as the full one.
//!
//! A band of points, drawn by the hash of their names, is taken out of both tables; a model is
//! fitted on what is left of each; both are asked for the band. The band is drawn from the full
//! table, so the thinned model is asked for points it never had a chance to keep, too.

use std::collections::BTreeMap;

use kernelgauge_data::dataset::sha256_hex;
use kernelgauge_data::{DataSet, Record};
use kernelgauge_model::{BasisChoice, FitError, FitOptions, Model, Query};

/// The share of points held out.
const HELD_OUT: std::ops::Range<f64> = 0.2..0.4;

/// Errors of both models on the same points of one variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Family and variant: `gemm bf16`.
    pub name: String,
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
pub fn compare(full: &DataSet, thinned: &DataSet, seed: u64) -> Result<Vec<Comparison>, FitError> {
    let options = FitOptions { seed };
    let of_full = Model::fit(&without_band(full, seed), &options)?;
    let of_thinned = Model::fit(&without_band(thinned, seed), &options)?;
    let mut errors: BTreeMap<String, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for record in full.records.iter().filter(|record| in_band(record, seed)) {
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
            let variant = record.point.variant();
            let name = format!("{} {}", record.point.family(), variant.as_str());
            let both = errors.entry(name).or_default();
            both.0.push(of_full);
            both.1.push(of_thinned);
        }
    }
    Ok(errors
        .into_iter()
        .map(|(name, (of_full, of_thinned))| Comparison {
            name,
            points: of_full.len(),
            full: Errors::of(of_full),
            thinned: Errors::of(of_thinned),
        })
        .collect())
}

fn without_band(data: &DataSet, seed: u64) -> DataSet {
    let records = data.records.iter().filter(|record| !in_band(record, seed));
    DataSet { manifest: data.manifest.clone(), records: records.cloned().collect() }
}

/// By the name of the point, so that repeats and both tables agree.
fn in_band(record: &Record, seed: u64) -> bool {
    let digest = sha256_hex(format!("{seed}|{}", record.point).as_bytes());
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
