//! Opens a source that was compiled for the processor and launches its kernels.

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;

use kernelgauge_cuda::nvidia::kernels::{Geometry, entry};
use libloading::Library;

use crate::processor::Compiler;

/// Multiprocessors of the device that is emulated: few, so that loops over grids take turns.
pub const UNITS: u32 = 2;

/// The kernels of one source.
pub struct Kernels {
    library: Library,
}

/// A kernel argument.
#[derive(Clone, Copy)]
pub enum Argument {
    /// A pointer.
    Pointer(*mut c_void),
    /// A 64-bit number.
    U64(u64),
    /// A 32-bit number.
    U32(u32),
    /// A float.
    F32(f32),
}

impl Kernels {
    /// Those of `file`; none, with a message, where no C++ compiler is.
    pub fn of(file: &str) -> Option<Self> {
        let compiler = Compiler::find()?;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
        let path = compiler.library(&folder, file, Path::new(env!("CARGO_TARGET_TMPDIR")));
        // SAFETY: the library is our own, just compiled; it has no initialisers that do anything
        // but set up its own variables.
        let library = unsafe { Library::new(&path) }.unwrap();
        Some(Kernels { library })
    }

    /// Whether the source has this kernel.
    pub fn defines(&self, name: &str) -> bool {
        // SAFETY: the symbol is only looked for.
        unsafe { self.library.get::<*const c_void>(format!("launch_{name}")) }.is_ok()
    }

    /// Launches `name` with the geometry that its rule gives for `extent`.
    pub fn launch(&self, name: &str, extent: &[u64], arguments: &[Argument]) {
        let (_, entry) = entry(name).unwrap();
        let geometry = entry.rule.geometry(extent, UNITS);
        self.try_launch(name, geometry, arguments).unwrap_or_else(|what| panic!("{name}: {what}"));
    }

    /// Launches `name`; what the emulator objects to, as an error.
    pub fn try_launch(
        &self,
        name: &str,
        geometry: Geometry,
        arguments: &[Argument],
    ) -> Result<(), String> {
        type Launcher = unsafe extern "C" fn(*const u32, *const *const c_void) -> *const c_char;
        // SAFETY: `host.h` defines launchers with this signature.
        let launcher = unsafe { self.library.get::<Launcher>(format!("launch_{name}")) }.unwrap();
        let numbers: Vec<u32> = [geometry.grid, geometry.block].concat();
        let pointers: Vec<*const c_void> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::Pointer(value) => (&raw const *value).cast(),
                Argument::U64(value) => (&raw const *value).cast(),
                Argument::U32(value) => (&raw const *value).cast(),
                Argument::F32(value) => (&raw const *value).cast(),
            })
            .collect();
        // SAFETY: the tests pass as many arguments as the kernel has, of its types and sizes;
        // all of them outlive the call.
        let failure = unsafe { launcher(numbers.as_ptr(), pointers.as_ptr()) };
        if failure.is_null() {
            return Ok(());
        }
        // SAFETY: the emulator returns a string that ends with a zero and lives until the next
        // launch of this library.
        Err(unsafe { CStr::from_ptr(failure) }.to_string_lossy().into_owned())
    }
}
