//! Two sets of measurements side by side: two machines, two drivers, two dates.
//!
//! Per variant the ratio of times, B over A, on the points both measured; where they measured
//! no point alike, of what their models say over the domain both cover. `side` reads what is
//! compared, `ratios` lays it side by side, `render` shows it. Whether a difference ends the
//! command with a failure is left to `commands::compare`.

mod ratios;
mod render;
mod side;

pub use ratios::{Basis, ENOUGH, Row};
pub use side::{Side, SideError};

use kernelgauge_data::Family;
use serde::Serialize;

use ratios::Pair;

/// Points of a variant that are asked of two models; more say nothing more about a median.
const MOST_ASKED: usize = 400;

/// The whole comparison, as JSON states it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Version of this layout.
    pub schema_version: u32,
    /// What is compared with.
    pub a: About,
    /// What is compared.
    pub b: About,
    /// What is not the same about the two.
    pub differences: Vec<Fact>,
    /// The share that a variant may differ by; none where nothing is judged.
    pub threshold: Option<f64>,
    /// Families and their variants, in order.
    pub rows: Vec<Row>,
}

/// One side in a few words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct About {
    /// What was given on the command line.
    pub given: String,
    /// The machine's name.
    pub machine: String,
    /// The device.
    pub device: String,
}

/// Something that both sides state, or one, and not alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// Its name.
    pub fact: String,
    /// What A says.
    pub a: Option<String>,
    /// What B says.
    pub b: Option<String>,
}

impl Comparison {
    /// Compares the `families` of two sides; differences beyond `threshold` and noise are marked.
    pub fn of(
        a: &Side,
        b: &Side,
        families: &[Family],
        threshold: Option<f64>,
        seed: u64,
    ) -> Comparison {
        let mut variants = ratios::variants(a, b);
        variants.retain(|variant| families.contains(&variant.family));
        let without =
            variants.iter().filter(|variant| variant.is_in_both() && !variant.is_measured_alike());
        let without: Vec<_> = without.map(|variant| variant.key()).collect();
        let models = match without.is_empty() {
            true => None,
            false => a.model_of(&without, seed).zip(b.model_of(&without, seed)),
        };
        let mut rows = Vec::new();
        for family in families {
            let of_family = variants.iter().filter(|variant| variant.family == *family);
            let mut of_variants = Vec::new();
            let mut pooled: Vec<Pair> = Vec::new();
            for variant in of_family {
                let (basis, pairs) = if !variant.is_in_both() {
                    (variant.missing(), Vec::new())
                } else if variant.is_measured_alike() {
                    (Basis::Measured, variant.common.clone())
                } else {
                    let asked = models.as_ref().map(|models| variant.predicted(models, MOST_ASKED));
                    (Basis::Predicted, asked.unwrap_or_default())
                };
                of_variants.push(Row::of(variant, basis, &pairs, threshold));
                pooled.extend(pairs);
            }
            of_variants.sort_by(|a, b| b.size().total_cmp(&a.size()));
            if of_variants.len() > 1 {
                rows.push(Row::of_family(*family, &of_variants, &pooled));
            }
            rows.append(&mut of_variants);
        }
        Comparison {
            schema_version: 1,
            a: a.about(),
            b: b.about(),
            differences: a.differences(b),
            threshold,
            rows,
        }
    }

    /// Whether any variant could be compared.
    pub fn has_ratios(&self) -> bool {
        self.rows.iter().any(|row| row.points > 0)
    }

    /// The variants that differ beyond threshold and noise, the largest change first.
    pub fn changed(&self) -> Vec<&Row> {
        let mut changed: Vec<&Row> = self.rows.iter().filter(|row| row.changed).collect();
        changed.sort_by(|a, b| b.size().total_cmp(&a.size()));
        changed
    }

    /// Points left out of all variants, since one side drifted or was shared when it measured
    /// them.
    pub fn left_out(&self) -> usize {
        self.rows.iter().filter(|row| row.variant.is_some()).map(|row| row.left_out).sum()
    }
}

#[cfg(test)]
mod tests;
