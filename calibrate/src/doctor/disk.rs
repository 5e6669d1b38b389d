//! Whether measurements can be written.

use std::fs;
use std::path::Path;

use super::Finding;
use crate::folder;

/// Looks at the disk of `out`. A folder that does not exist is not made: the nearest one above
/// it is tested.
pub fn finding(out: &Path) -> Finding {
    let existing = out.ancestors().find(|path| path.exists());
    let above = existing.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let free = folder::free_bytes(above);
    match (folder::prepare(above), free) {
        (Ok(()), Some(free)) => Finding::ok("disk", format!("{free} free at {}", shown(above))),
        (Ok(()), None) => Finding::ok("disk", format!("{} can be written to", shown(above))),
        (Err(error), _) => Finding::fail("disk", error.to_string(), "`--out DIR` names another"),
    }
}

fn shown(path: &Path) -> String {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::super::Severity;
    use super::*;

    #[test]
    fn a_path_below_a_file_cannot_be_written_to() {
        let file = std::env::temp_dir().join(format!("kernelgauge-disk-{}", std::process::id()));
        fs::write(&file, b"").unwrap();
        assert_eq!(finding(&file.join("below")).severity, Severity::Fail);
        assert_eq!(finding(&std::env::temp_dir().join("not/there")).severity, Severity::Ok);
        fs::remove_file(&file).unwrap();
    }
}
