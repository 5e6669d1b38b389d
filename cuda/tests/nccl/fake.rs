//! A private copy of the fake library, and its faults.

use std::ffi::c_char;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kernelgauge_cuda::nccl::{Communicator, Library, Limits, init_all};

/// Short enough for a test, long enough for a busy machine to do what does not hang.
pub const LIMITS: Limits = Limits {
    init: Duration::from_millis(300),
    launch: Duration::from_millis(300),
    abort: Duration::from_millis(300),
};

/// The environment is shared by all threads, so tests with faults take turns.
static ALONE: Mutex<()> = Mutex::new(());

/// A copy of the fake library in a folder of its own, so that its books are its own too.
pub struct Fake {
    pub folder: PathBuf,
    pub path: PathBuf,
    variables: Vec<String>,
    _alone: MutexGuard<'static, ()>,
}

impl Fake {
    pub fn new(faults: &[(&str, &str)]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kernelgauge-fake-nccl-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("libnccl.so.2");
        fs::copy(built(), &path).unwrap();
        let mut fake = Fake { folder, path, variables: Vec::new(), _alone: alone };
        for (name, value) in faults {
            fake.set(&format!("KERNELGAUGE_FAKE_NCCL_{name}"), value);
        }
        fake
    }

    /// Sets a variable until the end of the test.
    pub fn set(&mut self, name: &str, value: &str) {
        // SAFETY: only the thread that holds the lock touches the environment, and no other
        // thread of a test reads it meanwhile.
        unsafe { std::env::set_var(name, value) };
        self.variables.push(name.to_owned());
    }

    /// Takes one function away, by overwriting its name in the file.
    pub fn without(self, function: &str) -> Self {
        let mut bytes = fs::read(&self.path).unwrap();
        let name = [b"\0", function.as_bytes(), b"\0"].concat();
        let places: Vec<usize> = (0..bytes.len() - name.len())
            .filter(|start| bytes[*start..].starts_with(&name))
            .collect();
        assert!(!places.is_empty(), "the fake library has no {function}");
        for place in places {
            bytes[place + 1] = b'_';
        }
        fs::write(&self.path, bytes).unwrap();
        self
    }

    pub fn library(&self) -> Library {
        Library::open(&self.path).unwrap()
    }

    /// All ranks of a communicator, formed.
    pub fn ranks(&self, ranks: u32) -> Vec<Communicator> {
        let formed = init_all(self.library(), ranks, LIMITS, |_| Ok(()));
        let formed: Result<_, kernelgauge_cuda::nccl::NcclError> = formed;
        formed.unwrap()
    }

    /// What was called since the last time.
    pub fn log(&self) -> Vec<String> {
        let mut text = vec![0_u8; 1 << 16];
        // SAFETY: the fake exports these, with these types; the place is as large as it says.
        let written = unsafe {
            let library = libloading::Library::new(&self.path).unwrap();
            let log = library
                .get::<unsafe extern "C" fn(*mut c_char, usize) -> usize>("kernelgaugeFakeNcclLog")
                .unwrap();
            log(text.as_mut_ptr().cast(), text.len())
        };
        String::from_utf8_lossy(&text[..written]).lines().map(str::to_owned).collect()
    }

    /// Whether all that was enqueued has ended.
    pub fn ended(&self) -> bool {
        // SAFETY: the fake exports it, with this type.
        unsafe {
            let library = libloading::Library::new(&self.path).unwrap();
            let ended = library.get::<extern "C" fn() -> bool>("kernelgaugeFakeNcclEnded");
            ended.unwrap()()
        }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        for name in &self.variables {
            // SAFETY: as in `set`; the lock is still held.
            unsafe { std::env::remove_var(name) };
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The built stand-in, which cargo puts beside the tests that depend on it.
pub fn built() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name("libkernelgauge_fake_nccl.so")
}

/// An example of this crate. Cargo builds them before it runs all tests of a crate, but not
/// before it runs some of them.
pub fn example(file: &str) -> PathBuf {
    let deps = std::env::current_exe().unwrap();
    let path = deps.parent().and_then(Path::parent).unwrap().join("examples").join(file);
    let shown = path.display();
    assert!(path.is_file(), "{shown} is not there: `cargo build -p kernelgauge-cuda --examples`");
    path
}
