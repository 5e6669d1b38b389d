//! What a file is that is no model: told by its first bytes, for a message that helps.
//!
//! Left to others: whether JSON is a model (`kernelgauge-model`), and what can be imported
//! (`import`).

/// What is left when nothing else fits.
pub const BINARY: &str = "a binary file";

/// First bytes, and what begins with them.
const BEGINNINGS: [(&[u8], &str); 14] = [
    (b"\x1f\x8b", "compressed with gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
    (b"\xfd7zXZ", "compressed with xz"),
    (b"BZh", "compressed with bzip2"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x7fELF", "a program or library"),
    (b"PAR1", "a Parquet table"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x89PNG", "an image"),
    (b"%PDF", "a PDF document"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"version https://git-lfs", "a Git LFS pointer, not the file (run `git lfs pull`)"),
    (b"#!", "a script"),
];

/// What `bytes` seem to be, if that is no JSON document.
pub fn seems(bytes: &[u8]) -> Option<&'static str> {
    if let Some((_, seems)) = BEGINNINGS.iter().find(|(first, _)| bytes.starts_with(first)) {
        return Some(seems);
    }
    // The mark of a tar archive stands behind the name and mode of its first member.
    if bytes.get(257..262) == Some(b"ustar") {
        return Some("a tar archive");
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        None => Some("empty"),
        Some(b'{') => None,
        Some(b'[') if is_table_heading(text) => Some("TOML"),
        Some(b'[') => Some("a JSON array"),
        Some(_) if bytes.contains(&0) => Some(BINARY),
        Some(_) if first_line(text).contains(&b',') => Some("a CSV table"),
        Some(_) => Some("text, but no JSON"),
    }
}

/// `[machine]`
fn is_table_heading(text: &[u8]) -> bool {
    let line = first_line(text.trim_ascii_start()).trim_ascii();
    let inner = line.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]"));
    inner.is_some_and(|name| {
        !name.is_empty() && name.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_')
    })
}

fn first_line(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == b'\n').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_kinds_are_told_apart() {
        let mut tar = vec![0_u8; 512];
        tar[..6].copy_from_slice(b"a.json");
        tar[257..262].copy_from_slice(b"ustar");
        for (bytes, expected) in [
            (&tar[..], Some("a tar archive")),
            (b"\x1f\x8b\x08", Some("compressed with gzip")),
            (b"PK\x03\x04", Some("a zip archive")),
            (b"", Some("empty")),
            (b" \n", Some("empty")),
            (b"dtype,m,n,k\n", Some("a CSV table")),
            (b"[machine]\nname = 1\n", Some("TOML")),
            (b"[1]", Some("a JSON array")),
            (b"hello", Some("text, but no JSON")),
            (b"a\0b", Some(BINARY)),
            (b"{\"format\"", None),
            (b"\xef\xbb\xbf {}", None),
        ] {
            assert_eq!(seems(bytes), expected, "{bytes:?}");
        }
    }
}
