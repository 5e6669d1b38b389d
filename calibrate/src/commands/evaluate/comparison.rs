//! Predictions beside measurements: every point, and the errors per family.

use kernelgauge_data::{Family, Nanos, statistics};
use kernelgauge_model::Prediction;
use serde::Serialize;

use crate::columns::Columns;
use crate::fresh::Fresh;
use crate::summary::{ENOUGH_FOR_P90, covers, percent};

/// A point with what was predicted and what was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// The family.
    pub family: Family,
    /// The variant.
    pub variant: String,
    /// Hot or cold operands.
    pub cache: &'static str,
    /// The point, in words.
    pub point: String,
    /// The prediction.
    pub predicted_us: f64,
    /// Its 90 % interval.
    pub low_us: f64,
    /// Its 90 % interval.
    pub high_us: f64,
    /// What the prediction rests on.
    pub basis: &'static str,
    /// The median of the fresh samples.
    pub measured_us: f64,
    /// Half their quartile range relative to the median.
    pub noise: f64,
    /// `predicted / measured - 1`.
    pub error: f64,
}

impl Compared {
    /// Puts a measurement beside its prediction.
    pub fn new(fresh: &Fresh, predicted: &Prediction, measured: Nanos, noise: f64) -> Self {
        let (point, cache) = fresh;
        Compared {
            family: point.family(),
            variant: point.variant().as_str().to_owned(),
            cache: cache.name(),
            point: point.to_string(),
            predicted_us: predicted.time.us(),
            low_us: predicted.low.us(),
            high_us: predicted.high.us(),
            basis: predicted.basis.name(),
            measured_us: measured.us(),
            noise,
            error: predicted.time.as_f64() / measured.as_f64() - 1.0,
        }
    }

    /// Whether the measurement lies within the stated interval.
    fn covered(&self) -> bool {
        (self.low_us..=self.high_us).contains(&self.measured_us)
    }
}

/// All fresh points and the errors per family.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Version of this layout.
    pub schema_version: u32,
    /// The machine.
    pub machine: String,
    /// Seed of the draw.
    pub seed: u64,
    /// Errors per family.
    pub families: Vec<FamilyComparison>,
    /// Every point, in the order they were measured.
    pub points: Vec<Compared>,
}

/// The errors of one family: of the size of `predicted / measured - 1`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FamilyComparison {
    /// The family.
    pub family: Family,
    /// Fresh points.
    pub points: usize,
    /// Median error.
    pub median_error: f64,
    /// 90th percentile of the error.
    pub p90_error: f64,
    /// Largest error.
    pub worst_error: f64,
    /// Median of the signed error: what a factor common to all would explain.
    pub bias: f64,
    /// Share of points within their 90 % interval.
    pub coverage: f64,
    /// Median noise of the fresh points themselves.
    pub noise: f64,
}

impl Comparison {
    /// Without points yet.
    pub fn new(machine: &str, seed: u64) -> Self {
        let (families, points) = (Vec::new(), Vec::new());
        Comparison { schema_version: 1, machine: machine.to_owned(), seed, families, points }
    }

    /// Adds a point.
    pub fn add(&mut self, compared: Compared) {
        let family = compared.family;
        self.points.push(compared);
        let of: Vec<&Compared> = self.points.iter().filter(|p| p.family == family).collect();
        let Some(summed) = FamilyComparison::of(family, &of) else { return };
        match self.families.iter_mut().find(|known| known.family == family) {
            Some(known) => *known = summed,
            None => self.families.push(summed),
        }
        self.families.sort_by_key(|known| known.family);
    }

    /// One row per family.
    pub fn columns(&self) -> Columns {
        let mut columns = Columns::new(&[
            "family",
            "fresh points>",
            "median error>",
            "p90>",
            "worst>",
            "bias>",
            "90 % interval covers>",
            "noise>",
        ]);
        for row in &self.families {
            let sign = if row.bias < 0.0 { "-" } else { "+" };
            columns.row([
                row.family.to_string(),
                row.points.to_string(),
                percent(row.median_error),
                if row.points < ENOUGH_FOR_P90 { "-".to_owned() } else { percent(row.p90_error) },
                percent(row.worst_error),
                format!("{sign}{}", percent(row.bias.abs())),
                covers(row.coverage, row.points),
                percent(row.noise),
            ]);
        }
        columns
    }
}

impl FamilyComparison {
    fn of(family: Family, points: &[&Compared]) -> Option<Self> {
        let sorted = |value: fn(&Compared) -> f64| {
            let mut values: Vec<f64> = points.iter().map(|point| value(point)).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let errors = sorted(|point| point.error.abs());
        let covered = points.iter().filter(|point| point.covered()).count();
        Some(FamilyComparison {
            family,
            points: points.len(),
            median_error: statistics::quantile(&errors, 0.5)?,
            p90_error: statistics::quantile(&errors, 0.9)?,
            worst_error: statistics::quantile(&errors, 1.0)?,
            bias: statistics::quantile(&sorted(|point| point.error), 0.5)?,
            coverage: covered as f64 / points.len() as f64,
            noise: statistics::quantile(&sorted(|point| point.noise), 0.5)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use kernelgauge_data::{CacheState, CopyDirection, CopyPoint, Point};
    use kernelgauge_model::{Basis, DomainStatus};

    use super::*;

    #[test]
    fn errors_are_relative_to_what_was_measured() {
        let direction = CopyDirection::HostToHost;
        let point = Point::Copy(CopyPoint { direction, pinned: false, bytes: 4096 });
        let predicted = |time| Prediction {
            time: Nanos::new(time),
            low: Nanos::new(time - 100),
            high: Nanos::new(time + 100),
            domain: DomainStatus::Inside,
            basis: Basis::Interpolated,
        };
        let mut comparison = Comparison::new("test", 1);
        for (time, measured) in [(1_000, 1_000), (1_100, 1_000), (500, 1_000)] {
            let fresh = (point.clone(), CacheState::Hot);
            let measured = Nanos::new(measured);
            comparison.add(Compared::new(&fresh, &predicted(time), measured, 0.01));
        }
        let row = &comparison.families[0];
        assert_eq!((row.points, row.worst_error), (3, 0.5));
        assert!((row.median_error - 0.1).abs() < 1e-12 && row.bias.abs() < 1e-12);
        assert!((row.coverage - 2.0 / 3.0).abs() < 1e-12);
        let text = comparison.columns().text();
        // Three points have no 90th percentile, and no share in per cent.
        assert!(text.contains("10 %     -    50 %") && text.contains("2 of 3"), "{text}");
    }
}
