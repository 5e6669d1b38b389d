//! The five libraries, each found, opened and asked for its version on its own.
//!
//! A library is opened by its path, with its symbols visible to all, and stays open until the
//! process ends: NVIDIA's libraries do not like to be closed, and bindings that ask the loader
//! for the same name later get the one that is open, wherever it was found.
//!
//! Left to others: where to look (`places`), the numbers (`version`), what a missing library
//! costs (`calibrate doctor`).

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::os::unix::{Library as Handle, RTLD_GLOBAL, RTLD_NOW};
use thiserror::Error;

use super::places::Places;
use super::version;

/// A library of NVIDIA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Library {
    /// The driver.
    Driver,
    /// The compiler of kernels at run time.
    Nvrtc,
    /// Matrix products.
    CublasLt,
    /// Collectives.
    Nccl,
    /// Clocks, temperature, limits.
    Management,
}

/// Those of this process, by their place in [`Library::ALL`].
static OPENED: [OnceLock<Result<Opened, LoadError>>; 5] = [const { OnceLock::new() }; 5];

/// A library that is open.
#[derive(Debug)]
pub struct Opened {
    handle: Handle,
    path: PathBuf,
}

/// Why a library cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoadError {
    /// It is nowhere.
    #[error("{0} was not found")]
    Missing(&'static str),
    /// It is there and does not load.
    #[error("{path} cannot be loaded ({why})", path = path.display())]
    Unloadable {
        /// The file.
        path: PathBuf,
        /// What the loader said.
        why: String,
    },
}

impl Library {
    /// Every library, in the order in which their absence matters.
    pub const ALL: [Library; 5] =
        [Library::Driver, Library::Nvrtc, Library::CublasLt, Library::Nccl, Library::Management];

    /// The name people know it by.
    pub const fn name(self) -> &'static str {
        match self {
            Library::Driver => "libcuda",
            Library::Nvrtc => "libnvrtc",
            Library::CublasLt => "libcublasLt",
            Library::Nccl => "libnccl",
            Library::Management => "libnvidia-ml",
        }
    }

    /// Its file names, the preferred one first. The unversioned names come with development
    /// packages and, for the driver, with a stub that does nothing: they are not looked for.
    pub const fn file_names(self) -> &'static [&'static str] {
        match self {
            Library::Driver => &["libcuda.so.1"],
            Library::Nvrtc => &["libnvrtc.so.13", "libnvrtc.so.12"],
            Library::CublasLt => &["libcublasLt.so.13", "libcublasLt.so.12"],
            Library::Nccl => &["libnccl.so.2"],
            Library::Management => &["libnvidia-ml.so.1"],
        }
    }

    /// The open library; it is looked for and opened once per process.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn open(self) -> Result<&'static Opened, LoadError> {
        let opened = OPENED[self as usize].get_or_init(|| self.open_now());
        opened.as_ref().map_err(Clone::clone)
    }

    /// The library at `path`, which later calls of [`Library::open`] give too; where the process
    /// has one of this kind already, that one.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn open_at(self, path: &Path) -> Result<&'static Opened, LoadError> {
        let opened = OPENED[self as usize].get_or_init(|| Opened::at(path.to_owned()));
        opened.as_ref().map_err(Clone::clone)
    }

    fn open_now(self) -> Result<Opened, LoadError> {
        let newest = match self {
            Library::Nvrtc | Library::CublasLt => newest_of_driver(),
            _ => None,
        };
        let names = in_order(self.file_names(), newest);
        let mut refused = None;
        // One that does not load, of another architecture for example, does not hide the next;
        // and the loader may know a folder that the search does not.
        let found = Places::of_this_process().find_all(&names).into_iter();
        for path in found.chain(names.iter().map(PathBuf::from)) {
            match Opened::at(path) {
                Ok(opened) => return Ok(opened),
                Err(error) if error.is_of_a_file() => drop(refused.get_or_insert(error)),
                Err(_) => {}
            }
        }
        Err(refused.unwrap_or(LoadError::Missing(self.file_names()[0])))
    }

    /// The version it states at run time; none where it does not.
    pub fn version(self) -> Option<String> {
        let opened = self.open().ok()?;
        match self {
            Library::Driver => version::driver(opened),
            Library::Nvrtc => version::nvrtc(opened),
            Library::CublasLt => version::cublas_lt(opened),
            Library::Nccl => version::nccl(opened),
            Library::Management => version::management(opened),
        }
    }
}

impl LoadError {
    /// Whether a file that was found is what does not load, and not a name that nobody knows.
    fn is_of_a_file(&self) -> bool {
        matches!(self, LoadError::Unloadable { path, .. } if path.is_absolute())
    }
}

/// The major version of the newest CUDA that the driver supports.
fn newest_of_driver() -> Option<u32> {
    let number = version::cuda_of(Library::Driver.open().ok()?)?;
    u32::try_from(number / 1000).ok()
}

/// `names` with those of a newer CUDA than `newest` at the end: a driver runs libraries and code
/// of its own major version and of older ones (CUDA Compatibility, "Minor Version Compatibility").
fn in_order(names: &[&'static str], newest: Option<u32>) -> Vec<&'static str> {
    let is_newer = |name: &str| {
        let major = name.rsplit_once('.').and_then(|(_, major)| major.parse::<u32>().ok());
        newest.zip(major).is_some_and(|(newest, major)| major > newest)
    };
    let (newer, usable): (Vec<&'static str>, Vec<_>) =
        names.iter().partition(|name| is_newer(name));
    [usable, newer].concat()
}

impl Opened {
    fn at(path: PathBuf) -> Result<Self, LoadError> {
        // SAFETY: loading runs the library's initialisers. These are the libraries the user
        // installed under NVIDIA's names, found where the loader would find them; trusting
        // them is what the program is for. Nothing else is assumed of them.
        match unsafe { Handle::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) } {
            Ok(handle) => Ok(Opened { handle, path }),
            Err(error) => Err(LoadError::Unloadable { path, why: reason(&error) }),
        }
    }

    /// Where it was found: a path, or the bare name where only the loader knows.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it has a function of this name.
    pub fn has(&self, name: &str) -> bool {
        // SAFETY: the symbol is looked up as an address and never used.
        unsafe { self.function::<*const ()>(name) }.is_some()
    }

    /// The function of this name.
    ///
    /// # Safety
    /// `F` must be the function's type, or a pointer that is not followed.
    pub unsafe fn function<F: Copy>(&self, name: &str) -> Option<F> {
        // SAFETY: the caller vouches for the type; the library stays open for good.
        unsafe { self.handle.get::<F>(name) }.ok().map(|symbol| *symbol)
    }
}

/// What the loader said, without our own words around it.
fn reason(error: &libloading::Error) -> String {
    use std::error::Error as _;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_library_is_refused_with_what_the_loader_says() {
        let path = std::env::temp_dir().join(format!("kernelgauge-no-{}.so", std::process::id()));
        std::fs::write(&path, b"not a library").unwrap();
        let error = Opened::at(path.clone()).unwrap_err();
        assert!(error.to_string().contains("cannot be loaded ("), "{error}");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn functions_are_told_from_what_is_none() {
        let Ok(library) = Opened::at(PathBuf::from("libc.so.6")) else { return };
        assert!(library.has("malloc") && !library.has("cuEventElapsedTime_v2"));
    }

    #[test]
    fn a_driver_gets_libraries_of_its_own_major_version_first() {
        let names = Library::CublasLt.file_names();
        assert_eq!(in_order(names, None), names);
        assert_eq!(in_order(names, Some(13)), names);
        assert_eq!(in_order(names, Some(12)), ["libcublasLt.so.12", "libcublasLt.so.13"]);
    }

    #[test]
    fn every_library_is_probed_without_a_panic() {
        for library in Library::ALL {
            if library.open().is_err() {
                assert_eq!(library.version(), None);
            }
        }
    }
}
