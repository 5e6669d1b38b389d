//! Which records go into which file, and under which columns.

use std::collections::BTreeMap;

use crate::family::Family;
use crate::fields::{RECORD_COLUMNS, base_columns, columns};
use crate::measurement::Record;
use crate::point::Point;

/// The file of a family; custom ops have one each, `custom-<op>.csv`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileKey {
    pub family: Family,
    /// The op as a file name, for custom ops.
    slug: String,
    /// The parameters of a custom op, which are columns.
    pub parameters: Vec<String>,
}

impl FileKey {
    fn of(record: &Record) -> Self {
        let family = record.point.family();
        let Point::Custom(custom) = &record.point else {
            return FileKey { family, slug: String::new(), parameters: Vec::new() };
        };
        let parameters = custom.parameters.iter().map(|(name, _)| name.clone()).collect();
        FileKey { family, slug: slug(&custom.op), parameters }
    }

    /// Every column a file of this key may have, in file order: the base columns of its
    /// points, `time_us`, the optional columns of its points, then the rest.
    pub fn columns(&self) -> Vec<&str> {
        let (time, rest) = (&RECORD_COLUMNS[..1], &RECORD_COLUMNS[1..]);
        if self.family == Family::Custom {
            let parameters = self.parameters.iter().map(String::as_str);
            return ["op"].into_iter().chain(parameters).chain(RECORD_COLUMNS).collect();
        }
        let base = base_columns(self.family);
        let optional = &columns(self.family)[base.len()..];
        [base, time, optional, rest].concat()
    }
}

/// The records of each file, sorted by point, conditions and time, so that the same
/// measurements give the same file whatever their order was.
pub(super) fn grouped(records: &[Record]) -> Vec<(String, FileKey, Vec<&Record>)> {
    let mut groups: BTreeMap<FileKey, Vec<&Record>> = BTreeMap::new();
    for record in records {
        groups.entry(FileKey::of(record)).or_default().push(record);
    }
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    groups
        .into_iter()
        .map(|(key, mut group)| {
            group.sort_by(|a, b| {
                (&a.point, &a.conditions, a.time()).cmp(&(&b.point, &b.conditions, b.time()))
            });
            let uses = names.entry(key.slug.clone()).or_default();
            *uses += 1;
            (file_name(&key, *uses), key, group)
        })
        .collect()
}

/// `gemm.csv`; `custom-my_kernel.csv`, and with other parameters `custom-my_kernel-2.csv`.
fn file_name(key: &FileKey, uses: usize) -> String {
    match (key.family, uses) {
        (Family::Custom, 1) => format!("custom-{}.csv", key.slug),
        (Family::Custom, uses) => format!("custom-{}-{uses}.csv", key.slug),
        (family, _) => format!("{family}.csv"),
    }
}

/// The family whose records the file called `name` holds.
pub(super) fn family_of(name: &str) -> Option<Family> {
    let stem = name.strip_suffix(".csv")?;
    if let Some(op) = stem.strip_prefix("custom-") {
        return (!op.is_empty() && slug(op) == op).then_some(Family::Custom);
    }
    stem.parse().ok().filter(|family| *family != Family::Custom)
}

/// `op` with everything that is not safe in a file name replaced by `_`.
fn slug(op: &str) -> String {
    op.chars()
        .map(|c| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_our_own_files_are_known() {
        assert_eq!(family_of("gemm.csv"), Some(Family::Gemm));
        assert_eq!(family_of("custom-my_kernel_f32.csv"), Some(Family::Custom));
        for name in ["gemm", "custom.csv", "custom-.csv", "../gemm.csv", "custom-../x.csv", "a.csv"]
        {
            assert_eq!(family_of(name), None, "{name}");
        }
    }
}
