//! Machine code in a context, and launches of its kernels.

use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Arc;

use cudarc::driver::{result, sys};
use kernelgauge_data::Failure;

use super::context::Context;
use super::failure::failed;
use super::kernels::Geometry;
use super::memory::DeviceBuffer;
use super::stream::Stream;

/// Most arguments of any kernel of ours.
const MOST_ARGUMENTS: usize = 16;

/// Machine code, loaded.
#[derive(Debug)]
pub struct Module {
    context: Arc<Context>,
    raw: sys::CUmodule,
}

// SAFETY: the driver lets any thread use a module of a context that it made current.
unsafe impl Send for Module {}
// SAFETY: as above; the driver's functions may be called from several threads at once.
unsafe impl Sync for Module {}

impl Module {
    /// Loads `code`, an ELF file for the GPU of `context`.
    ///
    /// # Errors
    /// What the driver says, of code for another architecture for example.
    pub fn load(context: &Arc<Context>, code: &[u8]) -> Result<Arc<Self>, Failure> {
        context.make_current()?;
        // SAFETY: the driver reads the sizes of an ELF file from its own headers; the code is
        // whole, because NVRTC wrote it or its digest was compared.
        let raw = unsafe { result::module::load_data(code.as_ptr().cast()) };
        let raw = raw.map_err(failed("cuModuleLoadData"))?;
        Ok(Arc::new(Module { context: Arc::clone(context), raw }))
    }

    /// The kernel `name`.
    ///
    /// # Errors
    /// What the driver says where there is none.
    pub fn kernel(self: &Arc<Self>, name: &str) -> Result<Kernel, Failure> {
        self.context.make_current()?;
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: the module is loaded, and the name ends with a zero.
        let raw = unsafe { result::module::get_function(self.raw, name) };
        let raw = raw.map_err(failed("cuModuleGetFunction"))?;
        Ok(Kernel { _module: Arc::clone(self), raw })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.make_current().is_ok() {
            // SAFETY: loaded in `load` and unloaded nowhere else; kernels hold on to it.
            let _ = unsafe { result::module::unload(self.raw) };
        }
    }
}

/// A kernel of a module.
#[derive(Debug, Clone)]
pub struct Kernel {
    _module: Arc<Module>,
    raw: sys::CUfunction,
}

// SAFETY: as for the module, which lives as long.
unsafe impl Send for Kernel {}

/// An argument of a kernel.
#[derive(Debug, Clone, Copy)]
pub enum Argument {
    /// An address on the GPU.
    Pointer(sys::CUdeviceptr),
    /// A 64-bit number.
    U64(u64),
    /// A 32-bit number.
    U32(u32),
    /// A float.
    F32(f32),
}

impl From<&DeviceBuffer> for Argument {
    fn from(buffer: &DeviceBuffer) -> Self {
        Argument::Pointer(buffer.pointer())
    }
}

impl From<u64> for Argument {
    fn from(number: u64) -> Self {
        Argument::U64(number)
    }
}

impl From<u32> for Argument {
    fn from(number: u32) -> Self {
        Argument::U32(number)
    }
}

impl From<f32> for Argument {
    fn from(number: f32) -> Self {
        Argument::F32(number)
    }
}

/// A kernel with its grid and arguments.
#[derive(Debug, Clone)]
pub struct Launch {
    kernel: Kernel,
    geometry: Geometry,
    arguments: Vec<Argument>,
}

impl Launch {
    /// `kernel` on a grid, with `arguments` in the order and of the sizes of its parameters.
    /// Whatever they point to must live until the launch has ended.
    pub fn new(kernel: Kernel, geometry: Geometry, arguments: &[Argument]) -> Self {
        let arguments = arguments.iter().copied().take(MOST_ARGUMENTS).collect();
        Launch { kernel, geometry, arguments }
    }

    /// The same with other arguments.
    pub fn with(&self, arguments: &[Argument]) -> Self {
        Launch::new(self.kernel.clone(), self.geometry, arguments)
    }

    /// Enqueues it.
    ///
    /// # Errors
    /// What the driver says.
    pub fn enqueue(&self, stream: &Stream) -> Result<(), Failure> {
        let mut parameters = [ptr::null_mut::<c_void>(); MOST_ARGUMENTS];
        for (parameter, argument) in parameters.iter_mut().zip(&self.arguments) {
            let place: *const c_void = match argument {
                Argument::Pointer(value) | Argument::U64(value) => ptr::from_ref(value).cast(),
                Argument::U32(value) => ptr::from_ref(value).cast(),
                Argument::F32(value) => ptr::from_ref(value).cast(),
            };
            *parameter = place.cast_mut();
        }
        let Geometry { grid: [x, y, z], block: [along, beside, behind] } = self.geometry;
        let (grid, block) = ((x, y, z), (along, beside, behind));
        let (kernel, stream) = (self.kernel.raw, stream.raw());
        // SAFETY: module and stream are alive and of one context. The driver copies the
        // arguments before it returns; they are those of the kernel (tests launch every kernel
        // with arguments made in the same place), and what they point to outlives the launch.
        unsafe { result::launch_kernel(kernel, grid, block, 0, stream, &mut parameters) }
            .map_err(failed("cuLaunchKernel"))
    }
}
