//! The files of a folder that may be traces, in the order a person would put them.

use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::TraceError;

/// Levels of folders within the folder that are searched too: `step/rank/trace.json`.
const LEVELS: u32 = 2;

/// Endings of files that may be traces.
const ENDINGS: &[&str] = &[".json", ".gz", ".et", ".tgz", ".tar"];

/// The files of a folder that may be traces, by their names with numbers as numbers; hidden ones,
/// links to folders, pipes and devices are passed over.
///
/// # Errors
/// The system refuses to list a folder.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let mut files = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, level)) = folders.pop() {
        for path in entries(&folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
            if name.starts_with('.') {
                continue;
            }
            // A link to a folder may lead back to it, and a pipe may never end.
            let link = path.is_symlink();
            if path.is_dir() {
                if level < LEVELS && !link {
                    folders.push((path, level + 1));
                }
            } else if path.is_file() && ENDINGS.iter().any(|ending| name.ends_with(ending)) {
                files.push(path);
            }
        }
    }
    files.sort_by(|first, second| {
        natural(&first.to_string_lossy(), &second.to_string_lossy()).then_with(|| first.cmp(second))
    });
    Ok(files)
}

/// What lies in a folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let refused = |error| TraceError::Read { source_name: folder.display().to_string(), error };
    let entries = fs::read_dir(folder).map_err(refused)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(refused)).collect()
}

/// Compares names with numbers as numbers: `rank2` comes before `rank10`.
pub(super) fn natural(first: &str, second: &str) -> Ordering {
    let (mut first, mut second) = (first, second);
    loop {
        let (Some(one), Some(other)) = (first.chars().next(), second.chars().next()) else {
            return first.len().cmp(&second.len());
        };
        if one.is_ascii_digit() && other.is_ascii_digit() {
            let (one, rest) = number(first);
            let (other, other_rest) = number(second);
            match one.len().cmp(&other.len()).then_with(|| one.cmp(other)) {
                Ordering::Equal => (first, second) = (rest, other_rest),
                unequal => return unequal,
            }
        } else {
            match one.cmp(&other) {
                Ordering::Equal => {
                    first = first.get(one.len_utf8()..).unwrap_or_default();
                    second = second.get(other.len_utf8()..).unwrap_or_default();
                }
                unequal => return unequal,
            }
        }
    }
}

/// The number a text begins with, without leading zeros, and what follows.
fn number(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    (digits.trim_start_matches('0'), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = vec!["r10.json", "r2.json", "r02a", "q", "r1.json", "r", "ä"];
        names.sort_by(|first, second| natural(first, second));
        assert_eq!(names, ["q", "r", "r1.json", "r2.json", "r02a", "r10.json", "ä"]);
    }
}
