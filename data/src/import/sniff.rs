//! What a file is, from its first bytes.

use crate::table::{self, TableError};

/// What the first bytes of a file say it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind<'bytes> {
    /// An archive or compressed file, in words.
    Archive(&'static str),
    /// A Parquet file.
    Parquet,
    /// A JSON document.
    Json(&'bytes str),
    /// Any other text.
    Text(&'bytes str),
}

/// Sorts `bytes` by signature, then by their first character.
///
/// # Errors
/// [`TableError::NotText`] and [`TableError::LfsPointer`].
pub(super) fn kind(bytes: &[u8]) -> Result<Kind<'_>, TableError> {
    if let Some(archive) = archive(bytes) {
        return Ok(Kind::Archive(archive));
    }
    if bytes.starts_with(b"PAR1") {
        return Ok(Kind::Parquet);
    }
    let text = table::text_of(bytes)?;
    if table::is_lfs_pointer(text) {
        return Err(TableError::LfsPointer);
    }
    match text.trim_start().starts_with(['{', '[']) {
        true => Ok(Kind::Json(text)),
        false => Ok(Kind::Text(text)),
    }
}

fn archive(bytes: &[u8]) -> Option<&'static str> {
    const SIGNATURES: [(&[u8], &str); 7] = [
        (b"PK\x03\x04", "a zip archive"),
        (b"PK\x05\x06", "an empty zip archive"),
        (b"\x1f\x8b", "a gzip file"),
        (b"\x28\xb5\x2f\xfd", "a zstd file"),
        (b"BZh", "a bzip2 file"),
        (b"\xfd7zXZ", "an xz file"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    ];
    /// Where POSIX puts the signature of a tar header.
    const TAR_MAGIC: std::ops::Range<usize> = 257..262;
    if bytes.get(TAR_MAGIC) == Some(b"ustar") {
        return Some("a tar archive");
    }
    SIGNATURES.into_iter().find(|(signature, _)| bytes.starts_with(signature)).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides() {
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        for (bytes, expected) in [
            (&tar[..], Kind::Archive("a tar archive")),
            (b"PK\x03\x04rest", Kind::Archive("a zip archive")),
            (b"\x1f\x8b\x08", Kind::Archive("a gzip file")),
            (b"PAR1....", Kind::Parquet),
            (b"\xef\xbb\xbf {\"a\": 1}", Kind::Json(" {\"a\": 1}")),
            (b"m,n\n", Kind::Text("m,n\n")),
            (b"", Kind::Text("")),
        ] {
            assert_eq!(kind(bytes), Ok(expected));
        }
        assert_eq!(kind(b"a\n\xff"), Err(TableError::NotText { line: 2 }));
        let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n";
        assert_eq!(kind(pointer), Err(TableError::LfsPointer));
    }
}
