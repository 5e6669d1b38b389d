//! `calibrate thin`: fewer rows that say nearly the same.
//!
//! Published tables are denser than a repository should be. Thinning keeps whole measurements
//! and chooses which: an even share of every line, shifted from line to line, so that what one
//! line leaves out its neighbours keep ([`order`]). Ends of long lines and the extremes of
//! every parameter stay, so the domain does too.
//!
//! Left to others: whether the rest is enough, which [`check`] answers with fitted models.

pub mod check;
mod kernels;
mod order;

pub use order::lattice;

use std::collections::BTreeMap;

use kernelgauge_data::{Bytes, DataSet, Diagnostic, Family, Record};
use thiserror::Error;

use order::Removal;

/// What to thin to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinOptions {
    /// All CSV files together, at most.
    pub max_bytes: Bytes,
    /// Shifts the lattice of what is kept.
    pub seed: u64,
    /// Move kernel names from the rows to the notes of each file.
    pub summarise_kernels: bool,
}

/// Rows of one family before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FamilyRows {
    /// The family.
    pub family: Family,
    /// Rows of the full table.
    pub before: usize,
    /// Rows kept.
    pub after: usize,
}

/// A thinned data set and the account of it.
#[derive(Debug, Clone)]
pub struct Thinned {
    /// The rows kept, with the manifest of the full table.
    pub data: DataSet,
    /// Rows per family.
    pub rows: Vec<FamilyRows>,
    /// Rows left out because a flag keeps them out of fits anyway.
    pub flagged: usize,
    /// Size of the CSV files.
    pub bytes: Bytes,
}

/// Why a data set cannot be thinned so far.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ThinError {
    /// Even what is never left out is too much.
    #[error("what is never left out takes {needed}, over the {limit} asked for")]
    TooSmall {
        /// What it takes.
        needed: Bytes,
        /// What was asked for.
        limit: Bytes,
    },
}

impl Diagnostic for ThinError {
    fn hint(&self) -> Option<String> {
        Some("raise `--max-bytes`".to_owned())
    }
}

/// Leaves out points, evenly, until `data` fits.
///
/// # Errors
/// [`ThinError::TooSmall`] when what is never left out does not fit.
pub fn thin(data: DataSet, options: &ThinOptions) -> Result<Thinned, ThinError> {
    let data = if options.summarise_kernels { kernels::summarise(data) } else { data };
    let usable: Vec<&Record> =
        data.records.iter().filter(|record| !record.flags.leave_fit()).collect();
    let flagged = data.records.len() - usable.len();
    let removals = order::removals(&usable, options.seed);
    let kept = |count: usize| keep(&data, &usable, &removals[..count]);
    let fits = |count: usize| kept(count).csv_bytes() <= options.max_bytes;

    let all = removals.len();
    if !fits(all) {
        let needed = kept(all).csv_bytes();
        return Err(ThinError::TooSmall { needed, limit: options.max_bytes });
    }
    // The smallest number of removals that fits.
    let (mut low, mut high) = (0, all);
    while low < high {
        let middle = usize::midpoint(low, high);
        if fits(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    let thinned = kept(low);
    let rows = rows(&data.records, &thinned.records);
    Ok(Thinned { bytes: thinned.csv_bytes(), data: thinned, rows, flagged })
}

/// The data set without the records of `removed`.
fn keep(data: &DataSet, usable: &[&Record], removed: &[Removal]) -> DataSet {
    let mut wanted = vec![true; usable.len()];
    for index in removed.iter().flat_map(|removal| &removal.records) {
        wanted[*index] = false;
    }
    let records = usable.iter().zip(wanted).filter(|(_, wanted)| *wanted);
    let records = records.map(|(record, _)| (*record).clone()).collect();
    DataSet { manifest: data.manifest.clone(), records }
}

fn rows(before: &[Record], after: &[Record]) -> Vec<FamilyRows> {
    let count = |records: &[Record]| {
        let mut counts = BTreeMap::new();
        for record in records {
            *counts.entry(record.point.family()).or_insert(0) += 1;
        }
        counts
    };
    let (before, after) = (count(before), count(after));
    let of = |(family, before): (&Family, &usize)| FamilyRows {
        family: *family,
        before: *before,
        after: after.get(family).copied().unwrap_or(0),
    };
    before.iter().map(of).collect()
}

#[cfg(test)]
mod tests;
