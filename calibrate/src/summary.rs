//! The summary of a calibration: what became of the points, and how good the model is.

use std::collections::BTreeMap;

use kernelgauge_data::{DataSet, Family, Origin, Outcome};
use kernelgauge_model::{Model, RegionError, VariantError};
use serde::Serialize;

use crate::columns::Columns;
use crate::fastest::{self, Fastest};
use crate::launching::{self, Launching};
use crate::question;

/// The summary, as JSON states it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Version of this layout.
    pub schema_version: u32,
    /// The machine.
    pub machine: String,
    /// Where the measurements come from.
    pub origin: Origin,
    /// Points attempted.
    pub points: usize,
    /// Of those, points with a time.
    pub measured: usize,
    /// Points that were not attempted.
    pub skipped: usize,
    /// Points that were attempted and have no time.
    pub failed: usize,
    /// Why points were skipped or failed, and how often.
    pub reasons: BTreeMap<String, usize>,
    /// Per family, how good the model is.
    pub families: Vec<FamilyError>,
    /// What launching costs, where it was measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub launching: Vec<Launching>,
    /// A question the model can answer, as a command without its machine.
    #[serde(skip)]
    pub question: Option<String>,
}

/// The held-out errors of one family: averages over its variants, weighted by their points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FamilyError {
    /// The family.
    pub family: Family,
    /// Variants with a model.
    pub variants: usize,
    /// Points they were fitted on.
    pub points: usize,
    /// Held-out points that the errors are of.
    pub held_out: usize,
    /// Median of `|predicted - measured| / measured` on held-out points; none where nothing
    /// could be held out.
    pub median_error: Option<f64>,
    /// Its 90th percentile.
    pub p90_error: Option<f64>,
    /// Share of held-out points within the 90 % interval.
    pub coverage: Option<f64>,
    /// The highest rate that was measured.
    pub fastest: Option<Fastest>,
}

impl Summary {
    /// Sums up `data` and the `errors` of the model fitted on it.
    pub fn new(data: &DataSet, errors: &[VariantError], model: Option<&Model>) -> Self {
        let mut summary = Summary {
            schema_version: 1,
            machine: data.manifest.machine.name.clone(),
            origin: data.manifest.origin,
            points: data.records.len(),
            measured: 0,
            skipped: 0,
            failed: 0,
            reasons: BTreeMap::new(),
            families: Family::ALL
                .into_iter()
                .filter_map(|family| of(family, data, errors))
                .collect(),
            launching: model.map_or(Vec::new(), |model| launching::constants(&data.records, model)),
            question: model.and_then(|model| question::first(data, model)),
        };
        for record in &data.records {
            let reason = match &record.outcome {
                Outcome::Measured(_) => {
                    summary.measured += 1;
                    continue;
                }
                Outcome::Skipped(reason) => {
                    summary.skipped += 1;
                    format!("skipped: {reason}")
                }
                Outcome::Failed(failure) => {
                    summary.failed += 1;
                    format!("failed: {failure}")
                }
            };
            *summary.reasons.entry(reason).or_default() += 1;
        }
        summary
    }

    /// `host-x86-64, 4010 points: 3990 measured, 12 skipped, 8 failed (see report)`
    pub fn headline(&self) -> String {
        let Summary { machine, points, measured, skipped, failed, .. } = self;
        let synthetic = if self.origin == Origin::Synthetic { " (synthetic)" } else { "" };
        let report = if skipped + failed > 0 { " (see report)" } else { "" };
        format!(
            "{machine}{synthetic}, {points} points: {measured} measured, {skipped} skipped, \
             {failed} failed{report}"
        )
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let launching = match launching::in_words(&self.launching).as_str() {
            "" => String::new(),
            words => format!("each {words}\n"),
        };
        format!("{}\n{}{launching}", self.headline(), self.columns().text())
    }

    /// For a report.
    pub fn markdown(&self) -> String {
        format!("{}\n\n{}", self.headline(), self.columns().markdown())
    }

    fn columns(&self) -> Columns {
        let mut columns = Columns::new(&[
            "family",
            "variants>",
            "points>",
            "held-out error (median / p90)>",
            "90 % interval covers>",
            "fastest measured",
        ]);
        for row in &self.families {
            columns.row([
                row.family.to_string(),
                row.variants.to_string(),
                row.points.to_string(),
                errors(row.median_error, row.p90_error, row.held_out),
                row.coverage.map_or("-".to_owned(), |share| covers(share, row.held_out)),
                row.fastest.as_ref().map_or("-".to_owned(), Fastest::short),
            ]);
        }
        columns
    }
}

/// Fewer points than this have no 90th percentile worth the name: it would be their worst.
pub const ENOUGH_FOR_P90: usize = 10;

/// Of fewer points than this, the share within a 90 % interval is a matter of one or two.
pub const ENOUGH_FOR_SHARE: usize = 20;

/// `3.1 % / 9.4 %`; of a few points `3.1 % (n=4)`.
pub fn errors(median: Option<f64>, p90: Option<f64>, points: usize) -> String {
    match (median, p90) {
        (Some(median), _) if points < ENOUGH_FOR_P90 => format!("{} (n={points})", percent(median)),
        (Some(median), Some(p90)) => format!("{} / {}", percent(median), percent(p90)),
        _ => "-".to_owned(),
    }
}

/// `91 %`; of a few points `3 of 4`.
pub fn covers(share: f64, points: usize) -> String {
    if points >= ENOUGH_FOR_SHARE {
        return percent(share);
    }
    format!("{:.0} of {points}", share * points as f64)
}

/// A share as a percentage with one decimal below ten.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// The errors on those held-out points inside the domain that are hardest to know: on lines
/// held out whole, else at values held out of every line, else between neighbours.
pub fn inside(error: &VariantError) -> Option<RegionError> {
    error.held_out.unseen.or(error.held_out.fresh).or(error.held_out.known)
}

fn of(family: Family, data: &DataSet, errors: &[VariantError]) -> Option<FamilyError> {
    let rows: Vec<&VariantError> = errors.iter().filter(|error| error.family == family).collect();
    if rows.is_empty() {
        return None;
    }
    let regions: Vec<RegionError> = rows.iter().filter_map(|error| inside(error)).collect();
    let held_out: usize = regions.iter().map(|region| region.points).sum();
    let mean = |of: fn(&RegionError) -> f64| {
        let sum: f64 = regions.iter().map(|region| of(region) * region.points as f64).sum();
        (held_out > 0).then(|| sum / held_out as f64)
    };
    Some(FamilyError {
        family,
        variants: rows.len(),
        points: rows.iter().map(|error| error.points).sum(),
        held_out,
        median_error: mean(|region| region.median),
        p90_error: mean(|region| region.p90),
        coverage: mean(|region| region.coverage),
        fastest: fastest::of_family(data, family),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_shown_with_the_digits_they_deserve() {
        assert_eq!(percent(0.0312), "3.1 %");
        assert_eq!(percent(0.0996), "10 %");
        assert_eq!(percent(1.2), "120 %");
        assert_eq!(errors(Some(0.031), Some(0.094), 10), "3.1 % / 9.4 %");
        assert_eq!(errors(None, Some(0.1), 0), "-");
    }

    #[test]
    fn a_few_points_are_counted_not_made_a_percentage_of() {
        assert_eq!(errors(Some(0.031), Some(0.094), 4), "3.1 % (n=4)");
        assert_eq!(covers(0.0, 4), "0 of 4");
        assert_eq!(covers(0.75, 4), "3 of 4");
        assert_eq!(covers(0.9, 20), "90 %");
    }
}
