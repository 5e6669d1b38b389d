//! Kernel names, moved from the rows to the notes of their file.
//!
//! A published table repeats a long kernel name in every row. Where no shape was measured with
//! two kernels, how often each ran says as much in one sentence.

use std::collections::{BTreeMap, BTreeSet};

use kernelgauge_data::{CacheState, DataSet, Family, InputContent, Point, Record};

/// Rows by variant and kernel.
type Counts = BTreeMap<String, BTreeMap<String, usize>>;

/// Clears the kernel of every row whose point has no second kernel, and notes which kernels the
/// rows of each variant had.
pub(super) fn summarise(mut data: DataSet) -> DataSet {
    let several = measured_with_several(&data.records);
    let mut families: BTreeMap<Family, Counts> = BTreeMap::new();
    for record in &mut data.records {
        let backend = record.conditions.backend().to_owned();
        let kernel = &mut record.conditions.kernel;
        if kernel.is_empty() || several.contains(&record.point) {
            continue;
        }
        let variants = families.entry(record.point.family()).or_default();
        let kernels = variants.entry(record.point.variant().as_str().to_owned()).or_default();
        kernel.clear();
        *kernels.entry(backend).or_default() += 1;
    }
    for entry in &mut data.manifest.files {
        let family = entry.name.strip_suffix(".csv").and_then(|stem| stem.parse().ok());
        let Some(counts) = family.and_then(|family: Family| families.get(&family)) else {
            continue;
        };
        let separator = if entry.notes.is_empty() { "" } else { "; " };
        entry.notes =
            format!("{}{separator}kernels of the full table: {}", entry.notes, text(counts));
    }
    data
}

fn measured_with_several(records: &[Record]) -> BTreeSet<Point> {
    let mut first: BTreeMap<(&Point, CacheState, &InputContent), &str> = BTreeMap::new();
    let mut several = BTreeSet::new();
    for record in records {
        let conditions = &record.conditions;
        let key = (&record.point, conditions.cache, &conditions.input);
        if *first.entry(key).or_insert(&conditions.kernel) != conditions.kernel {
            several.insert(record.point.clone());
        }
    }
    several
}

/// `bf16 linear; fp8_block deep_gemm 67 %, cutlass 33 %`
fn text(counts: &Counts) -> String {
    let variant = |(variant, kernels): (&String, &BTreeMap<String, usize>)| {
        let all: usize = kernels.values().sum();
        let share = |(name, count): (&String, &usize)| match kernels.len() {
            1 => name.clone(),
            _ => format!("{name} {} %", (100.0 * *count as f64 / all as f64).round()),
        };
        let names: Vec<String> = kernels.iter().map(share).collect();
        format!("{variant} {}", names.join(", "))
    };
    counts.iter().map(variant).collect::<Vec<_>>().join("; ")
}
