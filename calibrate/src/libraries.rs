//! Finds shared libraries the way the loader would, without loading them.
//!
//! Loading a driver runs its code and can take seconds; for saying whether it is there, looking
//! is enough: in `LD_LIBRARY_PATH`, in the loader's cache, and in the folders it searches by
//! default.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The loader's cache of every library in the configured folders.
const CACHE: &str = "/etc/ld.so.cache";
/// Folders the loader and NVIDIA's installers use.
const FOLDERS: [&str; 10] = [
    "/lib64",
    "/usr/lib64",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib",
    "/usr/lib",
    "/usr/local/cuda/lib64",
    "/usr/lib/wsl/lib",
];

/// Where the first of `names` is found, if any is.
pub fn find(names: &[&str]) -> Option<PathBuf> {
    let variable = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let cache = std::fs::read(CACHE).unwrap_or_default();
    names.iter().find_map(|name| find_in(name, &variable, &cache))
}

fn find_in(name: &str, variable: &OsStr, cache: &[u8]) -> Option<PathBuf> {
    let named = std::env::split_paths(variable).filter(|folder| !folder.as_os_str().is_empty());
    let beside = |folder: PathBuf| Some(folder.join(name)).filter(|path| path.is_file());
    named
        .filter_map(beside)
        .next()
        .or_else(|| in_cache(name, cache).filter(|path| path.is_file()))
        .or_else(|| FOLDERS.iter().find_map(|folder| beside(PathBuf::from(folder))))
}

/// The path of `name` in the loader's cache, which holds every path as zero-terminated text.
fn in_cache(name: &str, cache: &[u8]) -> Option<PathBuf> {
    cache
        .split(|byte| *byte == 0)
        .filter(|text| text.first() == Some(&b'/'))
        .map(|text| Path::new(OsStr::from_bytes(text)))
        .find(|path| path.file_name() == Some(OsStr::new(name)))
        .map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_searched_by_whole_file_names() {
        let cache = b"glibc-ld.so.cache1.1\0\x01\0/opt/x/libcuda.so.10\0/opt/x/libcuda.so.1\0";
        assert_eq!(in_cache("libcuda.so.1", cache), Some("/opt/x/libcuda.so.1".into()));
        assert_eq!(in_cache("libcuda.so", cache), None);
        assert_eq!(in_cache("libcuda.so.1", b""), None);
    }

    #[test]
    fn named_folders_come_first_and_what_is_nowhere_is_not_found() {
        let folder = std::env::temp_dir().join(format!("kernelgauge-lib-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let library = folder.join("libkernelgauge-test.so.1");
        std::fs::write(&library, b"").unwrap();
        let found = find_in("libkernelgauge-test.so.1", folder.as_os_str(), b"");
        assert_eq!(found, Some(library));
        assert_eq!(find_in("libkernelgauge-test.so.1", OsStr::new(""), b""), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
