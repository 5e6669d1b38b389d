//! Where NVIDIA's libraries may lie: the loader's folders, toolkits, and Python wheels.
//!
//! The loader alone would find neither a toolkit outside its cache nor what `pip install
//! nvidia-cublas` brought, in an environment that is active or of the `python3` on the path.
//! Looking costs a few reads of folders and loads nothing.
//!
//! Left to others: what is looked for, and opening it (`library`).

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
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
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
];
/// Variables that name one library's own installation.
const INSTALLATIONS: [&str; 1] = ["NCCL_HOME"];
/// Where libraries that come alone are installed.
const USUAL_INSTALLATIONS: [&str; 2] = ["/usr/local/lib", "/opt/nccl/lib"];
/// Variables that name a toolkit.
const TOOLKITS: [&str; 2] = ["CUDA_HOME", "CUDA_PATH"];
/// Where a toolkit lies that no variable names.
const USUAL_TOOLKIT: &str = "/usr/local/cuda";
/// Variables that name an environment of Python packages.
const ENVIRONMENTS: [&str; 2] = ["VIRTUAL_ENV", "CONDA_PREFIX"];
/// The variable that lists where programs lie, and the one whose packages are looked through.
const PROGRAMS: &str = "PATH";
const PYTHON: &str = "python3";
/// Where Python packages lie outside environments.
const SYSTEM_PREFIXES: [&str; 2] = ["/usr", "/usr/local"];

/// Everything that is searched, in this order.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// Folders of `LD_LIBRARY_PATH`: the loader prefers them, and so does the search.
    named: Vec<PathBuf>,
    /// The loader's cache.
    cache: Vec<u8>,
    /// Its default folders, then toolkits, then Python packages.
    folders: Vec<PathBuf>,
}

impl Places {
    /// The places of this process.
    pub fn of_this_process() -> Self {
        Places::of(|name| env::var_os(name))
    }

    /// The places of an environment that `variable` reads.
    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let variable = |name: &str| variable(name).filter(|text| !text.is_empty());
        let loader = variable("LD_LIBRARY_PATH").unwrap_or_default();
        let mut named: Vec<PathBuf> =
            env::split_paths(&loader).filter(|folder| !folder.as_os_str().is_empty()).collect();
        let installations = INSTALLATIONS.iter().filter_map(|name| variable(name));
        named.extend(installations.map(|prefix| Path::new(&prefix).join("lib")));
        let mut folders: Vec<PathBuf> = FOLDERS.iter().map(PathBuf::from).collect();
        folders.extend(toolkits(&variable));
        folders.extend(python_folders(&variable));
        folders.extend(USUAL_INSTALLATIONS.map(PathBuf::from));
        Places { named, cache: fs::read(CACHE).unwrap_or_default(), folders }
    }

    /// Every folder but the loader's own, in order.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.named.iter().chain(&self.folders).cloned().collect()
    }

    /// Every file of these names, in the order in which they are preferred: an earlier name
    /// anywhere comes before a later one.
    pub fn find_all(&self, names: &[&str]) -> Vec<PathBuf> {
        names.iter().flat_map(|name| self.all_of(name)).collect()
    }

    fn all_of(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        let beside = move |folder: &PathBuf| folder.join(name);
        let named = self.named.iter().map(beside);
        let paths = named.chain(in_cache(name, &self.cache)).chain(self.folders.iter().map(beside));
        paths.filter(|path| path.is_file())
    }
}

/// The library folders of every toolkit.
fn toolkits(variable: &impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let named = TOOLKITS.iter().filter_map(|name| variable(name)).map(PathBuf::from);
    named
        .chain([PathBuf::from(USUAL_TOOLKIT)])
        .flat_map(|toolkit| [toolkit.join("lib64"), toolkit.join("targets/x86_64-linux/lib")])
        .collect()
}

/// The library folders of NVIDIA's packages in every Python that is at hand.
fn python_folders(variable: &impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let mut environments: Vec<PathBuf> =
        ENVIRONMENTS.iter().filter_map(|name| variable(name)).map(PathBuf::from).collect();
    environments.extend(pythons(variable));
    // Conda puts a toolkit's libraries beside those of Python.
    let mut folders: Vec<PathBuf> = environments.iter().map(|prefix| prefix.join("lib")).collect();
    let home = variable("HOME").map(|home| Path::new(&home).join(".local"));
    let prefixes =
        environments.into_iter().chain(home).chain(SYSTEM_PREFIXES.iter().map(PathBuf::from));
    folders.extend(prefixes.flat_map(|prefix| wheels(&prefix)));
    folders
}

/// The prefix of the Python that a shell would start: of its name, which an environment that is
/// not active has too, and of the file behind it.
fn pythons(variable: &impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let programs = variable(PROGRAMS).unwrap_or_default();
    let python = env::split_paths(&programs)
        .map(|folder| folder.join(PYTHON))
        .find(|path| path.is_absolute() && path.is_file());
    let Some(python) = python else { return Vec::new() };
    let behind = fs::canonicalize(&python).ok();
    let mut prefixes: Vec<PathBuf> = [Some(python), behind]
        .into_iter()
        .flatten()
        .filter_map(|path| Some(path.parent()?.parent()?.to_owned()))
        .collect();
    prefixes.dedup();
    prefixes
}

/// `PREFIX/{lib,lib64}/python3*/{site,dist}-packages`, in name order, there or not.
fn package_folders(prefix: &Path) -> Vec<PathBuf> {
    let is_python = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"python3"))
    };
    let pythons = ["lib", "lib64"].map(|folder| entries(&prefix.join(folder)));
    let pythons = pythons.into_iter().flatten().filter(is_python);
    pythons
        .flat_map(|python| ["site-packages", "dist-packages"].map(|kind| python.join(kind)))
        .collect()
}

/// `nvidia/*/lib` in every folder of packages, in name order.
fn wheels(prefix: &Path) -> Vec<PathBuf> {
    package_folders(prefix)
        .into_iter()
        .flat_map(|folder| entries(&folder.join("nvidia")))
        .map(|package| package.join("lib"))
        .filter(|folder| folder.is_dir())
        .collect()
}

/// What is in `folder`, in name order; nothing where it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(read) = fs::read_dir(folder) else { return Vec::new() };
    let mut entries: Vec<PathBuf> = read.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    entries
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
    fn wheels_of_an_environment_and_named_installations_are_searched() {
        let prefix = env::temp_dir().join(format!("kernelgauge-wheels-{}", std::process::id()));
        let wheel = prefix.join("lib/python3.11/site-packages/nvidia/nccl/lib");
        fs::create_dir_all(&wheel).unwrap();
        let folders = Places::of(|name| match name {
            "VIRTUAL_ENV" => Some(prefix.clone().into()),
            "NCCL_HOME" => Some("/somewhere/nccl".into()),
            "CUDA_HOME" => Some("/somewhere/cuda".into()),
            "CUDA_PATH" => Some(OsString::new()),
            _ => None,
        })
        .folders();
        let place = |folder: &Path| folders.iter().position(|known| known == folder).unwrap();
        assert_eq!(place(Path::new("/somewhere/nccl/lib")), 0);
        assert!(place(Path::new("/somewhere/cuda/lib64")) < place(&wheel));
        assert!(place(Path::new("/usr/local/cuda/lib64")) < place(&wheel));
        assert!(!folders.contains(&"lib64".into()));
        fs::remove_dir_all(&prefix).unwrap();
    }

    #[test]
    fn packages_of_the_python_on_the_path_are_searched() {
        let root = env::temp_dir().join(format!("kernelgauge-python-{}", std::process::id()));
        let package = |prefix: &str| {
            let folder = root.join(prefix).join("lib/python3.12/site-packages/nvidia/cu13/lib");
            fs::create_dir_all(&folder).unwrap();
            fs::create_dir_all(root.join(prefix).join("bin")).unwrap();
            folder
        };
        let (environment, base, later) = (package("env"), package("base"), package("later"));
        fs::write(root.join("base/bin/python3"), b"").unwrap();
        fs::write(root.join("later/bin/python3"), b"").unwrap();
        std::os::unix::fs::symlink(root.join("base/bin/python3"), root.join("env/bin/python3"))
            .unwrap();
        let programs = ["nowhere", "env/bin", "later/bin"].map(|folder| root.join(folder));
        let programs = env::join_paths(programs).unwrap();
        let folders = Places::of(|name| (name == "PATH").then(|| programs.clone())).folders();
        assert!(folders.contains(&environment) && folders.contains(&base), "{folders:?}");
        assert!(folders.contains(&root.join("env/lib")) && !folders.contains(&later));
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn named_folders_come_first_then_wheels_and_newer_names_before_older() {
        let root = env::temp_dir().join(format!("kernelgauge-places-{}", std::process::id()));
        let wheel = root.join("lib/python3.11/site-packages/nvidia/nothing/lib");
        let named = root.join("named");
        for folder in [&wheel, &named] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::create_dir_all(root.join("lib/python3.11/site-packages/nvidia/no_libraries")).unwrap();
        assert_eq!(wheels(&root), std::slice::from_ref(&wheel));
        let mut places = Places { folders: wheels(&root), ..Places::default() };
        let names = ["libkernelgauge-test.so.13", "libkernelgauge-test.so.12"];
        assert!(places.find_all(&names).is_empty());
        fs::write(named.join(names[1]), b"").unwrap();
        fs::write(wheel.join(names[1]), b"").unwrap();
        assert_eq!(places.find_all(&names)[0], wheel.join(names[1]));
        places.named = vec![named.clone()];
        assert_eq!(places.find_all(&names)[0], named.join(names[1]));
        fs::write(wheel.join(names[0]), b"").unwrap();
        assert_eq!(places.find_all(&names)[0], wheel.join(names[0]));
        fs::remove_dir_all(&root).unwrap();
    }
}
