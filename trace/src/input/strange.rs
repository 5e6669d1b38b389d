//! What a file is that is no trace, by its first bytes.

/// What a file is that is no trace, and what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strange {
    /// What it is.
    pub problem: &'static str,
    /// What to do about it; may be empty.
    pub hint: &'static str,
}

/// First bytes, what they say, and what to do about it.
const KNOWN: &[(&[u8], &str, &str)] = &[
    (
        b"version https://git-lfs.github.com",
        "is a Git LFS pointer, not the file itself",
        "run `git lfs pull` where it was cloned",
    ),
    (b"PK\x03\x04", "is a zip archive", "unpack it and name the files in it"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", "unpack it with `zstd -d` first"),
    (b"\xfd7zXZ", "is compressed with xz", "unpack it with `xz -d` first"),
    (b"BZh", "is compressed with bzip2", "unpack it with `bzip2 -d` first"),
    (b"\x1f\x8b", "is compressed with gzip", "unpack it with `gzip -d` first"),
    (b"\xff\xfe", "is UTF-16, not UTF-8", "convert it with `iconv -f utf-16 -t utf-8`"),
    (b"\xfe\xff", "is UTF-16, not UTF-8", "convert it with `iconv -f utf-16 -t utf-8`"),
    (b"SQLite format 3", "is an SQLite database", "export a Chrome trace (JSON) from the profiler"),
    (
        b"<",
        "is a page of HTML or XML, not a trace",
        "a server probably answered with an error page: download the file again",
    ),
];

/// What a file that begins like this is, if it is known for not being a trace.
pub fn recognise(beginning: &[u8]) -> Option<Strange> {
    let trimmed = beginning.trim_ascii_start();
    if trimmed.is_empty() {
        return Some(Strange {
            problem: "is empty",
            hint: "the profiler wrote nothing: was it stopped and exported?",
        });
    }
    KNOWN
        .iter()
        .find(|(magic, ..)| trimmed.starts_with(magic))
        .map(|&(_, problem, hint)| Strange { problem, hint })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_known_for_not_being_traces() {
        let problem = |bytes| recognise(bytes).map(|strange| strange.problem);
        assert_eq!(problem(b" \n"), Some("is empty"));
        assert_eq!(problem(b"\n<!DOCTYPE html>"), Some("is a page of HTML or XML, not a trace"));
        let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0";
        assert_eq!(problem(pointer), Some("is a Git LFS pointer, not the file itself"));
        assert_eq!(problem(b"{\"traceEvents\": []}"), None);
    }
}
