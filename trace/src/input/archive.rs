//! The members of a tar archive, as streams: nothing is unpacked to the disk, and links are not
//! followed.

use tar::{Archive, EntryType};

use super::opened::{self, Opened};
use crate::error::TraceError;

/// A member of an archive.
pub(super) enum Member<'archive> {
    /// A file that may be a trace.
    File(Opened<'archive>),
    /// What is none, and why.
    PassedOver(String),
}

/// Endings of members that may be traces.
const ENDINGS: &[&str] = &[".json", ".json.gz", ".et", ".et.gz"];

/// Where a tar archive says that it is one.
const MAGIC: std::ops::Range<usize> = 257..262;

/// Whether a file that begins like this is a tar archive.
pub(super) fn is_tar(beginning: &[u8]) -> bool {
    beginning.get(MAGIC) == Some(b"ustar")
}

/// Hands on one member after another; hidden ones, which macOS adds, and folders are passed over
/// silently.
///
/// # Errors
/// The archive is damaged, or what `then` says.
pub(super) fn each_member(
    source_name: &str,
    opened: Opened<'_>,
    mut then: impl FnMut(Member<'_>) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    let refused = |error| TraceError::Read { source_name: source_name.to_owned(), error };
    let mut archive = Archive::new(opened.reader);
    for entry in archive.entries().map_err(refused)? {
        let entry = entry.map_err(refused)?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        let kind = entry.header().entry_type();
        if kind.is_dir() || name.starts_with('.') || is_header(kind) {
            continue;
        }
        let member_name = format!("{source_name}: {path}");
        if !matches!(kind, EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse) {
            then(Member::PassedOver(format!("{member_name} is a link or device: passed over")))?;
        } else if !ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            then(Member::PassedOver(format!(
                "{member_name} is no trace by its name: passed over"
            )))?;
        } else {
            then(Member::File(opened::unpacked(member_name, entry)?))?;
        }
    }
    Ok(())
}

/// Whether a member only describes others.
fn is_header(kind: EntryType) -> bool {
    matches!(
        kind,
        EntryType::XGlobalHeader
            | EntryType::XHeader
            | EntryType::GNULongName
            | EntryType::GNULongLink
    )
}
