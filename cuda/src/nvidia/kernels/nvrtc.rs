//! The few functions of NVRTC that are used, looked up one by one.
//!
//! cudarc's wrappers are passed by: they panic where a function is missing, look for the library by
//! other rules than ours, and hold results in an enum that has no place for codes of newer libraries.
//!
//! Left to others: finding and opening it (`library`), which options, which sources (`compile`).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use super::error::KernelError;
use crate::nvidia::library::Library;

/// A program of NVRTC.
type Program = *mut c_void;

/// `NVRTC_ERROR_INVALID_OPTION`.
pub const INVALID_OPTION: c_int = 5;
/// `NVRTC_ERROR_COMPILATION`.
pub const COMPILATION: c_int = 6;

/// The functions, with the signatures of the NVRTC documentation (CUDA 12 and 13).
#[derive(Debug, Clone, Copy)]
pub struct Nvrtc {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int,
    log_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    log: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    cubin_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    cubin: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
}

impl Nvrtc {
    /// Opens the library.
    ///
    /// # Errors
    /// [`KernelError::NoCompiler`] and [`KernelError::OldCompiler`].
    pub fn open() -> Result<Self, KernelError> {
        let library = Library::Nvrtc.open().map_err(|_| KernelError::NoCompiler)?;
        /// A function of this name, stored as what its field holds.
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: a function of this name has the signature of the field it is stored in.
                match unsafe { library.function($name) } {
                    Some(function) => function,
                    None => return Err(KernelError::OldCompiler($name)),
                }
            };
        }
        Ok(Nvrtc {
            version: function!("nvrtcVersion"),
            create: function!("nvrtcCreateProgram"),
            compile: function!("nvrtcCompileProgram"),
            log_size: function!("nvrtcGetProgramLogSize"),
            log: function!("nvrtcGetProgramLog"),
            cubin_size: function!("nvrtcGetCUBINSize"),
            cubin: function!("nvrtcGetCUBIN"),
            destroy: function!("nvrtcDestroyProgram"),
        })
    }

    /// Major and minor version.
    ///
    /// # Errors
    /// [`KernelError::Call`].
    pub fn version(&self) -> Result<(i32, i32), KernelError> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are valid for a write.
        check("nvrtcVersion", unsafe { (self.version)(&mut major, &mut minor) })?;
        Ok((major, minor))
    }

    /// A program of `text`, named `name`, with headers by name.
    ///
    /// # Errors
    /// [`KernelError::Call`].
    pub fn program(
        &self,
        name: &CStr,
        text: &CStr,
        headers: &[(&CStr, &CStr)],
    ) -> Result<OpenProgram<'_>, KernelError> {
        let names: Vec<*const c_char> = headers.iter().map(|(name, _)| name.as_ptr()).collect();
        let texts: Vec<*const c_char> = headers.iter().map(|(_, text)| text.as_ptr()).collect();
        let mut program = null_mut();
        let count = c_int::try_from(headers.len()).unwrap_or(c_int::MAX);
        let (text, name) = (text.as_ptr(), name.as_ptr());
        // SAFETY: all strings end with a zero and outlive the call, which copies them; both
        // arrays have `count` entries.
        let code = unsafe {
            (self.create)(&mut program, text, name, count, texts.as_ptr(), names.as_ptr())
        };
        check("nvrtcCreateProgram", code)?;
        Ok(OpenProgram { nvrtc: self, program })
    }
}

/// A program, destroyed when dropped.
#[derive(Debug)]
pub struct OpenProgram<'nvrtc> {
    nvrtc: &'nvrtc Nvrtc,
    program: Program,
}

impl OpenProgram<'_> {
    /// Compiles with `options` and returns NVRTC's code: 0 where it worked.
    pub fn compile(&self, options: &[&CStr]) -> c_int {
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let array = if options.is_empty() { null() } else { options.as_ptr() };
        let count = c_int::try_from(options.len()).unwrap_or(c_int::MAX);
        // SAFETY: the program is open; the array has `count` strings that outlive the call.
        unsafe { (self.nvrtc.compile)(self.program, count, array) }
    }

    /// What the compiler said, as far as it can be had.
    pub fn log(&self) -> String {
        let bytes = self.read(
            ("nvrtcGetProgramLogSize", self.nvrtc.log_size),
            ("nvrtcGetProgramLog", self.nvrtc.log),
        );
        String::from_utf8_lossy(&bytes.unwrap_or_default()).trim_end_matches('\0').to_owned()
    }

    /// The machine code.
    ///
    /// # Errors
    /// [`KernelError::Call`].
    pub fn cubin(&self) -> Result<Vec<u8>, KernelError> {
        self.read(("nvrtcGetCUBINSize", self.nvrtc.cubin_size), ("nvrtcGetCUBIN", self.nvrtc.cubin))
    }

    /// Asks for a size, then for so many bytes.
    fn read(
        &self,
        (size_name, size): (&'static str, unsafe extern "C" fn(Program, *mut usize) -> c_int),
        (name, get): (&'static str, unsafe extern "C" fn(Program, *mut c_char) -> c_int),
    ) -> Result<Vec<u8>, KernelError> {
        let mut bytes = 0;
        // SAFETY: the program is open and the pointer valid for a write.
        check(size_name, unsafe { size(self.program, &mut bytes) })?;
        let mut content = vec![0_u8; bytes];
        // SAFETY: the program is open and the buffer has the size that NVRTC asked for.
        check(name, unsafe { get(self.program, content.as_mut_ptr().cast()) })?;
        Ok(content)
    }
}

impl Drop for OpenProgram<'_> {
    fn drop(&mut self) {
        // SAFETY: the program is open and not used afterwards. What the call returns changes
        // nothing: there is no second way to close it.
        unsafe { (self.nvrtc.destroy)(&mut self.program) };
    }
}

/// An error for any code but 0.
fn check(function: &'static str, code: c_int) -> Result<(), KernelError> {
    if code == 0 { Ok(()) } else { Err(KernelError::Call { function, code }) }
}
