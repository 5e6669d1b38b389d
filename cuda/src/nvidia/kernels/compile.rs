//! From a source to machine code for one architecture.
//!
//! CUBIN, not PTX: a newer NVRTC writes PTX that an older driver refuses, while machine code for
//! the exact device loads in any driver that knows the device.
//!
//! Left to others: the calls themselves (`nvrtc`), keeping the result (`cache`).

use std::ffi::{CStr, CString};
use std::fmt;
use std::str::FromStr;

use super::cache::{self, Cache};
use super::catalogue::{HEADERS, Header, Source};
use super::error::KernelError;
use super::log::{self, Usage};
use super::nvrtc::{self, Nvrtc};

/// What every source is compiled with, beside the architecture. Arithmetic stays exact to the
/// last bit but for fused multiply-add: results are compared with those of the processor.
const OPTIONS: [&str; 2] = ["--std=c++17", "--ptxas-options=-v"];

/// A compute capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Architecture {
    major: u32,
    minor: u32,
}

impl Architecture {
    /// Compute capability `major`.`minor`.
    pub const fn new(major: u32, minor: u32) -> Self {
        Architecture { major, minor }
    }
}

/// `sm_90`.
impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.major, self.minor)
    }
}

impl FromStr for Architecture {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.strip_prefix("sm_").unwrap_or(text);
        match digits.parse::<u32>() {
            Ok(number) if (50..1000).contains(&number) => {
                Ok(Architecture::new(number / 10, number % 10))
            }
            _ => Err(format!("`{text}` is no architecture: write it as sm_90")),
        }
    }
}

/// Machine code of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The code, an ELF file that the driver loads.
    pub cubin: Vec<u8>,
    /// What NVRTC and the assembler said.
    pub log: String,
}

impl Compiled {
    /// Registers, spills and shared memory of each kernel.
    pub fn usage(&self) -> Vec<Usage> {
        log::parse(&self.log)
    }
}

/// NVRTC, opened.
#[derive(Debug, Clone, Copy)]
pub struct Compiler {
    nvrtc: Nvrtc,
    version: (i32, i32),
}

impl Compiler {
    /// Opens the NVRTC of this machine, wherever NVIDIA's libraries are looked for.
    ///
    /// # Errors
    /// [`KernelError::NoCompiler`], [`KernelError::OldCompiler`], [`KernelError::Call`].
    pub fn open() -> Result<Self, KernelError> {
        let nvrtc = Nvrtc::open()?;
        Ok(Compiler { nvrtc, version: nvrtc.version()? })
    }

    /// Version of NVRTC.
    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    /// Compiles `source` for `architecture`, or takes what an earlier run compiled from the same
    /// text with the same NVRTC.
    ///
    /// # Errors
    /// As [`Compiler::compile`]. A cache that cannot be written is no error: the next run compiles
    /// again.
    pub fn compile_cached(
        &self,
        source: &Source,
        architecture: Architecture,
        cache: Option<&Cache>,
    ) -> Result<Compiled, KernelError> {
        let Some(cache) = cache else { return self.compile(source, architecture) };
        let key = self.key(source, architecture);
        if let Some(compiled) = cache.load(&key) {
            return Ok(compiled);
        }
        let compiled = self.compile(source, architecture)?;
        let _ = cache.store(&key, &compiled);
        Ok(compiled)
    }

    /// Compiles `source` for `architecture`.
    ///
    /// # Errors
    /// [`KernelError::Architecture`] where this NVRTC does not know it, [`KernelError::Source`]
    /// with the compiler's log, [`KernelError::Call`].
    pub fn compile(
        &self,
        source: &Source,
        architecture: Architecture,
    ) -> Result<Compiled, KernelError> {
        let file = source.file;
        let headers = HEADERS.map(|Header { file, text }| (text_of(file), text_of(text)));
        let headers: Vec<(&CStr, &CStr)> =
            headers.iter().map(|(file, text)| (file.as_c_str(), text.as_c_str())).collect();
        let program = self.nvrtc.program(&text_of(file), &text_of(source.text), &headers)?;
        let options = options(architecture).map(|option| text_of(&option));
        match program.compile(&options.each_ref().map(CString::as_c_str)) {
            0 => Ok(Compiled { cubin: program.cubin()?, log: program.log() }),
            nvrtc::INVALID_OPTION => {
                Err(KernelError::Architecture { file, architecture, version: self.version })
            }
            nvrtc::COMPILATION => {
                Err(KernelError::Source { file, architecture, log: program.log() })
            }
            code => Err(KernelError::Call { function: "nvrtcCompileProgram", code }),
        }
    }

    /// What the machine code depends on, as one digest.
    fn key(&self, source: &Source, architecture: Architecture) -> String {
        let (major, minor) = self.version;
        let version = format!("nvrtc {major}.{minor}");
        let options = options(architecture);
        let mut parts = vec![version.as_str(), source.file, source.text];
        parts.extend(HEADERS.iter().flat_map(|header| [header.file, header.text]));
        parts.extend(options.iter().map(String::as_str));
        cache::key(&parts)
    }
}

fn options(architecture: Architecture) -> [String; 3] {
    let [standard, verbose] = OPTIONS.map(str::to_owned);
    [format!("--gpu-architecture={architecture}"), standard, verbose]
}

/// `text` for C. A zero within it would end it there, and sources have none.
fn text_of(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::SOURCES;
    use super::*;

    #[test]
    fn architectures_read_back_as_written() {
        for text in ["sm_70", "sm_90", "sm_100", "sm_121"] {
            assert_eq!(text.parse::<Architecture>().unwrap().to_string(), text);
        }
        assert_eq!("90".parse(), Ok(Architecture::new(9, 0)));
        for text in ["", "sm_", "sm_9", "compute_90", "sm_90a", "sm_99999"] {
            assert!(text.parse::<Architecture>().is_err(), "{text}");
        }
    }

    /// Where there is an NVRTC a source compiles, where there is none that is an error.
    #[test]
    fn opening_never_panics() {
        let architecture = Architecture::new(8, 0);
        match Compiler::open() {
            Ok(compiler) => {
                let compiled = compiler.compile(&SOURCES[0], architecture).unwrap();
                assert_eq!(&compiled.cubin[..4], b"\x7fELF");
                assert_eq!(compiled.usage().len(), SOURCES[0].entries.len());
            }
            Err(error) => assert!(matches!(error, KernelError::NoCompiler), "{error}"),
        }
    }
}
