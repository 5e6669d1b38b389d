//! Finds and opens NCCL, and looks its functions up.

use std::error::Error as _;
use std::ffi::{CStr, c_char, c_int};
use std::fmt;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library as Opened, RTLD_LOCAL, RTLD_NOW};

use super::bindings::{NcclFunctions, ncclComm_t, ncclResult_t, ncclUniqueId};
use super::code::Code;
use super::error::NcclError;
use super::function::Function;
use super::unique_id::UniqueId;
use super::version::Version;
use crate::nvidia::places::Places;

/// The names the library goes by: the one that programs are linked to, then the one of
/// development packages.
pub const SONAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

/// Longest text of NCCL that is passed on, in bytes.
const LONGEST_DETAIL: usize = 300;

/// NCCL, loaded. It stays loaded until the process ends: NCCL has threads that run its code.
#[derive(Clone, Copy)]
pub struct Library {
    inner: &'static Inner,
}

struct Inner {
    functions: NcclFunctions,
    /// Not declared in every nccl.h, and not used where it is missing.
    reset_log: Option<unsafe extern "C" fn()>,
    path: PathBuf,
    version: Version,
}

impl Library {
    /// Opens the first NCCL there is that loads: where NVIDIA's other libraries are looked for
    /// too, then wherever else the loader looks.
    ///
    /// # Errors
    /// [`NcclError::Missing`] where none is found, [`NcclError::Unloadable`] for one that is
    /// found and refused by the loader, and what [`Library::open`] reports.
    pub fn load() -> Result<Self, NcclError> {
        let places = Places::of_this_process();
        let mut refused = None;
        let found = places.find_all(&SONAMES).into_iter();
        for candidate in found.chain(SONAMES.map(PathBuf::from)) {
            match Library::open(&candidate) {
                Err(NcclError::Missing { .. }) => {}
                Err(error @ NcclError::Unloadable { .. }) => {
                    refused.get_or_insert(error);
                }
                answer => return answer,
            }
        }
        Err(refused.unwrap_or_else(|| NcclError::Missing { looked_in: places.folders() }))
    }

    /// Opens the library at `path`, or the one that the loader finds by that name, and reads
    /// its version.
    ///
    /// # Errors
    /// [`NcclError::Missing`] where there is none, [`NcclError::Unloadable`] where the loader
    /// refuses it, and [`NcclError::MissingFunction`] where it is no NCCL.
    pub fn open(path: &Path) -> Result<Self, NcclError> {
        // SAFETY: loading runs the library's initialisers. It was asked for by the name or in a
        // folder of NCCL, whose initialisers have no preconditions.
        let opened = unsafe { Opened::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|error| refusal(path, &error))?;
        // SAFETY: it takes and returns nothing (NCCL's debug.h).
        let reset_log = unsafe { opened.get::<unsafe extern "C" fn()>("ncclResetDebugInit") };
        let reset_log = reset_log.ok().map(|symbol| *symbol);
        // SAFETY: as the types of the functions are those of NCCL's own header
        // (tests/nccl/check_bindings.sh), looking them up by name in NCCL gives these types.
        let functions = unsafe { NcclFunctions::from_library(opened) }
            .map_err(|error| refusal(path, &error))?;
        let version = Version::of_number(0);
        let mut inner = Inner { functions, reset_log, path: path.to_owned(), version };
        inner.version = inner.read_version()?;
        Ok(Library { inner: Box::leak(Box::new(inner)) })
    }

    /// Where it was found: a file, or the name that the loader found it by.
    pub fn path(&self) -> &'static Path {
        &self.inner.path
    }

    /// The version it states.
    pub fn version(&self) -> Version {
        self.inner.version
    }

    /// Whether it has `function`.
    pub fn has(&self, function: Function) -> bool {
        function.is_in(&self.inner.functions)
    }

    /// The functions it lacks of those that are used.
    pub fn missing(&self) -> Vec<Function> {
        Function::ALL.iter().copied().filter(|function| !self.has(*function)).collect()
    }

    /// A new id, by which the ranks of one communicator find each other. The process that makes
    /// it must live until all of them have.
    ///
    /// # Errors
    /// What NCCL answers, for example where there is no network interface.
    pub fn unique_id(&self) -> Result<UniqueId, NcclError> {
        let function = self.function(Function::GetUniqueId, &self.functions().ncclGetUniqueId)?;
        let mut id = ncclUniqueId { internal: [0; _] };
        // SAFETY: `id` is a place for one id.
        let result = unsafe { function(&mut id) };
        self.answered(Function::GetUniqueId, result)?;
        Ok(UniqueId::from_nccl(&id))
    }

    /// Takes away what NCCL was asked to log, and has it read its variables again; a library
    /// without that function goes on as it is.
    pub fn be_silent(&self) {
        for name in ["NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"] {
            // SAFETY: NCCL's threads may read the environment meanwhile. Taking a variable away
            // moves addresses within the array and frees nothing (glibc's unsetenv), so that they
            // find what they look for or do not.
            unsafe { std::env::remove_var(name) };
        }
        if let Some(reset_log) = self.inner.reset_log {
            // SAFETY: it has no preconditions.
            unsafe { reset_log() };
        }
    }

    pub(super) fn functions(&self) -> &'static NcclFunctions {
        &self.inner.functions
    }

    /// The function behind `found`, or why it cannot be called.
    pub(super) fn function<F: Copy>(
        &self,
        function: Function,
        found: &Result<F, libloading::Error>,
    ) -> Result<F, NcclError> {
        self.inner.function(function, found)
    }

    /// Whether a call that answered `result` is done (as opposed to in progress).
    pub(super) fn answered(
        &self,
        function: Function,
        result: ncclResult_t,
    ) -> Result<bool, NcclError> {
        self.inner.answered(function, result)
    }
}

impl Inner {
    fn function<F: Copy>(
        &self,
        function: Function,
        found: &Result<F, libloading::Error>,
    ) -> Result<F, NcclError> {
        let missing = |_| NcclError::MissingFunction { function, version: self.version };
        found.as_ref().copied().map_err(missing)
    }

    fn answered(&self, function: Function, result: ncclResult_t) -> Result<bool, NcclError> {
        match Code::from(result) {
            Code::SUCCESS => Ok(true),
            Code::IN_PROGRESS => Ok(false),
            code => Err(NcclError::Call { function, code, detail: self.detail(code) }),
        }
    }

    fn read_version(&self) -> Result<Version, NcclError> {
        let get = self.function(Function::GetVersion, &self.functions.ncclGetVersion)?;
        let mut number: c_int = 0;
        // SAFETY: `number` is a place for one number.
        let result = unsafe { get(&mut number) };
        self.answered(Function::GetVersion, result)?;
        Ok(Version::of_number(u32::try_from(number).unwrap_or(0)))
    }

    /// What NCCL itself says: about its last failure, else about the code where it is unknown
    /// here.
    fn detail(&self, code: Code) -> Option<String> {
        let last = self.functions.ncclGetLastError.as_ref().ok().and_then(|last| {
            let none: ncclComm_t = std::ptr::null_mut();
            // SAFETY: the function takes no communicator too, and its text is static.
            text(unsafe { last(none) })
        });
        if last.is_some() || code.name().is_some() {
            return last;
        }
        let name = self.functions.ncclGetErrorString.as_ref().ok()?;
        // SAFETY: any number may be asked about, and the text is static.
        text(unsafe { name(ncclResult_t(code.0)) })
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Library({}, {})", self.inner.path.display(), self.inner.version)
    }
}

/// A text of NCCL on one line, cut where it is long; none where it is empty.
fn text(start: *const c_char) -> Option<String> {
    if start.is_null() {
        return None;
    }
    // SAFETY: NCCL's texts end with a zero and live as long as the library.
    let bytes = unsafe { CStr::from_ptr(start) }.to_bytes();
    let cut = &bytes[..bytes.len().min(LONGEST_DETAIL)];
    let words = String::from_utf8_lossy(cut);
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

/// What the loader's refusal of `path` means.
fn refusal(path: &Path, error: &libloading::Error) -> NcclError {
    let reason = error.source().map_or_else(|| error.to_string(), |source| source.to_string());
    // glibc names the file first; another name is that of a library it needs, and that is
    // missing.
    let absent = format!("{}: cannot open shared object file: No such file", path.display());
    if reason.starts_with(&absent) {
        return NcclError::Missing { looked_in: Vec::new() };
    }
    let own = format!("{}: ", path.display());
    let reason = reason.strip_prefix(&own).unwrap_or(&reason).to_owned();
    NcclError::Unloadable { path: path.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_a_damaged_file_and_another_library_are_told_apart() {
        let absent = Library::open(Path::new("libkernelgauge-no-such.so.2")).unwrap_err();
        assert!(matches!(absent, NcclError::Missing { .. }), "{absent}");

        let path = std::env::temp_dir().join(format!("kernelgauge-bad-{}.so", std::process::id()));
        std::fs::write(&path, b"no library").unwrap();
        let damaged = Library::open(&path).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        let NcclError::Unloadable { reason, .. } = &damaged else { panic!("{damaged}") };
        assert!(!reason.contains("kernelgauge-bad"), "{reason}");

        let other = Library::open(Path::new("libc.so.6")).unwrap_err();
        let function = Function::GetVersion;
        assert!(matches!(other, NcclError::MissingFunction { function: f, .. } if f == function));
    }

    #[test]
    fn texts_become_one_short_line() {
        assert_eq!(text(c" two\n lines ".as_ptr()).as_deref(), Some("two lines"));
        assert_eq!(text(c"".as_ptr()), None);
        assert_eq!(text(std::ptr::null()), None);
    }
}
