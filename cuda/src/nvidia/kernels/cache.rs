//! Machine code kept between runs: one file per source, options, architecture and NVRTC version,
//! named by their digest.
//!
//! A file begins with the digest of its own content, so one that was damaged or cut counts as
//! absent and is written anew. Files are replaced whole: runs that compile the same source at the
//! same time end up with either of two equal files.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use kernelgauge_data::whole_file;
use sha2::{Digest, Sha256};

use super::compile::Compiled;

/// The first line of a file; the number changes with the layout.
const MAGIC: &str = "kernelgauge cubin 1\n";
/// Larger files are not read: no kernel of ours comes near.
const MOST_BYTES: u64 = 64 << 20;

/// A folder of machine code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// In `folder`, which need not exist yet.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Cache { folder: folder.into() }
    }

    /// Where caches of this user belong: `$XDG_CACHE_HOME`, else `$HOME/.cache`; none where
    /// neither names a folder.
    pub fn of_user() -> Option<Self> {
        let folder =
            |name: &str| env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
        let base = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
        Some(Cache::at(base.join("kernelgauge").join("kernels")))
    }

    /// Where the code is kept.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.cubin"))
    }

    /// What was kept under `key`; none where there is nothing, or nothing whole.
    pub fn load(&self, key: &str) -> Option<Compiled> {
        let bytes = whole_file::read(&self.path(key), MOST_BYTES).ok()?;
        let rest = bytes.strip_prefix(MAGIC.as_bytes())?;
        let (sum, content) = rest.split_at_checked(64)?;
        if sum != hex(content).as_bytes() {
            return None;
        }
        let (length, content) = content.split_at_checked(8)?;
        let length = u64::from_le_bytes(length.try_into().ok()?);
        let (log, cubin) = content.split_at_checked(usize::try_from(length).ok()?)?;
        Some(Compiled { cubin: cubin.to_vec(), log: String::from_utf8(log.to_vec()).ok()? })
    }

    /// Keeps `compiled` under `key`.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn store(&self, key: &str, compiled: &Compiled) -> io::Result<()> {
        let mut content = (compiled.log.len() as u64).to_le_bytes().to_vec();
        content.extend_from_slice(compiled.log.as_bytes());
        content.extend_from_slice(&compiled.cubin);
        let sum = hex(&content);
        let file = [MAGIC.as_bytes(), sum.as_bytes(), content.as_slice()].concat();
        whole_file::replace(&self.path(key), &file)
    }
}

/// The digest of `parts`, each with its length before it, so that no two lists look alike.
pub fn key(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part.as_bytes());
    }
    written(&digest.finalize())
}

fn hex(content: &[u8]) -> String {
    written(&Sha256::digest(content))
}

fn written(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn cache(name: &str) -> Cache {
        let unique = format!("kernelgauge-cache-{name}-{}", std::process::id());
        Cache::at(env::temp_dir().join(unique))
    }

    #[test]
    fn what_is_kept_comes_back() {
        let cache = cache("kept");
        let compiled = Compiled { cubin: vec![1, 2, 0, 255], log: "Used ½ registers".to_owned() };
        assert_eq!(cache.load("a"), None);
        cache.store("a", &compiled).unwrap();
        assert_eq!(cache.load("a"), Some(compiled));
        assert_eq!(cache.load("b"), None);
        fs::remove_dir_all(cache.folder()).unwrap();
    }

    #[test]
    fn damage_of_any_kind_counts_as_absent_and_is_mended() {
        let cache = cache("damage");
        let compiled = Compiled { cubin: vec![7; 100], log: "log".to_owned() };
        cache.store("a", &compiled).unwrap();
        let path = cache.path("a");
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(cache.load("a"), None, "cut to {length}");
        }
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            fs::write(&path, &damaged).unwrap();
            assert_eq!(cache.load("a"), None, "byte {place}");
        }
        cache.store("a", &compiled).unwrap();
        assert_eq!(cache.load("a"), Some(compiled));
        fs::remove_dir_all(cache.folder()).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_not_a_panic() {
        let cache = Cache::at("/proc/nowhere");
        let compiled = Compiled { cubin: vec![], log: String::new() };
        assert!(cache.store("a", &compiled).is_err());
        assert_eq!(cache.load("a"), None);
    }

    #[test]
    fn keys_tell_lists_apart() {
        assert_eq!(key(&["ab", "c"]).len(), 64);
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_eq!(key(&["ab", "c"]), key(&["ab", "c"]));
    }
}
